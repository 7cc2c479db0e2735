//! Positions of Anthropic's messages: tools, schema, system, messages.

use stave_block::{PositionKind, PromptRole, Provenance, RequestTraits, WirePrompt};

use super::positions::{Positions, Speaker};
use super::tape::{Kind, ROOT, Tape};

pub(super) fn positions(mut into: Positions<'_, '_>) -> WirePrompt {
    let tape = into.tape;
    if let Some(tools) = tape.get(ROOT, "tools") {
        for tool in tape.items(tools) {
            // A deferred tool is not part of the prefix until it is found, and bears no mark.
            let deferred = tape.get(tool, "defer_loading").is_some_and(|value| tape.raw(value) == "true");
            into.value(Speaker::SYSTEM, PositionKind::Tool, tool, !deferred);
        }
    }
    if let Some(schema) = output_schema(tape) {
        into.value(Speaker::SYSTEM, PositionKind::OutputSchema, schema, false);
    }
    if let Some(system) = tape.get(ROOT, "system") {
        content(&mut into, Speaker::SYSTEM, system);
    }
    // Both change how messages are read, and so what of them is cached.
    into.setting("tool_choice");
    into.setting("thinking");
    let messages = tape.get(ROOT, "messages");
    for (index, message) in messages.into_iter().flat_map(|messages| tape.items(messages)).enumerate() {
        let (role, provenance) = match tape.get_inner(message, "role") {
            Some("assistant") => (PromptRole::Assistant, Provenance::Developer),
            Some("system") => (PromptRole::System, Provenance::System),
            _ => (PromptRole::User, Provenance::User),
        };
        let speaker = Speaker::new(role, provenance, index as u32);
        match tape.get(message, "content") {
            Some(value) => content(&mut into, speaker, value),
            None => into.value(speaker, PositionKind::Other, message, false),
        }
    }
    let choice = tape.get(ROOT, "tool_choice").and_then(|choice| tape.get_inner(choice, "type"));
    let forced = matches!(choice, Some("tool" | "none")) || output_schema(tape).is_some();
    into.finished(RequestTraits { forced, ..RequestTraits::default() })
}

fn output_schema(tape: &Tape<'_>) -> Option<usize> {
    let format = tape
        .get(ROOT, "output_config")
        .and_then(|config| tape.get(config, "format"))
        .or_else(|| tape.get(ROOT, "output_format"));
    format.filter(|format| tape.kind(*format) == Kind::Object)
}

fn content(into: &mut Positions<'_, '_>, speaker: Speaker, value: usize) {
    let tape = into.tape;
    match tape.kind(value) {
        Kind::String => into.text(speaker, value, value),
        Kind::Array => tape.items(value).for_each(|part| self::part(into, speaker, part)),
        Kind::Object | Kind::Scalar if tape.is_null(value) => {}
        Kind::Object | Kind::Scalar => into.value(speaker, PositionKind::Other, value, false),
    }
}

fn part(into: &mut Positions<'_, '_>, speaker: Speaker, part: usize) {
    let tape = into.tape;
    let tool = Speaker { role: PromptRole::Tool, provenance: Provenance::Tool, ..speaker };
    let retrieved = Speaker { provenance: Provenance::Retrieval, ..speaker };
    match tape.get_inner(part, "type") {
        Some("text") => match tape.get(part, "text").filter(|text| tape.kind(*text) == Kind::String) {
            Some(text) => into.text(speaker, part, text),
            None => into.value(speaker, PositionKind::Other, part, false),
        },
        Some("image") => into.value(speaker, PositionKind::Image, part, true),
        Some("document" | "search_result") => into.value(retrieved, PositionKind::Document, part, true),
        // Calls that the provider or a connected server answers have a word in front.
        Some(kind) if kind.ends_with("tool_use") => into.value(speaker, PositionKind::ToolUse, part, true),
        Some(kind) if kind.ends_with("tool_result") => {
            into.value(tool, PositionKind::ToolResult, part, true);
        }
        Some("thinking" | "redacted_thinking") => into.value(speaker, PositionKind::Thinking, part, false),
        _ => into.value(speaker, PositionKind::Other, part, false),
    }
}
