//! Requests of Anthropic's messages, read.

use stave_canon::Value;

use super::super::fields::{Fields, compact, take_cache_control};

use crate::{
    ErrorKind, FunctionTool, Media, MediaSource, Message, Part, PartKind, Request, ResponseSchema, Role,
    Thinking, Tool, ToolChoice, ToolResult, ToolUse,
};

pub(super) fn decode_request(body: Value) -> Result<Request, ErrorKind> {
    let mut fields = Fields::required(body, "the request")?;
    let mut messages = Vec::new();
    if let Some(text) = fields.string("system") {
        messages.push(Message::system(text));
    } else if let Some(blocks) = fields.array("system") {
        messages.push(Message::new(Role::System, blocks.into_iter().map(decode_part).collect()));
    }
    let turns = fields
        .array("messages")
        .ok_or_else(|| ErrorKind::Decode("the request has no list of messages".to_owned()))?;
    for (index, turn) in turns.into_iter().enumerate() {
        messages.push(decode_message(index, turn)?);
    }
    let tools = fields.array("tools").unwrap_or_default().into_iter().map(decode_tool).collect();
    let (tool_choice, parallel_tool_calls) = decode_tool_choice(&mut fields);
    Ok(Request {
        model: fields.string("model").unwrap_or_default(),
        messages,
        tools,
        tool_choice,
        parallel_tool_calls,
        response_schema: decode_schema(&mut fields),
        temperature: fields.f64("temperature"),
        max_tokens: fields.u64("max_tokens"),
        top_p: fields.f64("top_p"),
        stop: fields.strings("stop_sequences").unwrap_or_default(),
        seed: None,
        stream: fields.bool("stream").unwrap_or_default(),
        metadata: fields.object("metadata").unwrap_or_default(),
        extra: fields.rest(),
    })
}

fn decode_message(index: usize, turn: Value) -> Result<Message, ErrorKind> {
    let mut fields = Fields::required(turn, &format!("messages[{index}]"))?;
    let word = fields.string("role").unwrap_or_default();
    let role = match word.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return Err(ErrorKind::Decode(format!("messages[{index}] has the unknown role `{word}`"))),
    };
    let content = decode_content(&mut fields, "content");
    let results = |part: &Part| matches!(part.kind, PartKind::ToolResult(_));
    let only_results = role == Role::User && !content.is_empty() && content.iter().all(results);
    let role = if only_results { Role::Tool } else { role };
    Ok(Message { role, content, name: None, extra: fields.rest() })
}

fn decode_content(fields: &mut Fields, key: &str) -> Vec<Part> {
    match fields.string(key) {
        Some(text) => vec![Part::text(text)],
        None => fields.array(key).unwrap_or_default().into_iter().map(decode_part).collect(),
    }
}

pub(super) fn decode_part(part: Value) -> Part {
    let whole = part.clone();
    let Ok(mut fields) = Fields::of(part) else { return Part::new(PartKind::Other(whole)) };
    let mut read = || {
        Some(match fields.string("type")?.as_str() {
            "text" => PartKind::Text(fields.string("text")?),
            "image" => PartKind::Image(Media { source: decode_source(&mut fields)?, name: None }),
            "document" => PartKind::Document(Media {
                source: decode_source(&mut fields)?,
                name: fields.string("title"),
            }),
            "tool_use" => PartKind::ToolUse(ToolUse {
                id: fields.string("id")?,
                name: fields.string("name")?,
                arguments: compact(&fields.value("input")?),
            }),
            "tool_result" => PartKind::ToolResult(ToolResult {
                id: fields.string("tool_use_id")?,
                content: decode_content(&mut fields, "content"),
                is_error: fields.bool("is_error").unwrap_or_default(),
            }),
            "thinking" => PartKind::Thinking(Thinking {
                text: fields.string("thinking")?,
                signature: fields.string("signature"),
                redacted: None,
            }),
            "redacted_thinking" => {
                PartKind::Thinking(Thinking { redacted: Some(fields.string("data")?), ..Thinking::default() })
            }
            _ => return None,
        })
    };
    match read() {
        Some(kind) => {
            let cache = take_cache_control(&mut fields);
            Part { kind, cache, extra: fields.rest() }
        }
        None => Part::new(PartKind::Other(whole)),
    }
}

fn decode_source(fields: &mut Fields) -> Option<MediaSource> {
    let mut source = fields.nested("source")?;
    let read = match source.string("type")?.as_str() {
        "base64" => {
            MediaSource::Base64 { media_type: source.string("media_type")?, data: source.string("data")? }
        }
        "url" => MediaSource::Url(source.string("url")?),
        "file" => MediaSource::File(source.string("file_id")?),
        "text" => {
            source.drop_if("media_type", "text/plain");
            MediaSource::Text(source.string("data")?)
        }
        _ => return None,
    };
    fields.give_back("source", source);
    Some(read)
}

fn decode_tool(tool: Value) -> Tool {
    let whole = tool.clone();
    let read = || {
        let mut fields = Fields::of(tool).ok()?;
        // A tool of a type of its own is run by the provider, even when it has a schema.
        if !matches!(fields.peek_str("type"), None | Some("custom")) {
            return None;
        }
        Some(Tool::Function(FunctionTool {
            name: fields.string("name")?,
            description: fields.string("description"),
            parameters: fields.value("input_schema")?,
            strict: fields.bool("strict"),
            cache: take_cache_control(&mut fields),
            extra: fields.rest(),
        }))
    };
    read().unwrap_or(Tool::Provider(whole))
}

fn decode_tool_choice(fields: &mut Fields) -> (Option<ToolChoice>, Option<bool>) {
    let Some(whole) = fields.value("tool_choice") else { return (None, None) };
    let read = || {
        let mut choice = Fields::of(whole.clone()).ok()?;
        let read = match choice.string("type")?.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "any" => ToolChoice::Required,
            "tool" => ToolChoice::Tool(choice.string("name")?),
            _ => return None,
        };
        let parallel = choice.bool("disable_parallel_tool_use").map(|disabled| !disabled);
        choice.rest().is_empty().then_some((read, parallel))
    };
    match read() {
        Some((choice, parallel)) => (Some(choice), parallel),
        None => (Some(ToolChoice::Other(whole)), None),
    }
}

/// The wire carries no name for the schema.
fn decode_schema(fields: &mut Fields) -> Option<ResponseSchema> {
    fields.peek("output_config")?.pointer("/format/schema")?;
    let mut config = fields.nested("output_config")?;
    let mut format = config.nested("format")?;
    let schema = format.value("schema")?;
    format.drop_if("type", "json_schema");
    config.give_back("format", format);
    fields.give_back("output_config", config);
    Some(ResponseSchema { name: String::new(), schema, strict: true })
}
