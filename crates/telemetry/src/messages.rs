//! Conversations in the form that the conventions give to captured content.

use stave_canon::{Object, Value};
use stave_llm::{Message, Part, PartKind, Request, Response, Role};

use crate::attributes::finish_reason;

/// The largest text that an attribute carries; collectors refuse requests that are much larger.
const LONGEST: usize = 256 * 1024;

/// The messages of a request, as the JSON of `gen_ai.input.messages`.
pub(crate) fn input(request: &Request) -> String {
    bounded(Value::Array(request.messages.iter().map(message).collect()).to_string())
}

/// The answer, as the JSON of `gen_ai.output.messages`.
pub(crate) fn output(response: &Response) -> String {
    let mut message = Object::new();
    message.insert("role".into(), "assistant".into());
    message.insert("parts".into(), Value::Array(response.content.iter().map(part).collect()));
    if let Some(stop) = &response.stop {
        message.insert("finish_reason".into(), finish_reason(stop).into());
    }
    bounded(Value::Array(vec![message.into()]).to_string())
}

/// A text as it may be sent; what was cut off is counted at its end.
pub(crate) fn bounded(mut text: String) -> String {
    if text.len() > LONGEST {
        let cut = text.floor_char_boundary(LONGEST);
        let left = text.len() - cut;
        text.truncate(cut);
        text.push_str(&format!("… {left} bytes more"));
    }
    text
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let parts = message.content.iter().map(part).collect();
    Value::from_iter([("role", Value::from(role)), ("parts", Value::Array(parts))])
}

fn part(part: &Part) -> Value {
    let of = |kind: &str, members: &[(&str, Value)]| {
        let members = members.iter().map(|(key, value)| (*key, value.clone()));
        Value::from_iter(std::iter::once(("type", Value::from(kind))).chain(members))
    };
    match &part.kind {
        PartKind::Text(text) => of("text", &[("content", text.as_str().into())]),
        PartKind::Thinking(thinking) => of("reasoning", &[("content", thinking.text.as_str().into())]),
        PartKind::ToolUse(call) => of(
            "tool_call",
            &[
                ("id", call.id.as_str().into()),
                ("name", call.name.as_str().into()),
                ("arguments", call.arguments.as_str().into()),
            ],
        ),
        PartKind::ToolResult(result) => {
            let text: String = result.content.iter().filter_map(Part::as_text).collect();
            of("tool_call_response", &[("id", result.id.as_str().into()), ("response", text.into())])
        }
        // Their bytes help nobody who reads a trace.
        PartKind::Image(_) => of("image", &[]),
        PartKind::Document(_) => of("document", &[]),
        PartKind::Other(_) => of("other", &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_keeps_who_said_what() {
        let request = Request::new("m", vec![Message::system("Be brief."), Message::user("Why?")]);
        assert_eq!(
            input(&request),
            r#"[{"role":"system","parts":[{"type":"text","content":"Be brief."}]},{"role":"user","parts":[{"type":"text","content":"Why?"}]}]"#
        );
    }

    #[test]
    fn a_text_that_is_too_long_says_how_much_is_missing() {
        let text = bounded("é".repeat(LONGEST));
        assert!(text.ends_with(&format!("… {LONGEST} bytes more")), "{}", &text[text.len() - 40..]);
    }
}
