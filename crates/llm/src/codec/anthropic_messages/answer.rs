//! Replies in the words of Anthropic's messages.
//!
//! A stream of this interface finishes one block before it begins the next, while other providers may let
//! several grow at once. A call that is open is written as it grows; what comes for anything else meanwhile is
//! held, and written whole when the stream ends. Clients act on finished calls, so nothing waits for it.

use stave_canon::{Object, Value};

use super::super::answer::{AnswerFault, Envelope, StreamEncoder, write_event};
use super::super::fields::object;
use super::encode::encode_part;
use crate::{Accumulator, Part, PartKind, Response, StopReason, StreamEvent, Thinking, Usage};

pub(super) fn encode_response(response: &Response, envelope: &Envelope) -> Value {
    let content: Vec<Value> = response.content.iter().filter_map(encode_block).collect();
    message(
        envelope.id_of(response.id.as_deref()),
        envelope.model_of(response.model.as_deref()),
        content,
        response.stop.as_ref(),
        encode_usage(response.usage.unwrap_or_default()),
    )
}

fn message(id: &str, model: &str, content: Vec<Value>, stop: Option<&StopReason>, usage: Object) -> Value {
    Value::Object(object([
        ("id", id.into()),
        ("type", "message".into()),
        ("role", "assistant".into()),
        ("model", model.into()),
        ("content", content.into()),
        ("stop_reason", stop.map_or(Value::Null, |stop| stop_reason(stop).into())),
        ("stop_sequence", Value::Null),
        ("usage", usage.into()),
    ]))
}

/// A part as a block of a reply; `None` for what a reply of this interface cannot hold.
fn encode_block(part: &Part) -> Option<Value> {
    let kind = match &part.kind {
        PartKind::Text(_) | PartKind::ToolUse(_) => part.kind.clone(),
        // A client's library wants the field, and a signature of another provider would mean nothing.
        PartKind::Thinking(Thinking { text, signature, redacted: None }) => PartKind::Thinking(Thinking {
            text: text.clone(),
            signature: Some(signature.clone().unwrap_or_default()),
            redacted: None,
        }),
        PartKind::Thinking(_) => part.kind.clone(),
        PartKind::Image(_) | PartKind::Document(_) | PartKind::ToolResult(_) | PartKind::Other(_) => {
            return None;
        }
    };
    Some(encode_part(&Part::new(kind), &mut Vec::new()))
}

/// The word for why the model stopped; a word of another provider reads as an ordinary end.
fn stop_reason(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::End | StopReason::Other(_) => "end_turn",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::ToolUse => "tool_use",
        StopReason::Refusal => "refusal",
    }
}

/// This provider counts what the cache read and wrote beside the input, not within it.
fn encode_usage(usage: Usage) -> Object {
    let cached = usage.cache_read.saturating_add(usage.cache_write);
    let creation = object([
        ("ephemeral_5m_input_tokens", usage.cache_write.saturating_sub(usage.cache_write_1h).into()),
        ("ephemeral_1h_input_tokens", usage.cache_write_1h.into()),
    ]);
    object([
        ("input_tokens", usage.input.saturating_sub(cached).into()),
        ("cache_creation_input_tokens", usage.cache_write.into()),
        ("cache_read_input_tokens", usage.cache_read.into()),
        ("cache_creation", creation.into()),
        ("output_tokens", usage.output.into()),
    ])
}

pub(super) fn error_body(fault: &AnswerFault) -> Value {
    let kind = match fault.status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        503 | 529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    let error = object([("type", kind.into()), ("message", fault.message.as_str().into())]);
    Value::Object(object([("type", "error".into()), ("error", error.into())]))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Text(usize),
    Thinking(usize),
    ToolUse(usize),
}

/// Writes the events of one reply.
#[derive(Debug)]
pub(super) struct MessageEvents {
    envelope: Envelope,
    started: bool,
    open: Option<Block>,
    /// How many blocks have begun.
    begun: usize,
    /// What came while a call was open and does not belong to it.
    held: Accumulator,
    stop: Option<StopReason>,
    usage: Usage,
}

impl MessageEvents {
    pub(super) fn new(envelope: Envelope) -> Self {
        MessageEvents {
            envelope,
            started: false,
            open: None,
            begun: 0,
            held: Accumulator::new(),
            stop: None,
            usage: Usage::default(),
        }
    }

    fn start(&mut self, out: &mut String) {
        if self.started {
            return;
        }
        self.started = true;
        let (id, model) = (&self.envelope.id, &self.envelope.model);
        let message = message(id, model, Vec::new(), None, encode_usage(self.usage));
        write("message_start", [("message", message)], out);
    }

