//! OpenAI's chat completions, the interface that most servers speak.
//!
//! A tool result is a message of its own here, so a neutral message with several results becomes several.

mod reply;

use stave_canon::{Object, Value};

use self::reply::ChatStream;
use super::fields::{Fields, merge, object, put};
use super::openai::{
    file_fields, file_media, is_reasoning_family, media_url, note_what_is_left_out, parse_media_url,
    wire_schema,
};
use super::{Codec, Encoded, Framing, Note, StreamDecoder};
use crate::{
    ErrorKind, FunctionTool, Media, Message, Part, PartKind, Request, Response, ResponseSchema, Role, Source,
    Tool, ToolChoice, ToolResult, ToolUse,
};

/// The codec of `/chat/completions`.
#[derive(Debug, Clone, Copy)]
pub struct OpenAiChat;

impl Codec for OpenAiChat {
    fn encode_request(&self, request: &Request) -> Encoded {
        let mut notes = Vec::new();
        note_what_is_left_out(request, &mut notes);
        let mut body = object([("model", request.model.as_str().into())]);
        let messages =
            request.messages.iter().flat_map(|message| encode_message(message, &mut notes)).collect();
        body.insert("messages".to_owned(), Value::Array(messages));
        if !request.tools.is_empty() {
            body.insert("tools".to_owned(), request.tools.iter().map(encode_tool).collect::<Vec<_>>().into());
        }
        put(&mut body, "tool_choice", request.tool_choice.as_ref().map(encode_tool_choice));
        put(&mut body, "parallel_tool_calls", request.parallel_tool_calls);
        if let Some(schema) = &request.response_schema {
            let (name, schema, strict) = wire_schema(schema, &mut notes);
            let schema = object([("name", name.into()), ("schema", schema), ("strict", strict.into())]);
            let format = object([("type", "json_schema".into()), ("json_schema", schema.into())]);
            body.insert("response_format".to_owned(), format.into());
        }
        put(&mut body, "temperature", request.temperature.filter(|number| number.is_finite()));
        let limit = if is_reasoning_family(&request.model) { "max_completion_tokens" } else { "max_tokens" };
        put(&mut body, limit, request.max_tokens);
        put(&mut body, "top_p", request.top_p.filter(|number| number.is_finite()));
        put(&mut body, "stop", (!request.stop.is_empty()).then(|| request.stop.clone()));
        put(&mut body, "seed", request.seed);
        if request.stream {
            body.insert("stream".to_owned(), true.into());
            body.insert("stream_options".to_owned(), object([("include_usage", true.into())]).into());
        }
        put(&mut body, "metadata", (!request.metadata.is_empty()).then(|| request.metadata.clone()));
        merge(&mut body, &request.extra);
        Encoded { body: Value::Object(body), notes }
    }

    fn decode_request(&self, body: Value) -> Result<Request, ErrorKind> {
        let mut fields = Fields::required(body, "the request")?;
        let messages = fields
            .array("messages")
            .ok_or_else(|| ErrorKind::Decode("the request has no list of messages".to_owned()))?;
        let messages = messages
            .into_iter()
            .enumerate()
            .map(|(index, message)| decode_message(index, message))
            .collect::<Result<_, _>>()?;
        let tools = fields.array("tools").unwrap_or_default().into_iter().map(decode_tool).collect();
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

    fn decode_response(&self, body: Value) -> Result<Response, ErrorKind> {
        reply::decode_response(body)
    }

    fn framing(&self) -> Framing {
        Framing::ServerSentEvents
    }

    fn stream_decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(ChatStream::default())
    }
}

fn encode_message(message: &Message, notes: &mut Vec<Note>) -> Vec<Value> {
    let mut messages = Vec::new();
    let mut content = Vec::new();
    let mut tool_calls = Vec::new();
    for part in &message.content {
        match &part.kind {
            PartKind::ToolResult(result) => {
                messages.push(encode_tool_result(message, result, &part.extra, notes));
            }
            PartKind::ToolUse(call) => tool_calls.push(encode_tool_call(call, &part.extra)),
            PartKind::Other(value) if is_tool_call(value) => tool_calls.push(value.clone()),
            PartKind::Thinking(_) => {
                notes.push(Note::new("thinking", "left out: chat completions have no place for it"));
            }
            _ => content.extend(encode_part(part, notes)),
        }
    }
    if message.role == Role::Tool && content.is_empty() && tool_calls.is_empty() {
        return messages;
    }
    let mut out = object([("role", message.role.as_str().into())]);
    let content = match (message.content.as_slice(), content.is_empty()) {
        ([part], false) if part.is_plain_text() => part.as_text().into(),
        (_, true) if message.role == Role::Assistant => Value::Null,
        // A single text among calls or results is still a plain text for the wire.
        _ => plain(content),
    };
    out.insert("content".to_owned(), content);
    put(&mut out, "name", message.name.as_deref());
    put(&mut out, "tool_calls", (!tool_calls.is_empty()).then_some(tool_calls));
    merge(&mut out, &message.extra);
    messages.push(Value::Object(out));
    messages
}

