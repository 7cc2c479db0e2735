//! Requests in the words of Anthropic's messages.

use stave_canon::{Object, Value};

use super::super::fields::{cache_control, merge, object, put};
use super::super::strict_schema::{StrictMode, strict_copy};
use super::super::{Encoded, Note};
use super::DEFAULT_MAX_TOKENS;
use crate::{
    MediaSource, Message, Part, PartKind, Request, ResponseSchema, Role, Thinking, Tool, ToolChoice, ToolUse,
};

pub(super) fn encode_request(request: &Request) -> Encoded {
    let mut notes = Vec::new();
    let mut body = object([("model", request.model.as_str().into())]);
    let max_tokens = request.max_tokens.unwrap_or_else(|| {
        notes.push(Note::new(
            "max_tokens",
            format!("{DEFAULT_MAX_TOKENS} is sent, since a limit is required"),
        ));
        DEFAULT_MAX_TOKENS
    });
    body.insert("max_tokens".to_owned(), max_tokens.into());
    put(&mut body, "system", encode_system(&request.messages, &mut notes));
    body.insert("messages".to_owned(), Value::Array(encode_messages(&request.messages, &mut notes)));
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(encode_tool).collect::<Vec<_>>().into());
    }
    put(&mut body, "tool_choice", encode_tool_choice(request, &mut notes));
    if let Some(schema) = &request.response_schema {
        put(&mut body, "output_config", encode_schema(schema, &mut notes));
    }
    put(&mut body, "temperature", request.temperature.filter(|number| number.is_finite()));
    put(&mut body, "top_p", request.top_p.filter(|number| number.is_finite()));
    put(&mut body, "stop_sequences", (!request.stop.is_empty()).then(|| request.stop.clone()));
    if request.seed.is_some() {
        notes.push(Note::new("seed", "left out: this provider takes none"));
    }
    put(&mut body, "stream", request.stream.then_some(true));
    put(&mut body, "metadata", (!request.metadata.is_empty()).then(|| request.metadata.clone()));
    merge(&mut body, &request.extra);
    Encoded::new(body, notes)
}

fn is_system(role: Role) -> bool {
    matches!(role, Role::System | Role::Developer)
}

fn encode_system(messages: &[Message], notes: &mut Vec<Note>) -> Option<Value> {
    let leading = messages.iter().take_while(|message| is_system(message.role)).count();
    if messages.iter().skip(leading).any(|message| is_system(message.role)) {
        notes.push(Note::new("messages", "system text between turns is sent before the first turn"));
    }
    let parts: Vec<&Part> = messages
        .iter()
        .filter(|message| is_system(message.role))
        .flat_map(|message| &message.content)
        .collect();
    match parts.as_slice() {
        [] => None,
        [part] if part.is_plain_text() => part.as_text().map(Value::from),
        parts => Some(parts.iter().map(|part| encode_part(part, notes)).collect::<Vec<_>>().into()),
    }
}

fn encode_messages(messages: &[Message], notes: &mut Vec<Note>) -> Vec<Value> {
    let mut turns: Vec<Object> = Vec::new();
    let mut last_was_tool = false;
    for message in messages.iter().filter(|message| !is_system(message.role)) {
        if message.name.is_some() {
            notes.push(Note::new("name", "left out: this provider does not tell speakers apart"));
        }
        let is_tool = message.role == Role::Tool;
        let parts = || message.content.iter();
        // The results of parallel calls must be in one message.
        if is_tool
            && last_was_tool
            && let Some(turn) = turns.last_mut()
            && let Some(Value::Array(content)) = turn.get_mut("content")
        {
            content.extend(parts().map(|part| encode_part(part, notes)));
            merge(turn, &message.extra);
            continue;
        }
        last_was_tool = is_tool;
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        let content = match message.content.as_slice() {
            [part] if part.is_plain_text() => part.as_text().into(),
            _ => Value::Array(parts().map(|part| encode_part(part, notes)).collect()),
        };
        let mut turn = object([("role", role.into()), ("content", content)]);
        merge(&mut turn, &message.extra);
        turns.push(turn);
    }
    turns.into_iter().map(Value::Object).collect()
}

