//! OpenAI's responses interface.
//!
//! A conversation is a list of items here: a message, a call, a result or a piece of reasoning each stand on
//! their own. Items of the assistant that follow each other are one neutral message, until its next text.

mod reply;

use stave_canon::{Object, Value};

use self::reply::ResponsesStream;
use super::fields::{Fields, merge, object, put};
use super::openai::{
    file_fields, file_media, media_url, note_what_is_left_out, parse_media_url, wire_schema,
};
use super::{Codec, Encoded, Framing, Note, StreamDecoder};
use crate::{
    ErrorKind, FunctionTool, Media, Message, Part, PartKind, Request, Response, ResponseSchema, Role, Source,
    Thinking, Tool, ToolChoice, ToolResult, ToolUse,
};

/// The codec of `/responses`.
#[derive(Debug, Clone, Copy)]
pub struct OpenAiResponses;

impl Codec for OpenAiResponses {
    fn encode_request(&self, request: &Request) -> Encoded {
        let mut notes = Vec::new();
        note_what_is_left_out(request, &mut notes);
        let mut body = object([("model", request.model.as_str().into())]);
        let (instructions, messages) = split_instructions(&request.messages);
        put(&mut body, "instructions", instructions);
        let mut items = Vec::new();
        for message in messages {
            encode_message(message, &mut items, &mut notes);
        }
        body.insert("input".to_owned(), Value::Array(items));
        if !request.tools.is_empty() {
            body.insert("tools".to_owned(), request.tools.iter().map(encode_tool).collect::<Vec<_>>().into());
        }
        put(&mut body, "tool_choice", request.tool_choice.as_ref().map(encode_tool_choice));
        put(&mut body, "parallel_tool_calls", request.parallel_tool_calls);
        if let Some(schema) = &request.response_schema {
            let (name, schema, strict) = wire_schema(schema, &mut notes);
            let format = object([
                ("type", "json_schema".into()),
                ("name", name.into()),
                ("schema", schema),
                ("strict", strict.into()),
            ]);
            body.insert("text".to_owned(), object([("format", format.into())]).into());
        }
        put(&mut body, "temperature", request.temperature.filter(|number| number.is_finite()));
        put(&mut body, "max_output_tokens", request.max_tokens);
        put(&mut body, "top_p", request.top_p.filter(|number| number.is_finite()));
        if !request.stop.is_empty() {
            notes.push(Note::new("stop", "left out: this interface takes no stop sequences"));
        }
        if request.seed.is_some() {
            notes.push(Note::new("seed", "left out: this interface takes none"));
        }
        put(&mut body, "stream", request.stream.then_some(true));
        put(&mut body, "metadata", (!request.metadata.is_empty()).then(|| request.metadata.clone()));
        merge(&mut body, &request.extra);
        Encoded { body: Value::Object(body), notes }
    }

