//! Requests of the responses interface, read.

use stave_canon::Value;

use super::super::fields::Fields;
use super::super::openai::{file_media, parse_media_url};

use crate::{
    ErrorKind, FunctionTool, Media, MediaSource, Message, Part, PartKind, Request, ResponseSchema, Role,
    Thinking, Tool, ToolChoice, ToolResult, ToolUse,
};

pub(super) fn decode_request(body: Value) -> Result<Request, ErrorKind> {
    let mut fields = Fields::required(body, "the request")?;
    let mut messages: Vec<Message> = fields.string("instructions").map(Message::system).into_iter().collect();
    if let Some(text) = fields.string("input") {
        messages.push(Message::user(text));
    } else {
        let items =
            fields.array("input").ok_or_else(|| ErrorKind::Decode("the request has no input".to_owned()))?;
        for (index, item) in items.into_iter().enumerate() {
            decode_item(index, item, &mut messages)?;
        }
    }
    let tools = fields.array("tools").unwrap_or_default().into_iter().map(decode_tool).collect();
    let tool_choice = fields.value("tool_choice").map(decode_tool_choice);
    Ok(Request {
        model: fields.string("model").unwrap_or_default(),
        messages,
        tools,
        tool_choice,
        parallel_tool_calls: fields.bool("parallel_tool_calls"),
        response_schema: decode_format(&mut fields),
        temperature: fields.f64("temperature"),
        max_tokens: fields.u64("max_output_tokens"),
        top_p: fields.f64("top_p"),
        stop: Vec::new(),
        seed: None,
        stream: fields.bool("stream").unwrap_or_default(),
        metadata: fields.object("metadata").unwrap_or_default(),
        extra: fields.rest(),
    })
}

fn decode_item(index: usize, item: Value, messages: &mut Vec<Message>) -> Result<(), ErrorKind> {
    if matches!(item.get("type").and_then(Value::as_str), None | Some("message")) {
        let mut fields = Fields::required(item, &format!("input[{index}]"))?;
        fields.drop_if("type", "message");
        let word = fields.string("role").unwrap_or_default();
        let role = Role::parse(&word)
            .ok_or_else(|| ErrorKind::Decode(format!("input[{index}] has the unknown role `{word}`")))?;
        let content = match fields.string("content") {
            Some(text) => vec![Part::text(text)],
            None => fields.array("content").unwrap_or_default().into_iter().map(decode_part).collect(),
        };
        let extra = fields.rest();
        // Reasoning belongs to the message that follows it.
        if role == Role::Assistant
            && let Some(last) = messages.last_mut()
            && last.role == Role::Assistant
            && last.extra.is_empty()
            && !last.content.is_empty()
            && last.content.iter().all(|part| matches!(part.kind, PartKind::Thinking(_)))
        {
            last.content.extend(content);
            last.extra = extra;
            return Ok(());
        }
        messages.push(Message { role, content, name: None, extra });
        return Ok(());
    }
    let (role, part) = decode_other_item(item);
    match messages.last_mut() {
        Some(last) if last.role == Role::Assistant && role == Role::Assistant => last.content.push(part),
        _ => messages.push(Message::new(role, vec![part])),
    }
    Ok(())
}

/// An item that is not a message: whose it is, and what.
pub(super) fn decode_other_item(item: Value) -> (Role, Part) {
    let whole = item.clone();
    let read = || {
        let mut fields = Fields::of(item).ok()?;
        let (role, kind) = match fields.string("type")?.as_str() {
            "function_call" => (
                Role::Assistant,
                PartKind::ToolUse(ToolUse {
                    id: fields.string("call_id")?,
                    name: fields.string("name")?,
                    arguments: fields.string("arguments").unwrap_or_default(),
                }),
            ),
            "function_call_output" => {
                let id = fields.string("call_id")?;
                let content = match fields.string("output") {
                    Some(text) if text.is_empty() => Vec::new(),
                    Some(text) => vec![Part::text(text)],
                    None => fields.array("output").unwrap_or_default().into_iter().map(decode_part).collect(),
                };
                (Role::Tool, PartKind::ToolResult(ToolResult { id, content, is_error: false }))
            }
            "reasoning" => (Role::Assistant, PartKind::Thinking(decode_reasoning(&mut fields))),
            _ => return None,
        };
        Some((role, Part { kind, cache: None, extra: fields.rest() }))
    };
    read().unwrap_or((Role::Assistant, Part::new(PartKind::Other(whole))))
}

