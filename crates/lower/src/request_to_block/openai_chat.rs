//! Positions of OpenAI's chat completions: tools, schema, messages.

use stave_block::{PositionKind, PromptRole, Provenance, RequestTraits, WirePrompt};

use super::positions::{Positions, Speaker};
use super::tape::{Kind, ROOT, Tape};

pub(super) fn positions(mut into: Positions<'_, '_>) -> WirePrompt {
    let tape = into.tape;
    for key in ["tools", "functions"] {
        let tools = tape.get(ROOT, key);
        for tool in tools.into_iter().flat_map(|tools| tape.items(tools)) {
            into.value(Speaker::SYSTEM, PositionKind::Tool, tool, false);
        }
    }
    let schema = tape.get(ROOT, "response_format").filter(|schema| !tape.is_null(*schema));
    if let Some(schema) = schema {
        into.value(Speaker::SYSTEM, PositionKind::OutputSchema, schema, false);
    }
    let messages = tape.get(ROOT, "messages");
    for (index, message) in messages.into_iter().flat_map(|messages| tape.items(messages)).enumerate() {
        self::message(&mut into, index as u32, message);
    }
    let forced = schema.is_some() || is_forced(tape);
    into.finished(RequestTraits { forced, ..RequestTraits::default() })
}

/// Whether the answer must be a call of one given tool, or none.
pub(super) fn is_forced(tape: &Tape<'_>) -> bool {
    tape.get(ROOT, "tool_choice")
        .is_some_and(|choice| tape.kind(choice) == Kind::Object || tape.inner(choice) == Some("none"))
}

fn message(into: &mut Positions<'_, '_>, index: u32, message: usize) {
    let tape = into.tape;
    let (role, provenance) = match tape.get_inner(message, "role") {
        Some("system") => (PromptRole::System, Provenance::System),
        Some("developer") => (PromptRole::System, Provenance::Developer),
        Some("assistant") => (PromptRole::Assistant, Provenance::Developer),
        Some("tool" | "function") => (PromptRole::Tool, Provenance::Tool),
        _ => (PromptRole::User, Provenance::User),
    };
    let speaker = Speaker::new(role, provenance, index);
    if role == PromptRole::Tool {
        return into.value(speaker, PositionKind::ToolResult, message, false);
    }
    let content = tape.get(message, "content");
    match content.map(|content| (content, tape.kind(content))) {
        Some((content, Kind::String)) => into.text(speaker, content, content),
        Some((content, Kind::Array)) => tape.items(content).for_each(|item| part(into, speaker, item)),
        Some((content, _)) if !tape.is_null(content) => {
            into.value(speaker, PositionKind::Other, content, false);
        }
        _ => {}
    }
    let refusal = tape.get(message, "refusal").filter(|refusal| tape.kind(*refusal) == Kind::String);
    if let Some(refusal) = refusal {
        into.text(speaker, refusal, refusal);
    }
    if let Some(calls) = tape.get(message, "tool_calls") {
        tape.items(calls).for_each(|call| into.value(speaker, PositionKind::ToolUse, call, false));
    }
    if let Some(call) = tape.get(message, "function_call").filter(|call| !tape.is_null(*call)) {
        into.value(speaker, PositionKind::ToolUse, call, false);
    }
}

fn part(into: &mut Positions<'_, '_>, speaker: Speaker, part: usize) {
    let tape = into.tape;
    let text = |key| tape.get(part, key).filter(|text| tape.kind(*text) == Kind::String);
    match tape.get_inner(part, "type") {
        Some("text") if text("text").is_some() => into.text(speaker, part, text("text").unwrap_or(part)),
        Some("refusal") if text("refusal").is_some() => {
            into.text(speaker, part, text("refusal").unwrap_or(part));
        }
        Some("image_url" | "image") => into.value(speaker, PositionKind::Image, part, false),
        Some("file") => {
            let retrieved = Speaker { provenance: Provenance::Retrieval, ..speaker };
            into.value(retrieved, PositionKind::Document, part, false);
        }
        Some("input_audio") => into.value(speaker, PositionKind::Audio, part, false),
        _ => into.value(speaker, PositionKind::Other, part, false),
    }
}