    fn decode_request(&self, body: Value) -> Result<Request, ErrorKind> {
        let mut fields = Fields::required(body, "the request")?;
        let mut messages: Vec<Message> =
            fields.string("instructions").map(Message::system).into_iter().collect();
        if let Some(text) = fields.string("input") {
            messages.push(Message::user(text));
        } else {
            let items = fields
                .array("input")
                .ok_or_else(|| ErrorKind::Decode("the request has no input".to_owned()))?;
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

    fn decode_response(&self, body: Value) -> Result<Response, ErrorKind> {
        reply::decode_response(body)
    }

    fn framing(&self) -> Framing {
        Framing::ServerSentEvents
    }

    fn stream_decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(ResponsesStream::default())
    }
}

/// A first system message of plain text has a field of its own.
fn split_instructions(messages: &[Message]) -> (Option<&str>, &[Message]) {
    if let [first, rest @ ..] = messages
        && first.role == Role::System
        && first.extra.is_empty()
        && let [part] = first.content.as_slice()
        && part.is_plain_text()
    {
        return (part.as_text(), rest);
    }
    (None, messages)
}

fn encode_message(message: &Message, items: &mut Vec<Value>, notes: &mut Vec<Note>) {
    if message.name.is_some() {
        notes.push(Note::new("name", "left out: this interface does not tell speakers apart"));
    }
    let mut content: Vec<Value> = Vec::new();
    // The fields of the message's own item belong to its first piece of text.
    let mut extra = Some(&message.extra);
    for part in &message.content {
        let item = match &part.kind {
            PartKind::ToolUse(call) => object([
                ("type", "function_call".into()),
                ("call_id", call.id.as_str().into()),
                ("name", call.name.as_str().into()),
                ("arguments", call.arguments.as_str().into()),
            ]),
            PartKind::ToolResult(result) => {
                let output: Vec<Value> =
                    result.content.iter().filter_map(|part| encode_part(part, Role::User, notes)).collect();
                let output = match result.content.as_slice() {
                    [] => "".into(),
                    [part] if part.is_plain_text() => part.as_text().into(),
                    _ => Value::Array(output),
                };
                object([
                    ("type", "function_call_output".into()),
                    ("call_id", result.id.as_str().into()),
                    ("output", output),
                ])
            }
            PartKind::Thinking(thinking) => encode_reasoning(thinking, &part.extra),
            PartKind::Other(value) if is_item(value) => {
                flush(message, &mut content, &mut extra, items);
                items.push(value.clone());
                continue;
            }
            _ => {
                content.extend(encode_part(part, message.role, notes));
                continue;
            }
        };
        flush(message, &mut content, &mut extra, items);
        let mut item = item;
        merge(&mut item, &part.extra);
        items.push(Value::Object(item));
    }
    flush(message, &mut content, &mut extra, items);
    if message.content.is_empty() {
        let mut item = object([("type", "message".into()), ("role", message.role.as_str().into())]);
        item.insert("content".to_owned(), Value::Array(Vec::new()));
        merge(&mut item, &message.extra);
        items.push(Value::Object(item));
    }
}

/// Ends the message item that the pieces so far make up.
fn flush(message: &Message, content: &mut Vec<Value>, extra: &mut Option<&Object>, items: &mut Vec<Value>) {
    if content.is_empty() {
        return;
    }
    let content = Value::Array(std::mem::take(content));
    let mut item =
        object([("type", "message".into()), ("role", message.role.as_str().into()), ("content", content)]);
    if let Some(extra) = extra.take() {
        merge(&mut item, extra);
    }
    items.push(Value::Object(item));
}

fn encode_reasoning(thinking: &Thinking, extra: &Object) -> Object {
    let mut item = object([("type", "reasoning".into())]);
    // A summary in several pieces was kept as it came.
    if !extra.contains_key("summary") {
        let piece = object([("type", "summary_text".into()), ("text", thinking.text.as_str().into())]);
        let summary = if thinking.text.is_empty() { Vec::new() } else { vec![Value::Object(piece)] };
        item.insert("summary".to_owned(), Value::Array(summary));
    }
    put(&mut item, "encrypted_content", thinking.redacted.as_deref());
    item
}

fn encode_part(part: &Part, role: Role, notes: &mut Vec<Note>) -> Option<Value> {
    let mut out = match &part.kind {
        PartKind::Text(text) => {
            let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
            object([("type", kind.into()), ("text", text.as_str().into())])
        }
        PartKind::Image(Media { source: Source::File(id), .. }) => {
            object([("type", "input_image".into()), ("file_id", id.as_str().into())])
        }
        PartKind::Image(media) => {
            let url = media_url(&media.source)?;
            object([("type", "input_image".into()), ("image_url", url.into())])
        }
        PartKind::Document(Media { source: Source::Text(text), .. }) => {
            notes.push(Note::new("document", "a document of plain text is sent as text"));
            object([("type", "input_text".into()), ("text", text.as_str().into())])
        }
        PartKind::Document(media) => {
            let mut out = object([("type", "input_file".into())]);
            match (&media.source, file_fields(media)) {
                (_, Some(fields)) => {
                    out.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
                }
                (Source::Url(url), None) => put(&mut out, "file_url", Some(url.as_str())),
                (_, None) => return None,
            }
            out
        }
        PartKind::Other(value) => return Some(value.clone()),
        PartKind::ToolUse(_) | PartKind::ToolResult(_) | PartKind::Thinking(_) => return None,
    };
    merge(&mut out, &part.extra);
    Some(Value::Object(out))
}

/// Whether a part that was kept whole stood among the items rather than inside a message.
fn is_item(value: &Value) -> bool {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    !(kind.starts_with("input_")
        || kind.starts_with("output_")
        || kind == "refusal"
        || kind == "summary_text")
}

fn encode_tool(tool: &Tool) -> Value {
    let function = match tool {
        Tool::Provider(value) => return value.clone(),
        Tool::Function(function) => function,
    };
    let mut out = object([("type", "function".into()), ("name", function.name.as_str().into())]);
    put(&mut out, "description", function.description.as_deref());
    out.insert("parameters".to_owned(), function.parameters.clone());
    // Without the field this interface is strict, which most schemas are not made for.
    out.insert("strict".to_owned(), function.strict.unwrap_or(false).into());
    merge(&mut out, &function.extra);
    Value::Object(out)
}

fn encode_tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => {
            object([("type", "function".into()), ("name", name.as_str().into())]).into()
        }
        ToolChoice::Other(value) => value.clone(),
    }
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
fn decode_other_item(item: Value) -> (Role, Part) {
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

fn decode_part(part: Value) -> Part {
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
                    None => Source::File(fields.string("file_id")?),
                };
                PartKind::Image(Media { source, name: None })
            }
            "input_file" => {
                let url = fields.string("file_url");
                PartKind::Document(match url {
                    Some(url) => Media { source: Source::Url(url), name: None },
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
