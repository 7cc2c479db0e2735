//! Positions of OpenAI's responses: tools, schema, instructions, input.

use stave_block::{PositionKind, PromptRole, Provenance, RequestTraits, WirePrompt};

use super::openai_chat::is_forced;
use super::positions::{Positions, Speaker};
use super::tape::{Kind, ROOT};

pub(super) fn positions(mut into: Positions<'_, '_>) -> WirePrompt {
    let tape = into.tape;
    if let Some(tools) = tape.get(ROOT, "tools") {
        tape.items(tools).for_each(|tool| into.value(Speaker::SYSTEM, PositionKind::Tool, tool, false));
    }
    let format = tape.get(ROOT, "text").and_then(|text| tape.get(text, "format"));
    let schema = format.filter(|format| tape.get(*format, "schema").is_some());
    if let Some(schema) = schema {
        into.value(Speaker::SYSTEM, PositionKind::OutputSchema, schema, false);
    }
    if let Some(instructions) = tape.get(ROOT, "instructions").filter(|value| !tape.is_null(*value)) {
        into.text(Speaker::SYSTEM, instructions, instructions);
    }
    // What came before is known to the provider only.
    into.setting("previous_response_id");
    if let Some(input) = tape.get(ROOT, "input") {
        match tape.kind(input) {
            Kind::String => {
                let speaker = Speaker::new(PromptRole::User, Provenance::User, 0);
                into.text(speaker, input, input);
            }
            _ => {
                for (index, item) in tape.items(input).enumerate() {
                    self::item(&mut into, index as u32, item);
                }
            }
        }
    }
    let forced = schema.is_some() || is_forced(tape);
    into.finished(RequestTraits { forced, ..RequestTraits::default() })
}

fn item(into: &mut Positions<'_, '_>, index: u32, item: usize) {
    let tape = into.tape;
    let (role, provenance) = match tape.get_inner(item, "role") {
        Some("system") => (PromptRole::System, Provenance::System),
        Some("developer") => (PromptRole::System, Provenance::Developer),
        Some("assistant") => (PromptRole::Assistant, Provenance::Developer),
        _ => (PromptRole::User, Provenance::User),
    };
    let speaker = Speaker::new(role, provenance, index);
    let assistant = Speaker::new(PromptRole::Assistant, Provenance::Developer, index);
    match tape.get_inner(item, "type") {
        None | Some("message") => match tape.get(item, "content") {
            Some(content) if tape.kind(content) == Kind::String => into.text(speaker, content, content),
            Some(content) => tape.items(content).for_each(|item| part(into, speaker, item)),
            None => into.value(speaker, PositionKind::Other, item, false),
        },
        Some("reasoning") => into.value(assistant, PositionKind::Thinking, item, false),
        Some(kind) if kind.ends_with("_output") => {
            let tool = Speaker::new(PromptRole::Tool, Provenance::Tool, index);
            into.value(tool, PositionKind::ToolResult, item, false);
        }
        Some(kind) if kind.ends_with("_call") => {
            into.value(assistant, PositionKind::ToolUse, item, false);
        }
        Some(_) => into.value(assistant, PositionKind::Other, item, false),
    }
}

fn part(into: &mut Positions<'_, '_>, speaker: Speaker, part: usize) {
    let tape = into.tape;
    let key = if tape.get_inner(part, "type") == Some("refusal") { "refusal" } else { "text" };
    let text = tape.get(part, key).filter(|text| tape.kind(*text) == Kind::String);
    match (tape.get_inner(part, "type"), text) {
        (Some("input_text" | "output_text" | "refusal" | "text"), Some(text)) => {
            into.text(speaker, part, text);
        }
        (Some("input_audio"), _) => into.value(speaker, PositionKind::Audio, part, false),
        (Some("input_image"), _) => into.value(speaker, PositionKind::Image, part, false),
        (Some("input_file"), _) => {
            let retrieved = Speaker { provenance: Provenance::Retrieval, ..speaker };
            into.value(retrieved, PositionKind::Document, part, false);
        }
        _ => into.value(speaker, PositionKind::Other, part, false),
    }
}