fn decode_reasoning(fields: &mut Fields) -> Thinking {
    let pieces: Vec<String> = fields
        .peek("summary")
        .and_then(Value::as_array)
        .unwrap_or_default()
        .iter()
        .filter_map(|piece| piece.get("text").and_then(Value::as_str))
        .map(str::to_owned)
        .collect();
    let simple = fields.peek("summary").and_then(Value::as_array).is_some_and(|summary| {
        summary.len() == pieces.len()
            && match summary {
                [] => true,
                [only] => {
                    only.as_object().is_some_and(|piece| piece.len() == 2) && !pieces.concat().is_empty()
                }
                _ => false,
            }
    });
    if simple {
        fields.value("summary");
    }
    Thinking { text: pieces.join("\n\n"), signature: None, redacted: fields.string("encrypted_content") }
}

pub(super) fn decode_part(part: Value) -> Part {
    let whole = part.clone();
    let Ok(mut fields) = Fields::of(part) else { return Part::new(PartKind::Other(whole)) };
    let mut read = || {
        Some(match fields.string("type")?.as_str() {
            "input_text" => PartKind::Text(fields.string("text")?),
            "output_text" => {
                if fields.peek("annotations").and_then(Value::as_array).is_some_and(<[Value]>::is_empty) {
                    fields.value("annotations");
                }
                PartKind::Text(fields.string("text")?)
            }
            "input_image" => {
                let source = match fields.string("image_url") {
                    Some(url) => parse_media_url(url),
                    None => MediaSource::File(fields.string("file_id")?),
                };
                PartKind::Image(Media { source, name: None })
            }
            "input_file" => {
                let url = fields.string("file_url");
                PartKind::Document(match url {
                    Some(url) => Media { source: MediaSource::Url(url), name: None },
                    None => file_media(&mut fields)?,
                })
            }
            _ => return None,
        })
    };
    match read() {
        Some(kind) => Part { kind, cache: None, extra: fields.rest() },
        None => Part::new(PartKind::Other(whole)),
    }
}

fn decode_tool(tool: Value) -> Tool {
    let whole = tool.clone();
    let read = || {
        let mut fields = Fields::of(tool).ok()?;
        if fields.string("type")? != "function" {
            return None;
        }
        Some(Tool::Function(FunctionTool {
            name: fields.string("name")?,
            description: fields.string("description"),
            parameters: fields.value("parameters")?,
            strict: fields.bool("strict"),
            cache: None,
            extra: fields.rest(),
        }))
    };
    read().unwrap_or(Tool::Provider(whole))
}

fn decode_tool_choice(choice: Value) -> ToolChoice {
    match choice.as_str() {
        Some("auto") => return ToolChoice::Auto,
        Some("none") => return ToolChoice::None,
        Some("required") => return ToolChoice::Required,
        _ => {}
    }
    match (choice.get("type").and_then(Value::as_str), choice.get("name").and_then(Value::as_str)) {
        (Some("function"), Some(name)) => ToolChoice::Tool(name.to_owned()),
        _ => ToolChoice::Other(choice),
    }
}

/// Takes a `text.format` that holds a schema; other formats stay where they are.
fn decode_format(fields: &mut Fields) -> Option<ResponseSchema> {
    fields.peek("text")?.pointer("/format/schema")?;
    let mut text = fields.nested("text")?;
    let mut format = text.nested("format")?;
    let schema = ResponseSchema {
        name: format.string("name").unwrap_or_default(),
        schema: format.value("schema")?,
        strict: format.bool("strict").unwrap_or_default(),
    };
    format.drop_if("type", "json_schema");
    text.give_back("format", format);
    fields.give_back("text", text);
    Some(schema)
}
