//! Replies of chat completions: whole bodies and chunks.

use stave_canon::{Object, Value};

use super::super::fields::Fields;
use super::super::{Progress, StreamDecoder, openai, stream};
use super::decode::{decode_content, decode_tool_call};
use crate::{ErrorKind, Part, PartKind, Response, StopReason, StreamEvent, Thinking, Usage};

/// The fields under which servers send a model's reasoning.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

pub(super) fn decode_response(body: Value) -> Result<Response, ErrorKind> {
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(stream::provider_fault(&body));
    }
    let mut fields = Fields::required(body, "the reply")?;
    let mut choices = fields.array("choices").unwrap_or_default().into_iter();
    let first = choices.next().ok_or_else(|| ErrorKind::Decode("the reply has no choices".to_owned()))?;
    let mut choice = Fields::required(first, "the first choice")?;
    let message = choice
        .value("message")
        .ok_or_else(|| ErrorKind::Decode("the first choice has no message".to_owned()))?;
    let mut message = Fields::required(message, "the message")?;

    let mut content = Vec::new();
    if let Some(text) =
        REASONING.into_iter().find_map(|key| message.string(key)).filter(|text| !text.is_empty())
    {
        content.push(Part::new(PartKind::Thinking(Thinking { text, ..Thinking::default() })));
    }
    content.extend(decode_content(&mut message).into_iter().filter(|part| part.as_text() != Some("")));
    content.extend(message.array("tool_calls").unwrap_or_default().into_iter().map(decode_tool_call));
    let refused = message.peek_str("refusal").is_some_and(|refusal| !refusal.is_empty());
    let stop = choice.string("finish_reason").map(|word| stop_reason(&word));
    let usage = fields.nested("usage").map(|mut usage| {
        let counts = openai::usage(&mut usage);
        fields.give_back("usage", usage);
        counts
    });
    message.drop_if("role", "assistant");
    let (id, model) = (fields.string("id"), fields.string("model"));
    choice.value("index");
    let mut extra = fields.rest();
    for (key, rest) in [("choice", choice.rest()), ("message", message.rest())] {
        let rest: Object = rest.into_iter().filter(|(_, value)| !value.is_null()).collect();
        if !rest.is_empty() {
            extra.insert(key.to_owned(), rest.into());
        }
    }
    let others: Vec<Value> = choices.collect();
    if !others.is_empty() {
        extra.insert("choices".to_owned(), others.into());
    }
    let stop = if refused { Some(StopReason::Refusal) } else { stop };
    Ok(Response { id, model, content, stop, usage, extra })
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" => StopReason::End,
        "length" => StopReason::MaxTokens,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "content_filter" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}

/// Reads the chunks of one reply.
#[derive(Debug, Default)]
pub(super) struct ChatStream {
    started: bool,
    progress: Progress,
    /// The call that grows, for servers that do not number the pieces.
    call: Option<usize>,
}

impl StreamDecoder for ChatStream {
    fn decode(&mut self, data: &str, events: &mut Vec<StreamEvent>) -> Result<(), ErrorKind> {
        if data.trim() == "[DONE]" {
            self.progress = Progress::Over;
            return Ok(());
        }
        let chunk = stream::parse_frame(data)?;
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(stream::provider_fault(&chunk));
        }
        let mut fields = Fields::required(chunk, "a chunk")?;
        if !self.started {
            self.started = true;
            events.push(StreamEvent::Start { id: fields.string("id"), model: fields.string("model") });
        }
        for choice in fields.array("choices").unwrap_or_default() {
            let mut choice = Fields::required(choice, "a choice")?;
            if choice.u64("index").unwrap_or_default() > 0 {
                events.push(StreamEvent::Raw(choice.rest().into()));
                continue;
            }
            if let Some(delta) = choice.nested("delta") {
                self.delta(delta, events);
            }
            if let Some(word) = choice.string("finish_reason") {
                self.progress = Progress::Stopped;
                events.push(StreamEvent::Stop(stop_reason(&word)));
            }
        }
        if let Some(mut usage) = fields.nested("usage") {
            events.push(StreamEvent::Usage(openai::usage(&mut usage)));
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

impl ChatStream {
    fn delta(&mut self, mut delta: Fields, events: &mut Vec<StreamEvent>) {
        if let Some(text) =
            REASONING.into_iter().find_map(|key| delta.string(key)).filter(|text| !text.is_empty())
        {
            events.push(StreamEvent::Thinking { index: 0, text, signature: None, redacted: None });
        }
        if let Some(text) = delta.string("content").filter(|text| !text.is_empty()) {
            events.push(StreamEvent::Text { index: 0, text });
        }
        for call in delta.array("tool_calls").unwrap_or_default() {
            let Ok(mut call) = Fields::of(call) else { continue };
            let id = call.string("id");
            let index = match (call.u64("index"), &id) {
                (Some(index), _) => usize::try_from(index).unwrap_or(usize::MAX),
                (None, Some(_)) => self.call.map_or(0, |last| last + 1),
                (None, None) => self.call.unwrap_or(0),
            };
            self.call = Some(index);
            let mut function = call.nested("function");
            let name = function.as_mut().and_then(|function| function.string("name"));
            let arguments =
                function.and_then(|mut function| function.string("arguments")).unwrap_or_default();
            events.push(StreamEvent::ToolCall { index, id, name, arguments });
        }
        delta.value("role");
        let rest: Object = delta.rest().into_iter().filter(|(_, value)| !value.is_null()).collect();
        if !rest.is_empty() {
            events.push(StreamEvent::Raw(rest.into()));
        }
    }
}
