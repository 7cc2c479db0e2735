//! Requests of chat completions, read.

use stave_canon::Value;

use super::super::fields::Fields;
use super::super::openai::{decode_nested_tool, file_media, parse_media_url};

use crate::{
    ErrorKind, Media, Message, Part, PartKind, Request, ResponseSchema, Role, ToolChoice, ToolResult, ToolUse,
};

pub(super) fn decode_request(body: Value) -> Result<Request, ErrorKind> {
    let mut fields = Fields::required(body, "the request")?;
    let messages = fields
        .array("messages")
        .ok_or_else(|| ErrorKind::Decode("the request has no list of messages".to_owned()))?;
    let messages = messages
        .into_iter()
        .enumerate()
        .map(|(index, message)| decode_message(index, message))
        .collect::<Result<_, _>>()?;
    let tools = fields.array("tools").unwrap_or_default().into_iter().map(decode_nested_tool).collect();
    let tool_choice = fields.value("tool_choice").map(decode_tool_choice);
    let stream = fields.bool("stream").unwrap_or_default();
    if stream && let Some(mut options) = fields.nested("stream_options") {
        if options.peek("include_usage").and_then(Value::as_bool) == Some(true) {
            options.value("include_usage");
        }
        fields.give_back("stream_options", options);
    }
    Ok(Request {
        model: fields.string("model").unwrap_or_default(),
        messages,
        tools,
        tool_choice,
        parallel_tool_calls: fields.bool("parallel_tool_calls"),
        response_schema: decode_response_format(&mut fields),
        temperature: fields.f64("temperature"),
        max_tokens: fields.u64("max_completion_tokens").or_else(|| fields.u64("max_tokens")),
        top_p: fields.f64("top_p"),
        stop: fields
            .string("stop")
            .map(|stop| vec![stop])
            .or_else(|| fields.strings("stop"))
            .unwrap_or_default(),
        seed: fields.i64("seed"),
        stream,
        metadata: fields.object("metadata").unwrap_or_default(),
        extra: fields.rest(),
    })
}

fn decode_message(index: usize, message: Value) -> Result<Message, ErrorKind> {
    let mut fields = Fields::required(message, &format!("messages[{index}]"))?;
    let word = fields.string("role").unwrap_or_default();
    let role = Role::parse(&word)
        .ok_or_else(|| ErrorKind::Decode(format!("messages[{index}] has the unknown role `{word}`")))?;
    let mut content = decode_content(&mut fields);
    if role == Role::Tool {
        let result =
            ToolResult { id: fields.string("tool_call_id").unwrap_or_default(), content, is_error: false };
        content = vec![Part::new(PartKind::ToolResult(result))];
    }
    content.extend(fields.array("tool_calls").unwrap_or_default().into_iter().map(decode_tool_call));
    Ok(Message { role, content, name: fields.string("name"), extra: fields.rest() })
}

/// Takes `content`, which is a text, a list of parts or null.
pub(super) fn decode_content(fields: &mut Fields) -> Vec<Part> {
    if let Some(text) = fields.string("content") {
        return vec![Part::text(text)];
    }
    if fields.peek("content").is_some_and(Value::is_null) {
        fields.value("content");
    }
    fields.array("content").unwrap_or_default().into_iter().map(decode_part).collect()
}

fn decode_part(part: Value) -> Part {
    let whole = part.clone();
    let Ok(mut fields) = Fields::of(part) else { return Part::new(PartKind::Other(whole)) };
    let kind = match fields.string("type").unwrap_or_default().as_str() {
        "text" => fields.string("text").map(PartKind::Text),
        "image_url" => fields.nested("image_url").and_then(|mut image| {
            let url = image.string("url")?;
            fields.give_back("image_url", image);
            Some(PartKind::Image(Media { source: parse_media_url(url), name: None }))
        }),
        "file" => fields.nested("file").and_then(|mut file| {
            let media = file_media(&mut file)?;
            fields.give_back("file", file);
            Some(PartKind::Document(media))
        }),
        _ => None,
    };
    match kind {
        Some(kind) => Part { kind, cache: None, extra: fields.rest() },
        None => Part::new(PartKind::Other(whole)),
    }
}

pub(super) fn decode_tool_call(call: Value) -> Part {
    let whole = call.clone();
    let read = || {
        let mut fields = Fields::of(call).ok()?;
        let mut function = fields.nested("function")?;
        let name = function.string("name")?;
        let arguments = match function.value("arguments") {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => String::new(),
            // Some servers send the arguments as an object.
            Some(value) => value.to_string(),
        };
        fields.drop_if("type", "function");
        fields.give_back("function", function);
        let id = fields.string("id").unwrap_or_default();
        Some(Part {
            kind: PartKind::ToolUse(ToolUse { id, name, arguments }),
            cache: None,
            extra: fields.rest(),
        })
    };
    read().unwrap_or_else(|| Part::new(PartKind::Other(whole)))
}

fn decode_tool_choice(choice: Value) -> ToolChoice {
    match choice.as_str() {
        Some("auto") => return ToolChoice::Auto,
        Some("none") => return ToolChoice::None,
        Some("required") => return ToolChoice::Required,
        _ => {}
    }
    let name = choice.pointer("/function/name").and_then(Value::as_str);
    match name {
        Some(name) => ToolChoice::Tool(name.to_owned()),
        None => ToolChoice::Other(choice),
    }
}

/// Takes a `response_format` that holds a schema; other formats stay where they are.
fn decode_response_format(fields: &mut Fields) -> Option<ResponseSchema> {
    let format = fields.peek("response_format")?;
    format.pointer("/json_schema/schema")?;
    let mut format = fields.nested("response_format")?;
    let mut inner = format.nested("json_schema")?;
    let schema = ResponseSchema {
        name: inner.string("name").unwrap_or_default(),
        schema: inner.value("schema")?,
        strict: inner.bool("strict").unwrap_or_default(),
    };
    format.drop_if("type", "json_schema");
    format.give_back("json_schema", inner);
    fields.give_back("response_format", format);
    Some(schema)
}