pub(super) fn encode_part(part: &Part, notes: &mut Vec<Note>) -> Value {
    let mut out = match &part.kind {
        PartKind::Text(text) => object([("type", "text".into()), ("text", text.as_str().into())]),
        PartKind::Image(media) => {
            object([("type", "image".into()), ("source", encode_source(&media.source))])
        }
        PartKind::Document(media) => {
            let mut out = object([("type", "document".into()), ("source", encode_source(&media.source))]);
            put(&mut out, "title", media.name.as_deref());
            out
        }
        PartKind::ToolUse(call) => object([
            ("type", "tool_use".into()),
            ("id", call.id.as_str().into()),
            ("name", call.name.as_str().into()),
            ("input", encode_arguments(call, notes)),
        ]),
        PartKind::ToolResult(result) => {
            let mut out =
                object([("type", "tool_result".into()), ("tool_use_id", result.id.as_str().into())]);
            match result.content.as_slice() {
                [] => {}
                [part] if part.is_plain_text() => put(&mut out, "content", part.as_text()),
                parts => {
                    let parts: Vec<Value> = parts.iter().map(|part| encode_part(part, notes)).collect();
                    out.insert("content".to_owned(), parts.into());
                }
            }
            put(&mut out, "is_error", result.is_error.then_some(true));
            out
        }
        PartKind::Thinking(Thinking { redacted: Some(data), .. }) => {
            object([("type", "redacted_thinking".into()), ("data", data.as_str().into())])
        }
        PartKind::Thinking(thinking) => {
            let mut out = object([("type", "thinking".into()), ("thinking", thinking.text.as_str().into())]);
            put(&mut out, "signature", thinking.signature.as_deref());
            out
        }
        PartKind::Other(value) => return value.clone(),
    };
    put(&mut out, "cache_control", part.cache.map(cache_control));
    merge(&mut out, &part.extra);
    Value::Object(out)
}

/// This wire carries arguments as an object, so text that is not an object is wrapped rather than lost.
fn encode_arguments(call: &ToolUse, notes: &mut Vec<Note>) -> Value {
    match call.parse_arguments() {
        Ok(value @ Value::Object(_)) => value,
        _ => {
            notes.push(Note::new("arguments", "arguments that are not an object are sent inside one"));
            object([("arguments", call.arguments.as_str().into())]).into()
        }
    }
}

fn encode_source(source: &MediaSource) -> Value {
    Value::Object(match source {
        MediaSource::Base64 { media_type, data } => object([
            ("type", "base64".into()),
            ("media_type", media_type.as_str().into()),
            ("data", data.as_str().into()),
        ]),
        MediaSource::Url(url) => object([("type", "url".into()), ("url", url.as_str().into())]),
        MediaSource::File(id) => object([("type", "file".into()), ("file_id", id.as_str().into())]),
        MediaSource::Text(text) => object([
            ("type", "text".into()),
            ("media_type", "text/plain".into()),
            ("data", text.as_str().into()),
        ]),
    })
}

fn encode_tool(tool: &Tool) -> Value {
    let function = match tool {
        Tool::Provider(value) => return value.clone(),
        Tool::Function(function) => function,
    };
    let mut out = object([("name", function.name.as_str().into())]);
    put(&mut out, "description", function.description.as_deref());
    out.insert("input_schema".to_owned(), function.parameters.clone());
    put(&mut out, "strict", function.strict);
    put(&mut out, "cache_control", function.cache.map(cache_control));
    merge(&mut out, &function.extra);
    Value::Object(out)
}

fn encode_tool_choice(request: &Request, notes: &mut Vec<Note>) -> Option<Value> {
    let mut choice = match &request.tool_choice {
        Some(ToolChoice::Other(value)) => return Some(value.clone()),
        Some(ToolChoice::Auto) => object([("type", "auto".into())]),
        Some(ToolChoice::None) => object([("type", "none".into())]),
        Some(ToolChoice::Required) => object([("type", "any".into())]),
        Some(ToolChoice::Tool(name)) => object([("type", "tool".into()), ("name", name.as_str().into())]),
        None if request.parallel_tool_calls.is_some() && !request.tools.is_empty() => {
            object([("type", "auto".into())])
        }
        None => {
            if request.parallel_tool_calls.is_some() {
                notes.push(Note::new("parallel_tool_calls", "left out: the request has no tools"));
            }
            return None;
        }
    };
    put(&mut choice, "disable_parallel_tool_use", request.parallel_tool_calls.map(|parallel| !parallel));
    Some(Value::Object(choice))
}

/// This provider has a strict mode only. Without it the schema is left to the prompt, and the reply is
/// validated all the same.
fn encode_schema(schema: &ResponseSchema, notes: &mut Vec<Note>) -> Option<Value> {
    if !schema.strict {
        notes.push(Note::new("response_schema", "left out: this provider knows strict schemas only"));
        return None;
    }
    match strict_copy(&schema.schema, StrictMode::Anthropic) {
        Ok(copy) => {
            let format = object([("type", "json_schema".into()), ("schema", copy)]);
            Some(object([("format", format.into())]).into())
        }
        Err(fault) => {
            notes.push(Note::new("response_schema.strict", format!("the schema is left out: {fault}")));
            None
        }
    }
}
