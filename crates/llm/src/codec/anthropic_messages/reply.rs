//! Replies of Anthropic's messages: whole bodies and events.

use stave_canon::Value;

use super::super::fields::Fields;
use super::super::{Progress, StreamDecoder, stream};
use super::decode::decode_part;
use crate::{ErrorKind, Response, StopReason, StreamEvent, Usage};

pub(super) fn decode_response(body: Value) -> Result<Response, ErrorKind> {
    if body.get("type").and_then(Value::as_str) == Some("error") {
        return Err(stream::provider_fault(&body));
    }
    let mut fields = Fields::required(body, "the reply")?;
    let content =
        fields.array("content").ok_or_else(|| ErrorKind::Decode("the reply has no content".to_owned()))?;
    let usage = fields.nested("usage").map(|mut usage| {
        let mut counts = Counts::default();
        counts.read(&mut usage);
        fields.give_back("usage", usage);
        counts.usage()
    });
    fields.drop_if("type", "message");
    fields.drop_if("role", "assistant");
    Ok(Response {
        id: fields.string("id"),
        model: fields.string("model"),
        content: content.into_iter().map(decode_part).collect(),
        stop: fields.string("stop_reason").map(|word| stop_reason(&word)),
        usage,
        extra: fields.rest().into_iter().filter(|(_, value)| !value.is_null()).collect(),
    })
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" => StopReason::End,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "tool_use" => StopReason::ToolUse,
        "refusal" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}

/// This provider's counts, where the input does not include what the cache read and wrote.
#[derive(Debug, Default)]
struct Counts {
    uncached: u64,
    usage: Usage,
}

impl Counts {
    /// Takes the counts that are there; those that are not keep their value. Counts are of everything so far, so they
    /// only grow.
    fn read(&mut self, fields: &mut Fields) {
        let mut update = |key: &str, count: &mut u64| {
            if let Some(tokens) = fields.tokens(key) {
                *count = tokens.max(*count);
            }
        };
        update("input_tokens", &mut self.uncached);
        update("output_tokens", &mut self.usage.output);
        update("cache_read_input_tokens", &mut self.usage.cache_read);
        update("cache_creation_input_tokens", &mut self.usage.cache_write);
        if let Some(mut creation) = fields.nested("cache_creation") {
            if let Some(tokens) = creation.tokens("ephemeral_1h_input_tokens") {
                self.usage.cache_write_1h = tokens;
            }
            creation.tokens("ephemeral_5m_input_tokens");
            fields.give_back("cache_creation", creation);
        }
    }

    fn usage(&self) -> Usage {
        let cached = self.usage.cache_read.saturating_add(self.usage.cache_write);
        let cache_write_1h = self.usage.cache_write_1h.min(self.usage.cache_write);
        Usage { input: self.uncached.saturating_add(cached), cache_write_1h, ..self.usage }
    }
}

/// Reads the events of one reply.
#[derive(Debug, Default)]
pub(super) struct MessagesStream {
    counts: Counts,
    progress: Progress,
}

impl StreamDecoder for MessagesStream {
    fn decode(&mut self, data: &str, events: &mut Vec<StreamEvent>) -> Result<(), ErrorKind> {
        let event = stream::parse_frame(data)?;
        let raw = event.clone();
        let mut fields = Fields::required(event, "an event")?;
        let index = fields.u64("index").and_then(|index| usize::try_from(index).ok()).unwrap_or_default();
        match fields.string("type").unwrap_or_default().as_str() {
            "error" => return Err(stream::provider_fault(&raw)),
            "ping" | "content_block_stop" => {}
            "message_start" => {
                let Some(mut message) = fields.nested("message") else { return Ok(()) };
                events.push(StreamEvent::Start { id: message.string("id"), model: message.string("model") });
                self.usage(&mut message, events);
            }
            "content_block_start" => {
                let block = fields.nested("content_block");
                events.push(block.and_then(|block| start(index, block)).unwrap_or(StreamEvent::Raw(raw)));
            }
            "content_block_delta" => {
                let delta = fields.nested("delta");
                events.push(delta.and_then(|delta| grow(index, delta)).unwrap_or(StreamEvent::Raw(raw)));
            }
            "message_delta" => {
                self.usage(&mut fields, events);
                if let Some(word) = fields.nested("delta").and_then(|mut delta| delta.string("stop_reason")) {
                    self.progress = Progress::Stopped;
                    events.push(StreamEvent::Stop(stop_reason(&word)));
                }
            }
            "message_stop" => self.progress = Progress::Over,
            _ => events.push(StreamEvent::Raw(raw)),
        }
        Ok(())
    }

    fn counts(&mut self, usage: Value) -> Option<Usage> {
        self.counts.read(&mut Fields::of(usage).ok()?);
        Some(self.counts.usage())
    }

    fn progress(&self) -> Progress {
        self.progress
    }
}

impl MessagesStream {
    fn usage(&mut self, fields: &mut Fields, events: &mut Vec<StreamEvent>) {
        if let Some(mut usage) = fields.nested("usage") {
            self.counts.read(&mut usage);
            events.push(StreamEvent::Usage(self.counts.usage()));
        }
    }
}

fn start(index: usize, mut block: Fields) -> Option<StreamEvent> {
    Some(match block.string("type")?.as_str() {
        "text" => StreamEvent::Text { index, text: block.string("text").unwrap_or_default() },
        "thinking" => StreamEvent::Thinking {
            index,
            text: block.string("thinking").unwrap_or_default(),
            signature: block.string("signature").filter(|signature| !signature.is_empty()),
            redacted: None,
        },
        "redacted_thinking" => StreamEvent::Thinking {
            index,
            text: String::new(),
            signature: None,
            redacted: block.string("data"),
        },
        "tool_use" => {
            let input = block.object("input").filter(|input| !input.is_empty());
            StreamEvent::ToolCall {
                index,
                id: block.string("id"),
                name: block.string("name"),
                arguments: input.map(|input| Value::Object(input).to_string()).unwrap_or_default(),
            }
        }
        _ => return None,
    })
}

fn grow(index: usize, mut delta: Fields) -> Option<StreamEvent> {
    Some(match delta.string("type")?.as_str() {
        "text_delta" => StreamEvent::Text { index, text: delta.string("text")? },
        "input_json_delta" => {
            StreamEvent::ToolCall { index, id: None, name: None, arguments: delta.string("partial_json")? }
        }
        "thinking_delta" => {
            StreamEvent::Thinking { index, text: delta.string("thinking")?, signature: None, redacted: None }
        }
        "signature_delta" => StreamEvent::Thinking {
            index,
            text: String::new(),
            signature: Some(delta.string("signature")?),
            redacted: None,
        },
        _ => return None,
    })
}
