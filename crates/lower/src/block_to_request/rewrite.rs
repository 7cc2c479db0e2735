//! Rewrites that the model sees, each only when a policy asks for it: text that changes by itself moves from
//! the instructions to the end, and tools take one order.

use stave_block::{PositionKind, PromptRole, Surface, VariableKind, WirePrompt, find_variables};
use stave_canon::Value;

use super::splice::{Splice, Spliced};
use stave_block::Escaped;

/// Which rewrites are on. None is by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RewritePolicy {
    /// Moves clocks and ids out of the instructions, to the end of the last message.
    pub move_volatile: bool,
    /// Sorts tools by name, those of connected servers after the built-in ones.
    pub order_tools: bool,
}

/// Applies the rewrites of a policy to a body. The positions must be read anew from what comes out.
#[must_use]
pub fn rewrite_body(body: &str, wire: &WirePrompt, policy: RewritePolicy) -> Spliced {
    let mut splices = Vec::new();
    if policy.order_tools {
        order_tools(body, wire, &mut splices);
    }
    if policy.move_volatile {
        move_volatile(body, wire, &mut splices);
    }
    Spliced::new(body, splices)
}

fn order_tools(body: &str, wire: &WirePrompt, splices: &mut Vec<Splice>) {
    let slots: Vec<_> = wire
        .positions
        .iter()
        .filter(|position| position.kind == PositionKind::Tool)
        .map(|position| position.range.clone())
        .collect();
    let mut texts: Vec<&str> = slots.iter().map(|range| &body[range.clone()]).collect();
    texts.sort_by_cached_key(|text| {
        let value = stave_canon::parse(text).unwrap_or_default();
        let function = value.get("function").unwrap_or(&value);
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        (name.starts_with("mcp") || name.contains("__"), name)
    });
    for (slot, text) in slots.into_iter().zip(texts) {
        if &body[slot.clone()] != text {
            splices.push(Splice { range: slot, text: text.to_owned() });
        }
    }
}

fn move_volatile(body: &str, wire: &WirePrompt, splices: &mut Vec<Splice>) {
    let Some(last) = wire.positions.last().filter(|position| position.message.is_some()) else { return };
    if last.role == PromptRole::Assistant {
        return;
    }
    let mut moved: Vec<String> = Vec::new();
    let instructions = wire
        .positions
        .iter()
        .take_while(|position| position.message.is_none() || position.role == PromptRole::System);
    for position in instructions.filter(|position| position.kind == PositionKind::Text) {
        let Some((start, inner)) = string_of(body, position) else { continue };
        let escaped = Escaped::read(inner, start);
        for variable in find_variables(&escaped.text) {
            if variable.kind == VariableKind::Day {
                continue;
            }
            moved.push(escaped.text[variable.range.clone()].to_owned());
            let text = format!("[value {} below]", moved.len());
            splices.push(Splice { range: escaped.in_body(&variable.range), text });
        }
    }
    if moved.is_empty() {
        return;
    }
    let values: Vec<String> =
        moved.iter().enumerate().map(|(index, value)| format!("value {}: {value}", index + 1)).collect();
    let note = Value::from(format!("[Values the instructions refer to: {}]", values.join("; "))).to_string();
    let (at, text) = match (last.bare, last.kind, wire.surface) {
        (true, ..) => (last.range.end - 1, format!("\\n\\n{}", &note[1..note.len() - 1])),
        (_, PositionKind::ToolResult, Surface::OpenAiChat) => {
            (last.range.end, format!(",{{\"role\":\"user\",\"content\":{note}}}"))
        }
        (_, PositionKind::ToolResult, Surface::OpenAiResponses) => {
            (last.range.end, format!(",{{\"type\":\"message\",\"role\":\"user\",\"content\":{note}}}"))
        }
        (_, _, Surface::OpenAiResponses) => {
            (last.range.end, format!(",{{\"type\":\"input_text\",\"text\":{note}}}"))
        }
        (_, _, Surface::GeminiGenerateContent) => (last.range.end, format!(",{{\"text\":{note}}}")),
        _ => (last.range.end, format!(",{{\"type\":\"text\",\"text\":{note}}}")),
    };
    splices.push(Splice { range: at..at, text });
}

/// The escaped text of a text position and its place in the body.
pub(super) fn string_of<'b>(body: &'b str, position: &stave_block::Position) -> Option<(usize, &'b str)> {
    let raw = &body[position.range.clone()];
    let range = if position.bare {
        0..raw.len()
    } else {
        ["/text", "/refusal"].iter().find_map(|pointer| {
            stave_canon::locate_key(raw, pointer)?;
            stave_canon::locate(raw, pointer)
        })?
    };
    let string = raw[range.clone()].strip_prefix('"')?.strip_suffix('"')?;
    Some((position.range.start + range.start + 1, string))
}
