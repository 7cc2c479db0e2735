//! What kind of client a request comes from: its scaffold with everything taken out that changes by itself.

use crate::{PositionKind, WirePrompt, find_variables, template};

use super::PlanRequest;

/// How much of the first system text distinguishes one scaffold from another.
const SAMPLE: usize = 512;

/// The profile of a request: model, whether it has tools, and the templated beginning of its system text.
/// Never zero.
pub(super) fn profile(wire: &WirePrompt, body: &str) -> u64 {
    let scaffold = wire
        .positions
        .iter()
        .find(|position| position.message.is_none() && position.kind == PositionKind::Text)
        .or_else(|| wire.positions.first());
    let text = scaffold.map_or("", |position| &body[position.range.clone()]);
    let sample = &text[..text.floor_char_boundary(SAMPLE)];
    let key = format!("{}\n{}\n{}", wire.model, wire.shape.tools, template(sample));
    hash_text(&key).max(1)
}

/// The conversation that a request continues, when its session has a name. A session can have several: side
/// tasks, agents, and each model's part of a conversation in which several answer, as each has its own cache.
pub(super) fn conversation(request: &PlanRequest<'_>, profile: u64) -> Option<u64> {
    let session = request.session?;
    let first = request.wire.positions.iter().find(|position| position.message.is_some());
    let text = first.map_or("", |position| text_of(&request.body[position.range.clone()]));
    let text = &text[..text.floor_char_boundary(SAMPLE)];
    Some(hash_text(&format!("{profile:016x}\n{session}\n{text}")))
}

/// The text of a bare string or of a block of text, still escaped; what is neither is given whole. A client's
/// mark moves from message to message and is no part of it.
fn text_of(value: &str) -> &str {
    let string = value.strip_prefix('"').or_else(|| {
        let (_, text) = value.split_once("\"text\"")?;
        let text = text.trim_start().strip_prefix(':')?;
        text.split_once('"').map(|(_, text)| text)
    });
    let Some(string) = string else { return value };
    let mut escaped = false;
    let end = string.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    &string[..end.unwrap_or(string.len())]
}

/// The first position of the system text, from `from` on, that holds a clock or an id.
pub(super) fn first_volatile(wire: &WirePrompt, body: &str, from: usize) -> Option<usize> {
    (from..wire.positions.len()).find(|index| {
        let position = &wire.positions[*index];
        position.message.is_none()
            && position.kind == PositionKind::Text
            && find_variables(&body[position.range.clone()]).iter().any(|variable| variable.kind.is_fast())
    })
}

/// FNV-1a: small, and the same in every version of the program, as stored state needs it.
pub(super) fn hash_text(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
