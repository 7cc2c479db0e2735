//! The blocks of a prompt from the positions of the wire.
//!
//! The blocks' order is the specification's: what the system says, then tools and schema, then the
//! conversation. Neighbouring text parts of one message are one block, joined by a line feed, empty ones left
//! out; everything that is not plain text is a block of its own.

use stave_block::{
    BlockContentType, BlockIr, BlockSection, Position, PositionKind, PromptRole, SpanDigest, Tokenizer,
    ToolSchema, Wire, WirePrompt, build,
};
use stave_canon::{Clock, Ids, Value, parse, rfc8785};

use super::spans::{BlockSpan, SpanDigests, SpanMemory};
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
    for positions in groups(wire) {
        let Group { section, value } = read_group(body, wire, &positions)?;
        let kind = positions.first().map(|first| wire.positions[*first].kind);
        match kind {
            Some(PositionKind::Tool) => {
                tools.push(ToolSchema { name: tool_name(&value).to_owned(), schema: value });
            }
            Some(PositionKind::OutputSchema) => schema = Some(value),
            _ => {}
        }
        let ends = positions.iter().map(|index| wire.positions[*index].range.end).max().unwrap_or_default();
        let start = positions.first().map_or(0, |first| wire.positions[*first].range.start);
        sections.push(section);
        places.push(BlockPlace { range: start..ends, plain: kind == Some(PositionKind::Text), positions });
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

/// The blocks of a body without their contents, in order. A block whose digests are known is not read.
pub(super) fn read_spans(
    body: &str,
    wire: &WirePrompt,
    known: &mut dyn SpanMemory,
) -> Result<Vec<BlockSpan>, RequestFault> {
    let mut spans = Vec::new();
    for positions in groups(wire) {
        let Some((first, last)) = positions.first().zip(positions.last()) else { continue };
        let (first, last) = (&wire.positions[*first], &wire.positions[*last]);
        let digests = match known.get(last.prefix) {
            Some(digests) => digests,
            None => {
                let Group { section, value } = read_group(body, wire, &positions)?;
                let is_schema = matches!(first.kind, PositionKind::Tool | PositionKind::OutputSchema);
                let schema = is_schema.then(|| stave_canon::sha256(rfc8785(&value)));
                let digests = SpanDigests { span: SpanDigest::of(&section), schema };
                known.keep(last.prefix, digests);
                digests
            }
        };
        let length: u64 = positions.iter().map(|index| wire.positions[*index].shown_bytes()).sum();
        spans.push(BlockSpan {
            digests,
            role: first.role,
            content_type: content_type(first.kind),
            provenance: first.provenance,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            positions,
        });
    }
    Ok(spans)
}

/// The content of one block, and the value of its first position.
struct Group {
    section: BlockSection,
    value: Value,
}

fn read_group(body: &str, wire: &WirePrompt, positions: &[usize]) -> Result<Group, RequestFault> {
    let mut group: Option<Group> = None;
    for index in positions {
        let position = &wire.positions[*index];
        let value = without_marks(parse(&body[position.range.clone()])?);
        let content = content(position, &value);
        let Some(Group { section, .. }) = &mut group else {
            let section = BlockSection::text(position.role, position.provenance, content)
                .content_type(content_type(position.kind));
            let section = match position.kind {
                PositionKind::Tool => section.named(tool_name(&value)),
                _ => section,
            };
            group = Some(Group { section, value });
            continue;
        };
        // Empty parts say nothing, so they leave no empty lines.
        if section.content.is_empty() {
            section.content = content;
        } else if !content.is_empty() {
            section.content.push('\n');
            section.content.push_str(&content);
        }
    }
    group.ok_or(RequestFault::NoObject)
}

/// The positions of each block, in the order of the blocks.
fn groups(wire: &WirePrompt) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in block_order(wire) {
        let position = &wire.positions[index];
        let last = groups.last_mut().and_then(|group| Some((*group.last()?, group)));
        match last {
            Some((last, group)) if continues(&wire.positions[last], position) => group.push(index),
            _ => groups.push(vec![index]),
        }
    }
    groups
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

fn content_type(kind: PositionKind) -> BlockContentType {
    match kind {
        PositionKind::Tool => BlockContentType::ToolSchema,
        PositionKind::OutputSchema => BlockContentType::StructuredOutput,
        PositionKind::Image => BlockContentType::Image,
        PositionKind::ToolResult => BlockContentType::ToolResult,
        PositionKind::Document => BlockContentType::Document,
        PositionKind::Audio => BlockContentType::Audio,
        PositionKind::Thinking => BlockContentType::Thinking,
        PositionKind::Text | PositionKind::ToolUse | PositionKind::Other => BlockContentType::Text,
    }
}

fn content(position: &Position, value: &Value) -> String {
    let json = || rfc8785(value);
    match position.kind {
        PositionKind::Text => text_of(value).map_or_else(json, str::to_owned),
        PositionKind::ToolResult => result_text(value).unwrap_or_else(json),
        PositionKind::Thinking => {
            let thought = ["thinking", "text"].iter().find_map(|key| value.get(key)?.as_str());
            thought.map_or_else(json, str::to_owned)
        }
        PositionKind::Tool
        | PositionKind::OutputSchema
        | PositionKind::Image
        | PositionKind::ToolUse
        | PositionKind::Document
        | PositionKind::Audio
        | PositionKind::Other => json(),
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