    /// Begins `block` when it is not the open one.
    fn open(&mut self, block: Block, content: impl FnOnce() -> Object, out: &mut String) {
        if self.open == Some(block) {
            return;
        }
        self.close(out);
        self.open = Some(block);
        self.begun += 1;
        let index = self.begun - 1;
        write("content_block_start", [("index", index.into()), ("content_block", content().into())], out);
    }

    fn close(&mut self, out: &mut String) {
        if self.open.take().is_some() {
            write("content_block_stop", [("index", (self.begun - 1).into())], out);
        }
    }

    fn grow(&self, kind: &str, key: &str, text: &str, out: &mut String) {
        if text.is_empty() {
            return;
        }
        let delta = object([("type", kind.into()), (key, text.into())]);
        let index = self.begun.saturating_sub(1);
        write("content_block_delta", [("index", index.into()), ("delta", delta.into())], out);
    }

    /// Writes an event that belongs to the open block, or to a block that may begin.
    fn write(&mut self, event: StreamEvent, out: &mut String) {
        match event {
            StreamEvent::Text { index, text } => {
                if text.is_empty() && self.open != Some(Block::Text(index)) {
                    return;
                }
                let content = || object([("type", "text".into()), ("text", "".into())]);
                self.open(Block::Text(index), content, out);
                self.grow("text_delta", "text", &text, out);
            }
            StreamEvent::Thinking { redacted: Some(data), .. } => {
                self.close(out);
                let content = || object([("type", "redacted_thinking".into()), ("data", data.into())]);
                self.open(Block::Thinking(usize::MAX), content, out);
                self.close(out);
            }
            StreamEvent::Thinking { index, text, signature, redacted: None } => {
                let content = || {
                    object([("type", "thinking".into()), ("thinking", "".into()), ("signature", "".into())])
                };
                self.open(Block::Thinking(index), content, out);
                self.grow("thinking_delta", "thinking", &text, out);
                self.grow("signature_delta", "signature", &signature.unwrap_or_default(), out);
            }
            StreamEvent::ToolCall { index, id, name, arguments } => {
                let content = || {
                    object([
                        ("type", "tool_use".into()),
                        ("id", id.unwrap_or_default().into()),
                        ("name", name.unwrap_or_default().into()),
                        ("input", Object::new().into()),
                    ])
                };
                self.open(Block::ToolUse(index), content, out);
                self.grow("input_json_delta", "partial_json", &arguments, out);
            }
            StreamEvent::Start { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Stop(_)
            | StreamEvent::Raw(_) => {}
        }
    }
}

impl StreamEncoder for MessageEvents {
    fn encode(&mut self, event: StreamEvent, out: &mut String) {
        match event {
            StreamEvent::Start { id, model } => {
                if !self.started {
                    self.envelope.id = self.envelope.id_of(id.as_deref()).to_owned();
                    self.envelope.model = self.envelope.model_of(model.as_deref()).to_owned();
                }
                // The counts of the input follow at once where the provider knows them, so the first
                // event waits for the first piece.
            }
            StreamEvent::Usage(usage) => self.usage = usage,
            StreamEvent::Stop(stop) => self.stop = Some(stop),
            StreamEvent::Raw(_) => {}
            piece => {
                self.start(out);
                match (self.open, &piece) {
                    (Some(Block::ToolUse(open)), StreamEvent::ToolCall { index, .. }) if *index == open => {
                        self.write(piece, out);
                    }
                    (Some(Block::ToolUse(_)), _) => self.held.add(piece),
                    _ => self.write(piece, out),
                }
            }
        }
    }

    fn finish(&mut self, out: &mut String) {
        self.start(out);
        self.close(out);
        let held = std::mem::take(&mut self.held).finish();
        for event in StreamEvent::of(&held) {
            self.write(event, out);
            self.close(out);
        }
        let stop = self.stop.take();
        let delta = object([
            ("stop_reason", stop.as_ref().map_or(Value::Null, |stop| stop_reason(stop).into())),
            ("stop_sequence", Value::Null),
        ]);
        write("message_delta", [("delta", delta.into()), ("usage", encode_usage(self.usage).into())], out);
        write("message_stop", [], out);
    }

    fn fail(&mut self, fault: &AnswerFault, out: &mut String) {
        write_event(Some("error"), &error_body(fault), out);
    }
}

fn write<const N: usize>(kind: &str, members: [(&str, Value); N], out: &mut String) {
    let mut event = object([("type", kind.into())]);
    event.extend(members.into_iter().map(|(key, value)| (key.to_owned(), value)));
    write_event(Some(kind), &Value::Object(event), out);
}
