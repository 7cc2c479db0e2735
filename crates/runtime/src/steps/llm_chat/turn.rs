//! A model's turn as the journal keeps it, so that an interrupted conversation continues where it was.

use stave_canon::{Object, Value};
use stave_llm::{Part, PartKind, Response, StopReason, Thinking, ToolUse};

use crate::journal::{usage_of, usage_value};

/// The turn as a value; `None` when it has a part that only its provider understands how to build.
pub(super) fn write(response: &Response) -> Option<Value> {
    let mut content = Vec::with_capacity(response.content.len());
    for part in &response.content {
        let mut object = Object::new();
        match &part.kind {
            PartKind::Text(text) => object.insert("text".into(), text.as_str().into()),
            PartKind::ToolUse(call) => object.insert(
                "tool_use".into(),
                [("id", &call.id), ("name", &call.name), ("arguments", &call.arguments)]
                    .into_iter()
                    .map(|(key, text)| (key, Value::from(text.as_str())))
                    .collect(),
            ),
            PartKind::Thinking(thinking) => object.insert(
                "thinking".into(),
                Value::from_iter([
                    ("text", Value::from(thinking.text.as_str())),
                    ("signature", thinking.signature.clone().into()),
                    ("redacted", thinking.redacted.clone().into()),
                ]),
            ),
            PartKind::Other(value) => object.insert("other".into(), value.clone()),
            PartKind::Image(_) | PartKind::Document(_) | PartKind::ToolResult(_) => return None,
        };
        object.insert("extra".into(), part.extra.clone().into());
        content.push(Value::Object(object));
    }
    Some(Value::from_iter([
        ("id", Value::from(response.id.clone())),
        ("model", response.model.clone().into()),
        ("content", Value::Array(content)),
        ("stop", response.stop.as_ref().map(stop_word).into()),
        ("usage", response.usage.as_ref().map_or(Value::Null, usage_value)),
        ("extra", response.extra.clone().into()),
    ]))
}

/// The turn of a value that [`write`] gave; `None` for any other.
pub(super) fn read(value: &Value) -> Option<Response> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let object = |value: &Value| value.get("extra").and_then(Value::as_object).cloned();
    let mut content = Vec::new();
    for part in value.get("content")?.as_array()? {
        let kind = if let Some(written) = part.get("text") {
            PartKind::Text(written.as_str()?.to_owned())
        } else if let Some(call) = part.get("tool_use") {
            PartKind::ToolUse(ToolUse {
                id: text(call, "id")?,
                name: text(call, "name")?,
                arguments: text(call, "arguments")?,
            })
        } else if let Some(thinking) = part.get("thinking") {
            PartKind::Thinking(Thinking {
                text: text(thinking, "text")?,
                signature: text(thinking, "signature"),
                redacted: text(thinking, "redacted"),
            })
        } else {
            PartKind::Other(part.get("other")?.clone())
        };
        content.push(Part { kind, cache: None, extra: object(part)? });
    }
    Some(Response {
        id: text(value, "id"),
        model: text(value, "model"),
        content,
        stop: text(value, "stop").map(|word| stop_of(&word)),
        usage: match value.get("usage")? {
            Value::Null => None,
            usage => Some(usage_of(usage).ok()?),
        },
        extra: object(value)?,
    })
}

pub(super) fn stop_word(stop: &StopReason) -> String {
    match stop {
        StopReason::End => "end".to_owned(),
        StopReason::MaxTokens => "max_tokens".to_owned(),
        StopReason::StopSequence => "stop_sequence".to_owned(),
        StopReason::ToolUse => "tool_use".to_owned(),
        StopReason::Refusal => "refusal".to_owned(),
        StopReason::Other(word) => format!("other:{word}"),
    }
}

fn stop_of(word: &str) -> StopReason {
    match word {
        "end" => StopReason::End,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "tool_use" => StopReason::ToolUse,
        "refusal" => StopReason::Refusal,
        other => StopReason::Other(other.strip_prefix("other:").unwrap_or(other).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use stave_llm::Usage;

    use super::*;

    #[test]
    fn a_turn_is_read_as_it_was_written() {
        let part = |kind| Part { kind, cache: None, extra: Object::new() };
        let tool = ToolUse { id: "c1".to_owned(), name: "look".to_owned(), arguments: "{oops".to_owned() };
        let thinking = Thinking { text: "hm".to_owned(), signature: Some("s".to_owned()), redacted: None };
        for stop in [None, Some(StopReason::ToolUse), Some(StopReason::Other("x".to_owned()))] {
            let response = Response {
                id: Some("r1".to_owned()),
                model: None,
                content: vec![
                    part(PartKind::Text("a".to_owned())),
                    part(PartKind::ToolUse(tool.clone())),
                    part(PartKind::Thinking(thinking.clone())),
                    part(PartKind::Other(Value::from("o"))),
                ],
                stop,
                usage: Some(Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, ..Usage::default() }),
                extra: Object::new(),
            };
            let written = stave_canon::parse(&write(&response).unwrap().to_string()).unwrap();
            assert_eq!(read(&written), Some(response));
        }
    }
}
