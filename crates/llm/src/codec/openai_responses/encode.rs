//! Requests in the words of the responses interface.

use stave_canon::{Object, Value};

use super::super::fields::{merge, object, put};
use super::super::openai::{file_fields, media_url, note_what_is_left_out, wire_schema};
use super::super::{Encoded, Note};
use crate::{Media, MediaSource, Message, Part, PartKind, Request, Role, Thinking, Tool, ToolChoice};

pub(super) fn encode_request(request: &Request) -> Encoded {
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
    Encoded::new(body, notes)
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
            // Reasoning that this provider did not write would be refused.
            PartKind::Thinking(thinking) if thinking.redacted.is_none() && part.extra.is_empty() => {
                notes.push(Note::new("thinking", "left out: it is not this provider's own"));
                continue;
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
        PartKind::Image(Media { source: MediaSource::File(id), .. }) => {
            object([("type", "input_image".into()), ("file_id", id.as_str().into())])
        }
        PartKind::Image(media) => {
            let url = media_url(&media.source)?;
            object([("type", "input_image".into()), ("image_url", url.into())])
        }
        PartKind::Document(Media { source: MediaSource::Text(text), .. }) => {
            notes.push(Note::new("document", "a document of plain text is sent as text"));
            object([("type", "input_text".into()), ("text", text.as_str().into())])
        }
        PartKind::Document(media) => {
            let mut out = object([("type", "input_file".into())]);
            match (&media.source, file_fields(media)) {
                (_, Some(fields)) => {
                    out.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
                }
                (MediaSource::Url(url), None) => put(&mut out, "file_url", Some(url.as_str())),
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

/// Whether a part that was kept whole was among the items rather than inside a message.
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
