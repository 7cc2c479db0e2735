//! What kind of client a request comes from: its scaffold with everything taken out that changes by itself.

use crate::{PositionKind, WirePrompt, find_variables, template};

/// How much of the first system text tells one scaffold from another.
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
