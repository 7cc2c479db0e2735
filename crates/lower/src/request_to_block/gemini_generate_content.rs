//! Positions of Gemini's generateContent: tools, schema, system instruction, contents.

use stave_block::{PositionKind, PromptRole, Provenance, RequestTraits, WirePrompt};

use super::positions::{Positions, Speaker};
use super::tape::{Kind, ROOT, Tape};

pub(super) fn positions(mut into: Positions<'_, '_>) -> WirePrompt {
    let tape = into.tape;
    for tool in tape.get(ROOT, "tools").into_iter().flat_map(|tools| tape.items(tools)) {
        match either(tape, tool, "functionDeclarations", "function_declarations") {
            Some(declarations) => {
                tape.items(declarations).for_each(|declaration| {
                    into.value(Speaker::SYSTEM, PositionKind::Tool, declaration, false);
                });
            }
            None => into.value(Speaker::SYSTEM, PositionKind::Tool, tool, false),
        }
    }
    let schema = either(tape, ROOT, "generationConfig", "generation_config").and_then(|config| {
        either(tape, config, "responseSchema", "response_schema")
            .or_else(|| tape.get(config, "responseJsonSchema"))
    });
    if let Some(schema) = schema {
        into.value(Speaker::SYSTEM, PositionKind::OutputSchema, schema, false);
    }
    if let Some(system) = either(tape, ROOT, "systemInstruction", "system_instruction") {
        content(&mut into, Speaker::SYSTEM, system);
    }
    let contents = tape.get(ROOT, "contents");
    match contents.map(|contents| (contents, tape.kind(contents))) {
        Some((contents, Kind::Array)) => {
            for (index, item) in tape.items(contents).enumerate() {
                content(&mut into, speaker(tape, item, index as u32), item);
            }
        }
        Some((contents, _)) => content(&mut into, speaker(tape, contents, 0), contents),
        None => {}
    }
    into.finished(RequestTraits { forced: schema.is_some(), ..RequestTraits::default() })
}

fn speaker(tape: &Tape<'_>, item: usize, index: u32) -> Speaker {
    match tape.get_inner(item, "role") {
        Some("model") => Speaker::new(PromptRole::Assistant, Provenance::Developer, index),
        Some("function" | "tool") => Speaker::new(PromptRole::Tool, Provenance::Tool, index),
        _ => Speaker::new(PromptRole::User, Provenance::User, index),
    }
}

/// The interface takes both spellings of a key.
fn either(tape: &Tape<'_>, object: usize, camel: &str, snake: &str) -> Option<usize> {
    tape.get(object, camel).or_else(|| tape.get(object, snake)).filter(|value| !tape.is_null(*value))
}

fn content(into: &mut Positions<'_, '_>, speaker: Speaker, item: usize) {
    let tape = into.tape;
    if tape.kind(item) == Kind::String {
        return into.text(speaker, item, item);
    }
    match tape.get(item, "parts") {
        Some(parts) if tape.kind(parts) == Kind::Array => {
            tape.items(parts).for_each(|item| part(into, speaker, item));
        }
        Some(parts) => part(into, speaker, parts),
        None => into.value(speaker, PositionKind::Other, item, false),
    }
}

fn part(into: &mut Positions<'_, '_>, speaker: Speaker, part: usize) {
    let tape = into.tape;
    let has = |camel, snake| either(tape, part, camel, snake);
    let text = tape.get(part, "text").filter(|text| tape.kind(*text) == Kind::String);
    let is_thought = tape.get(part, "thought").is_some_and(|thought| tape.raw(thought) == "true");
    if is_thought {
        into.value(speaker, PositionKind::Thinking, part, false);
    } else if let Some(text) = text {
        into.text(speaker, part, text);
    } else if has("functionCall", "function_call").is_some() {
        into.value(speaker, PositionKind::ToolUse, part, false);
    } else if has("functionResponse", "function_response").is_some() {
        let tool = Speaker { role: PromptRole::Tool, provenance: Provenance::Tool, ..speaker };
        into.value(tool, PositionKind::ToolResult, part, false);
    } else if let Some(media) = has("inlineData", "inline_data").or_else(|| has("fileData", "file_data")) {
        let media_type = either(tape, media, "mimeType", "mime_type").and_then(|text| tape.inner(text));
        let is = |kind: &str| media_type.is_some_and(|media_type| media_type.starts_with(kind));
        if is("image") {
            into.value(speaker, PositionKind::Image, part, false);
        } else if is("audio") {
            into.value(speaker, PositionKind::Audio, part, false);
        } else {
            let retrieved = Speaker { provenance: Provenance::Retrieval, ..speaker };
            into.value(retrieved, PositionKind::Document, part, false);
        }
    } else {
        into.value(speaker, PositionKind::Other, part, false);
    }
}
