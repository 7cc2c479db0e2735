//! Replies of the responses interface: whole bodies and events.

use stave_canon::Value;

use super::super::fields::Fields;
use super::super::{Progress, StreamDecoder, openai, stream};
use super::decode::{decode_other_item, decode_part};
use crate::{ErrorKind, Part, PartKind, Response, StopReason, StreamEvent, Usage};

pub(super) fn decode_response(body: Value) -> Result<Response, ErrorKind> {
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(stream::provider_fault(&body));
    }
    let mut fields = Fields::required(body, "the reply")?;
    let items =
        fields.array("output").ok_or_else(|| ErrorKind::Decode("the reply has no output".to_owned()))?;
    let mut content = Vec::new();
    let mut messages = Vec::new();
    for item in items {
        if item.get("type").and_then(Value::as_str) != Some("message") {
            content.push(decode_other_item(item).1);
            continue;
        }
        let mut message = Fields::required(item, "a message")?;
        content.extend(message.array("content").unwrap_or_default().into_iter().map(decode_part));
        message.drop_if("type", "message");
        message.drop_if("role", "assistant");
        messages.push(Value::Object(message.rest()));
    }
    let usage = fields.nested("usage").map(|mut usage| {
        let counts = openai::usage(&mut usage);
        fields.give_back("usage", usage);
        counts
    });
    let stop = stop_reason(&fields, &content);
    let (id, model) = (fields.string("id"), fields.string("model"));
    let mut extra: stave_canon::Object =
        fields.rest().into_iter().filter(|(_, value)| !value.is_null()).collect();
    if !messages.is_empty() {
        // Ids and states of the message items, which the neutral parts have no place for.
        extra.insert("messages".to_owned(), messages.into());
    }
    Ok(Response { id, model, content, stop, usage, extra })
}

fn stop_reason(fields: &Fields, content: &[Part]) -> Option<StopReason> {
    let refused = |part: &Part| matches!(&part.kind, PartKind::Other(value) if value.get("type").and_then(Value::as_str) == Some("refusal"));
    Some(match fields.peek_str("status")? {
        "completed" if content.iter().any(refused) => StopReason::Refusal,
        "completed" if content.iter().any(|part| part.as_tool_use().is_some()) => StopReason::ToolUse,
        "completed" => StopReason::End,
        "incomplete" => {
            match fields
                .peek("incomplete_details")
                .and_then(|details| details.get("reason"))
                .and_then(Value::as_str)
            {
                Some("max_output_tokens") => StopReason::MaxTokens,
                Some("content_filter") => StopReason::Refusal,
                other => StopReason::Other(other.unwrap_or("incomplete").to_owned()),
            }
        }
        other => StopReason::Other(other.to_owned()),
    })
}

/// Events that repeat what other events say.
const REPEATS: &[&str] = &[
    "response.in_progress",
    "response.queued",
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.done",
    "response.function_call_arguments.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
    "response.reasoning_summary_text.done",
    "response.reasoning_text.done",
];

/// Reads the events of one reply.
#[derive(Debug, Default)]
pub(super) struct ResponsesStream {
    progress: Progress,
}

impl StreamDecoder for ResponsesStream {
    fn decode(&mut self, data: &str, events: &mut Vec<StreamEvent>) -> Result<(), ErrorKind> {
        if data.trim() == "[DONE]" {
            self.progress = Progress::Over;
            return Ok(());
        }
        let event = stream::parse_frame(data)?;
        let raw = event.clone();
        let mut fields = Fields::required(event, "an event")?;
        let index =
            fields.u64("output_index").and_then(|index| usize::try_from(index).ok()).unwrap_or_default();
        let kind = fields.string("type").unwrap_or_default();
        match kind.as_str() {
            "error" => return Err(stream::provider_fault(&raw)),
            "response.failed" => {
                return Err(stream::provider_fault(raw.get("response").unwrap_or(&raw)));
            }
            "response.created" => {
                if let Some(mut response) = fields.nested("response") {
                    events.push(StreamEvent::Start {
                        id: response.string("id"),
                        model: response.string("model"),
                    });
                }
            }
            "response.output_text.delta" => {
                events.push(StreamEvent::Text { index, text: fields.string("delta").unwrap_or_default() });
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let text = fields.string("delta").unwrap_or_default();
                events.push(StreamEvent::Thinking { index, text, signature: None, redacted: None });
            }
            "response.function_call_arguments.delta" => {
                let arguments = fields.string("delta").unwrap_or_default();
                events.push(StreamEvent::ToolCall { index, id: None, name: None, arguments });
            }
            "response.output_item.added" => {
                events.extend(fields.nested("item").and_then(|item| added(index, item, raw)));
            }
            "response.output_item.done" => {
                events.extend(fields.nested("item").and_then(|item| done(index, item)));
            }
            "response.completed" | "response.incomplete" => {
                self.progress = Progress::Over;
                if let Some(response) = fields.value("response") {
                    let whole = decode_response(response)?;
                    events.extend(whole.usage.map(StreamEvent::Usage));
                    events.extend(whole.stop.map(StreamEvent::Stop));
                }
            }
            kind if REPEATS.contains(&kind) => {}
            _ => events.push(StreamEvent::Raw(raw)),
        }
        Ok(())
    }

    fn counts(&mut self, usage: Value) -> Option<Usage> {
        Fields::of(usage).ok().map(|mut usage| openai::usage(&mut usage))
    }

    fn progress(&self) -> Progress {
        self.progress
    }
}

/// A call says its name when its item begins; messages and reasoning say nothing yet.
fn added(index: usize, mut item: Fields, raw: Value) -> Option<StreamEvent> {
    match item.string("type")?.as_str() {
        "function_call" => Some(StreamEvent::ToolCall {
            index,
            id: item.string("call_id"),
            name: item.string("name"),
            arguments: item.string("arguments").unwrap_or_default(),
        }),
        "message" | "reasoning" => None,
        _ => Some(StreamEvent::Raw(raw)),
    }
}

/// Reasoning shows its encrypted form when its item ends.
fn done(index: usize, mut item: Fields) -> Option<StreamEvent> {
    if item.string("type")? != "reasoning" {
        return None;
    }
    let redacted = item.string("encrypted_content")?;
    Some(StreamEvent::Thinking { index, text: String::new(), signature: None, redacted: Some(redacted) })
}
