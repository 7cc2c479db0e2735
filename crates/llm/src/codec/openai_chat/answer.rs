//! Replies in the words of chat completions.

use stave_canon::{Object, Value};

use super::super::answer::{AnswerFault, Envelope, StreamEncoder, write_event};
use super::super::fields::{object, put};
use super::super::openai::{error_body, usage_counts};
use super::encode::encode_tool_call;
use crate::{PartKind, Response, StopReason, StreamEvent, Usage};

pub(super) fn encode_response(response: &Response, envelope: &Envelope) -> Value {
    let mut text: Option<String> = None;
    let mut reasoning = String::new();
    let mut calls = Vec::new();
    for part in &response.content {
        match &part.kind {
            PartKind::Text(piece) => text.get_or_insert_default().push_str(piece),
            PartKind::Thinking(thinking) => reasoning.push_str(&thinking.text),
            PartKind::ToolUse(call) => calls.push(encode_tool_call(call, &Object::new())),
            PartKind::Image(_) | PartKind::Document(_) | PartKind::ToolResult(_) | PartKind::Other(_) => {}
        }
    }
    let mut message = object([
        ("role", "assistant".into()),
        ("content", text.map_or(Value::Null, Value::from)),
        ("refusal", Value::Null),
    ]);
    put(&mut message, "reasoning_content", (!reasoning.is_empty()).then_some(reasoning));
    put(&mut message, "tool_calls", (!calls.is_empty()).then_some(calls));
    let choice = object([
        ("index", 0_u64.into()),
        ("message", message.into()),
        ("logprobs", Value::Null),
        ("finish_reason", response.stop.as_ref().map_or(Value::Null, |stop| finish_reason(stop).into())),
    ]);
    let mut body = object([
        ("id", envelope.id_of(response.id.as_deref()).into()),
        ("object", "chat.completion".into()),
        ("created", envelope.created.into()),
        ("model", envelope.model_of(response.model.as_deref()).into()),
        ("choices", vec![Value::Object(choice)].into()),
    ]);
    put(&mut body, "usage", response.usage.map(encode_usage));
    Value::Object(body)
}

/// The word for why the model stopped; a word of another provider reads as an ordinary end.
fn finish_reason(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::End | StopReason::StopSequence | StopReason::Other(_) => "stop",
        StopReason::MaxTokens => "length",
        StopReason::ToolUse => "tool_calls",
        StopReason::Refusal => "content_filter",
    }
}

fn encode_usage(usage: Usage) -> Value {
    usage_counts(
        usage,
        ["prompt_tokens", "completion_tokens"],
        ["prompt_tokens_details", "completion_tokens_details"],
    )
}

/// Writes the chunks of one reply.
#[derive(Debug)]
pub(super) struct ChatChunks {
    envelope: Envelope,
    started: bool,
    /// The numbers of the calls in the order in which they appeared, which is how this wire counts them.
    calls: Vec<usize>,
    stop: Option<StopReason>,
    usage: Option<Usage>,
}

impl ChatChunks {
    pub(super) fn new(envelope: Envelope) -> Self {
        ChatChunks { envelope, started: false, calls: Vec::new(), stop: None, usage: None }
    }

    fn start(&mut self, out: &mut String) {
        if !self.started {
            self.started = true;
            let delta = object([("role", "assistant".into()), ("content", "".into())]);
            self.delta(delta, out);
        }
    }

    fn delta(&self, delta: Object, out: &mut String) {
        self.choice(delta, Value::Null, out);
    }

    fn choice(&self, delta: Object, finish_reason: Value, out: &mut String) {
        let choice = object([
            ("index", 0_u64.into()),
            ("delta", delta.into()),
            ("logprobs", Value::Null),
            ("finish_reason", finish_reason),
        ]);
        self.chunk(vec![Value::Object(choice)], None, out);
    }

    fn chunk(&self, choices: Vec<Value>, usage: Option<Usage>, out: &mut String) {
        let mut chunk = object([
            ("id", self.envelope.id.as_str().into()),
            ("object", "chat.completion.chunk".into()),
            ("created", self.envelope.created.into()),
            ("model", self.envelope.model.as_str().into()),
            ("choices", choices.into()),
        ]);
        if self.envelope.include_usage {
            chunk.insert("usage".to_owned(), usage.map_or(Value::Null, encode_usage));
        }
        write_event(None, &Value::Object(chunk), out);
    }

    fn call(&mut self, index: usize, id: Option<String>, name: Option<String>, arguments: String) -> Object {
        let (place, first) = match self.calls.iter().position(|known| *known == index) {
            Some(place) => (place, false),
            None => {
                self.calls.push(index);
                (self.calls.len() - 1, true)
            }
        };
        let mut function = Object::new();
        put(&mut function, "name", name);
        function.insert("arguments".to_owned(), arguments.into());
        let mut call = object([("index", place.into())]);
        put(&mut call, "id", id);
        put(&mut call, "type", first.then_some("function"));
        call.insert("function".to_owned(), function.into());
        object([("tool_calls", vec![Value::Object(call)].into())])
    }
}

impl StreamEncoder for ChatChunks {
    fn encode(&mut self, event: StreamEvent, out: &mut String) {
        if let StreamEvent::Start { id, model } = event {
            if !self.started {
                self.envelope.id = self.envelope.id_of(id.as_deref()).to_owned();
                self.envelope.model = self.envelope.model_of(model.as_deref()).to_owned();
            }
            self.start(out);
            return;
        }
        self.start(out);
        match event {
            StreamEvent::Text { text, .. } if !text.is_empty() => {
                self.delta(object([("content", text.into())]), out);
            }
            StreamEvent::Thinking { text, .. } if !text.is_empty() => {
                self.delta(object([("reasoning_content", text.into())]), out);
            }
            StreamEvent::ToolCall { index, id, name, arguments } => {
                let delta = self.call(index, id, name, arguments);
                self.delta(delta, out);
            }
            StreamEvent::Usage(usage) => self.usage = Some(usage),
            StreamEvent::Stop(stop) => self.stop = Some(stop),
            StreamEvent::Start { .. }
            | StreamEvent::Text { .. }
            | StreamEvent::Thinking { .. }
            | StreamEvent::Raw(_) => {}
        }
    }

    fn finish(&mut self, out: &mut String) {
        self.start(out);
        if let Some(stop) = self.stop.take() {
            self.choice(Object::new(), finish_reason(&stop).into(), out);
        }
        if self.envelope.include_usage && self.usage.is_some() {
            self.chunk(Vec::new(), self.usage, out);
        }
        out.push_str("data: [DONE]\n\n");
    }

    fn fail(&mut self, fault: &AnswerFault, out: &mut String) {
        write_event(None, &error_body(fault), out);
    }
}
