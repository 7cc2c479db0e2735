//! Requests in the words of chat completions.

use stave_canon::{Object, Value};

use super::super::fields::{merge, object, put};
use super::super::openai::{
    encode_nested_tool, file_fields, is_reasoning_family, media_url, note_what_is_left_out, wire_schema,
};
use super::super::{Encoded, Note};
use crate::tokens::encoding_of;
use crate::{Media, MediaSource, Message, Part, PartKind, Request, Role, ToolChoice, ToolResult, ToolUse};

pub(super) fn encode_request(request: &Request) -> Encoded {
    let mut notes = Vec::new();
    note_what_is_left_out(request, &mut notes);
    let mut body = object([("model", request.model.as_str().into())]);
    let knows_developer = encoding_of(&request.model).is_some();
    let messages = request
        .messages
        .iter()
        .flat_map(|message| encode_message(message, knows_developer, &mut notes))
        .collect();
    body.insert("messages".to_owned(), Value::Array(messages));
    if !request.tools.is_empty() {
        body.insert(
            "tools".to_owned(),
            request.tools.iter().map(encode_nested_tool).collect::<Vec<_>>().into(),
        );
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
    Encoded::new(body, notes)
}

fn encode_message(message: &Message, knows_developer: bool, notes: &mut Vec<Note>) -> Vec<Value> {
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
    let mut role = message.role;
    if role == Role::Developer && !knows_developer {
        notes.push(Note::new("role", "developer is sent as system, since only OpenAI's models know it"));
        role = Role::System;
    }
    let mut out = object([("role", role.as_str().into())]);
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
        PartKind::Document(Media { source: MediaSource::Text(text), .. }) => {
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

pub(super) fn encode_tool_call(call: &ToolUse, extra: &Object) -> Value {
    let function =
        object([("name", call.name.as_str().into()), ("arguments", call.arguments.as_str().into())]);
    let mut out =
        object([("id", call.id.as_str().into()), ("type", "function".into()), ("function", function.into())]);
    merge(&mut out, extra);
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

/// Whether a part that was kept whole was among the tool calls.
fn is_tool_call(value: &Value) -> bool {
    matches!(value.get("type").and_then(Value::as_str), Some("function" | "custom"))
}