/// One text part without anything else is written as a string.
fn plain(content: Vec<Value>) -> Value {
    if let [Value::Object(part)] = content.as_slice()
        && part.len() == 2
        && let (Some("text"), Some(text)) = (part.get("type").and_then(Value::as_str), part.get("text"))
    {
        return text.clone();
    }
    Value::Array(content)
}

fn encode_tool_result(
    message: &Message,
    result: &ToolResult,
    extra: &Object,
    notes: &mut Vec<Note>,
) -> Value {
    let content: Vec<Value> = result.content.iter().filter_map(|part| encode_part(part, notes)).collect();
    let content = if content.is_empty() { "".into() } else { plain(content) };
    let mut out =
        object([("role", "tool".into()), ("tool_call_id", result.id.as_str().into()), ("content", content)]);
    merge(&mut out, extra);
    if message.role == Role::Tool {
        put(&mut out, "name", message.name.as_deref());
        merge(&mut out, &message.extra);
    }
    Value::Object(out)
}

fn encode_part(part: &Part, notes: &mut Vec<Note>) -> Option<Value> {
    let mut out = match &part.kind {
        PartKind::Text(text) => object([("type", "text".into()), ("text", text.as_str().into())]),
        PartKind::Image(media) => {
            let Some(url) = media_url(&media.source) else {
                notes
                    .push(Note::new("image", "left out: chat completions take images by URL or inline only"));
                return None;
            };
            object([("type", "image_url".into()), ("image_url", object([("url", url.into())]).into())])
        }
        PartKind::Document(Media { source: Source::Text(text), .. }) => {
            notes.push(Note::new("document", "a document of plain text is sent as text"));
            object([("type", "text".into()), ("text", text.as_str().into())])
        }
        PartKind::Document(media) => {
            let Some(fields) = file_fields(media) else {
                notes.push(Note::new("document", "left out: chat completions take no documents by URL"));
                return None;
            };
            object([("type", "file".into()), ("file", fields.into_iter().collect())])
        }
        PartKind::Other(value) => return Some(value.clone()),
        PartKind::ToolUse(_) | PartKind::ToolResult(_) | PartKind::Thinking(_) => return None,
    };
    merge(&mut out, &part.extra);
    Some(Value::Object(out))
}

fn encode_tool_call(call: &ToolUse, extra: &Object) -> Value {
    let function =
        object([("name", call.name.as_str().into()), ("arguments", call.arguments.as_str().into())]);
    let mut out =
        object([("id", call.id.as_str().into()), ("type", "function".into()), ("function", function.into())]);
    merge(&mut out, extra);
    Value::Object(out)
}

fn encode_tool(tool: &Tool) -> Value {
    let function = match tool {
        Tool::Provider(value) => return value.clone(),
        Tool::Function(function) => function,
    };
    let mut inner = object([("name", function.name.as_str().into())]);
    put(&mut inner, "description", function.description.as_deref());
    inner.insert("parameters".to_owned(), function.parameters.clone());
    put(&mut inner, "strict", function.strict);
    let mut out = object([("type", "function".into()), ("function", inner.into())]);
    merge(&mut out, &function.extra);
    Value::Object(out)
}

fn encode_tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => {
            let function = object([("name", name.as_str().into())]);
            object([("type", "function".into()), ("function", function.into())]).into()
        }
        ToolChoice::Other(value) => value.clone(),
    }
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

/// Whether a part that was kept whole stood among the tool calls.
fn is_tool_call(value: &Value) -> bool {
    matches!(value.get("type").and_then(Value::as_str), Some("function" | "custom"))
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

fn decode_tool(tool: Value) -> Tool {
    let whole = tool.clone();
    let read = || {
        let mut fields = Fields::of(tool).ok()?;
        let mut function = fields.nested("function")?;
        fields.drop_if("type", "function");
        let mut read = FunctionTool {
            name: function.string("name")?,
            description: function.string("description"),
            parameters: function.value("parameters")?,
            strict: function.bool("strict"),
            cache: None,
            extra: Object::new(),
        };
        fields.give_back("function", function);
        read.extra = fields.rest();
        Some(Tool::Function(read))
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
