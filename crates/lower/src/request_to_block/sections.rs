//! The blocks of a prompt from the positions of the wire.
//!
//! The blocks' order is the specification's: what the system says, then tools and schema, then the
//! conversation. Neighbouring text parts of one message are one block, joined by a line feed, empty ones left
//! out; everything that is not plain text is a block of its own.

use stave_block::{
    BlockContentType, BlockIr, BlockSection, Position, PositionKind, PromptRole, Tokenizer, ToolSchema, Wire,
    WirePrompt, build,
};
use stave_canon::{Clock, Ids, Value, parse, rfc8785};

use super::tape::{ROOT, Tape};
use super::{BlockPlace, RequestFault};

pub(super) fn build_prompt(
    body: &str,
    tape: &Tape<'_>,
    wire: &WirePrompt,
    tokenizer: Option<Tokenizer<'_>>,
    ids: &dyn Ids,
    clock: &dyn Clock,
) -> Result<(BlockIr, Vec<BlockPlace>), RequestFault> {
    let mut sections: Vec<BlockSection> = Vec::new();
    let mut places: Vec<BlockPlace> = Vec::new();
    let mut tools = Vec::new();
    let mut schema = None;
    let mut last: Option<usize> = None;
    for index in block_order(wire) {
        let position = &wire.positions[index];
        let value = without_marks(parse(&body[position.range.clone()])?);
        if position.kind == PositionKind::Tool {
            tools.push(ToolSchema { name: tool_name(&value).to_owned(), schema: value.clone() });
        }
        if position.kind == PositionKind::OutputSchema {
            schema = Some(value.clone());
        }
        let joins = last.is_some_and(|last| continues(&wire.positions[last], position));
        last = Some(index);
        let text = if position.kind == PositionKind::Text { text_of(&value) } else { None };
        if let (true, Some(text), Some(section), Some(place)) =
            (joins, text, sections.last_mut(), places.last_mut())
        {
            // Empty parts say nothing, so they leave no empty lines.
            if section.content.is_empty() {
                text.clone_into(&mut section.content);
            } else if !text.is_empty() {
                section.content.push('\n');
                section.content.push_str(text);
            }
            place.range.end = position.range.end;
            place.positions.push(index);
            continue;
        }
        let (content_type, content) = content(position, &value);
        let mut section =
            BlockSection::text(position.role, position.provenance, content).content_type(content_type);
        if position.kind == PositionKind::Tool {
            section = section.named(tool_name(&value));
        }
        sections.push(section);
        places.push(BlockPlace {
            range: position.range.clone(),
            plain: position.kind == PositionKind::Text,
            positions: vec![index],
        });
    }
    let source = parse(body)?;
    let has_tools = tape.get(ROOT, "tools").is_some() || tape.get(ROOT, "functions").is_some();
    let around = Wire {
        tools: has_tools.then_some(tools.as_slice()),
        structured_output_schema: schema.as_ref(),
        source_request: Some(&source),
        tokenizer,
    };
    Ok((build(sections, &around, ids, clock)?, places))
}

/// The positions in the order of the blocks: leading system text, tools, schema, the rest.
fn block_order(wire: &WirePrompt) -> Vec<usize> {
    let positions = &wire.positions;
    let is_schema =
        |index: usize| matches!(positions[index].kind, PositionKind::Tool | PositionKind::OutputSchema);
    let first_turn = (0..positions.len())
        .find(|index| !is_schema(*index) && positions[*index].role != PromptRole::System)
        .unwrap_or(positions.len());
    let (schemas, leading): (Vec<usize>, Vec<usize>) = (0..first_turn).partition(|index| is_schema(*index));
    leading.into_iter().chain(schemas).chain(first_turn..positions.len()).collect()
}

/// Whether two texts are parts of the same block.
fn continues(before: &Position, position: &Position) -> bool {
    before.kind == PositionKind::Text
        && position.kind == PositionKind::Text
        && before.message == position.message
        && before.role == position.role
}

fn content(position: &Position, value: &Value) -> (BlockContentType, String) {
    let json = || rfc8785(value);
    match position.kind {
        PositionKind::Text => (BlockContentType::Text, text_of(value).map_or_else(json, str::to_owned)),
        PositionKind::Tool => (BlockContentType::ToolSchema, json()),
        PositionKind::OutputSchema => (BlockContentType::StructuredOutput, json()),
        PositionKind::Image => (BlockContentType::Image, json()),
        PositionKind::ToolResult => (BlockContentType::ToolResult, result_text(value).unwrap_or_else(json)),
        PositionKind::Thinking => {
            let thought = ["thinking", "text"].iter().find_map(|key| value.get(key)?.as_str());
            (BlockContentType::Text, thought.map_or_else(json, str::to_owned))
        }
        PositionKind::ToolUse | PositionKind::Document | PositionKind::Other => {
            (BlockContentType::Text, json())
        }
    }
}

fn text_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| ["text", "refusal"].iter().find_map(|key| value.get(key)?.as_str()))
}

/// What a tool gave back, when it is text.
fn result_text(value: &Value) -> Option<String> {
    let content = value.get("content").or_else(|| value.get("output"))?;
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let parts: Option<Vec<&str>> = content.as_array()?.iter().map(text_of).collect();
    parts.map(|parts| parts.join("\n"))
}

/// The name of a tool in any of the interfaces, or its type.
fn tool_name(value: &Value) -> &str {
    let function = value.get("function").unwrap_or(value);
    ["name", "type"].iter().find_map(|key| function.get(key)?.as_str()).unwrap_or("tool")
}

/// A value without the cache marks of itself and of the parts in its content: they are no content.
fn without_marks(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.shift_remove("cache_control");
        if let Some(Value::Array(parts)) = object.get_mut("content") {
            for part in parts {
                if let Some(part) = part.as_object_mut() {
                    part.shift_remove("cache_control");
                }
            }
        }
    }
    value
}
