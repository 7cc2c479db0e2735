//! A model's answer, whole or in pieces.

use stave_canon::{Object, Value};
use stave_shape::Shape;

use super::{Part, PartKind, ToolUse};

/// One whole answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Response {
    pub id: Option<String>,
    /// The model that answered, which may be a dated version of the one that was asked.
    pub model: Option<String>,
    pub content: Vec<Part>,
    pub stop: Option<StopReason>,
    /// Absent when the provider did not say: unknown is not zero.
    pub usage: Option<Usage>,
    pub extra: Object,
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    End,
    MaxTokens,
    StopSequence,
    ToolUse,
    /// The provider or the model declined.
    Refusal,
    /// A word of the provider that has no neutral meaning.
    Other(String),
}

/// Tokens of one exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Shape)]
pub struct Usage {
    /// All input tokens, those read from and written to a cache included.
    #[shape(default, max = i64::MAX)]
    pub input: u64,
    /// All output tokens, reasoning included.
    #[shape(default, max = i64::MAX)]
    pub output: u64,
    /// The part of `input` that was read from the provider's cache.
    #[shape(default, omit_default, max = i64::MAX)]
    pub cache_read: u64,
    /// The part of `input` that was written to the provider's cache.
    #[shape(default, omit_default, max = i64::MAX)]
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour, which costs more.
    #[shape(default, omit_default, max = i64::MAX)]
    pub cache_write_1h: u64,
    /// The part of `output` that the model spent thinking.
    #[shape(default, omit_default, max = i64::MAX)]
    pub reasoning: u64,
}

/// One step of a streamed answer.
///
/// `index` names the part that grows. Text, thinking and tool calls count separately.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    Start {
        id: Option<String>,
        model: Option<String>,
    },
    Text {
        index: usize,
        text: String,
    },
    /// `signature` and `redacted` arrive once, mostly after the text.
    Thinking {
        index: usize,
        text: String,
        signature: Option<String>,
        redacted: Option<String>,
    },
    /// `id` and `name` arrive with the first piece of a call, `arguments` in pieces.
    ToolCall {
        index: usize,
        id: Option<String>,
        name: Option<String>,
        arguments: String,
    },
    /// The tokens so far; a later one replaces an earlier one.
    Usage(Usage),
    Stop(StopReason),
    /// An event without a neutral meaning, as it came.
    Raw(Value),
}

impl Usage {
    /// Whether the input was counted. Every request has some.
    #[must_use]
    pub fn has_input(&self) -> bool {
        self.input > 0 || self.cache_read > 0 || self.cache_write > 0
    }
}

impl Response {
    /// Whether the reply says what it used. Counts that are absent or zero say nothing: no reply is free.
    #[must_use]
    pub fn is_metered(&self) -> bool {
        self.usage.is_some_and(|usage| usage.has_input() && usage.output > 0)
    }

    /// All text parts, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Part::as_text).collect()
    }

    /// The tools that the model wants called, in its order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(Part::as_tool_use)
    }
}

impl StreamEvent {
    /// The events that fold into `response`, for a reply that came in one piece to someone who streams.
    #[must_use]
    pub fn of(response: &Response) -> Vec<StreamEvent> {
        let mut events = vec![StreamEvent::Start { id: response.id.clone(), model: response.model.clone() }];
        for (index, part) in response.content.iter().enumerate() {
            events.extend(match &part.kind {
                PartKind::Text(text) => Some(StreamEvent::Text { index, text: text.clone() }),
                PartKind::Thinking(thinking) => Some(StreamEvent::Thinking {
                    index,
                    text: thinking.text.clone(),
                    signature: thinking.signature.clone(),
                    redacted: thinking.redacted.clone(),
                }),
                PartKind::ToolUse(call) => Some(StreamEvent::ToolCall {
                    index,
                    id: Some(call.id.clone()),
                    name: Some(call.name.clone()),
                    arguments: call.arguments.clone(),
                }),
                PartKind::Other(value) => Some(StreamEvent::Raw(value.clone())),
                PartKind::Image(_) | PartKind::Document(_) | PartKind::ToolResult(_) => None,
            });
        }
        events.extend(response.usage.map(StreamEvent::Usage));
        events.extend(response.stop.clone().map(StreamEvent::Stop));
        events
    }

    /// Whether the event carries a piece of the reply itself.
    #[must_use]
    pub fn is_output(&self) -> bool {
        matches!(self, StreamEvent::Text { .. } | StreamEvent::Thinking { .. } | StreamEvent::ToolCall { .. })
    }
}

impl StopReason {
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            StopReason::End => "end",
            StopReason::MaxTokens => "max_tokens",
            StopReason::StopSequence => "stop_sequence",
            StopReason::ToolUse => "tool_use",
            StopReason::Refusal => "refusal",
            StopReason::Other(word) => word,
        }
    }

    /// Reads what [`StopReason::as_str`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "end" => StopReason::End,
            "max_tokens" => StopReason::MaxTokens,
            "stop_sequence" => StopReason::StopSequence,
            "tool_use" => StopReason::ToolUse,
            "refusal" => StopReason::Refusal,
            other => StopReason::Other(other.to_owned()),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        for (total, more) in [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.cache_write_1h, other.cache_write_1h),
            (&mut self.reasoning, other.reasoning),
        ] {
            *total = total.saturating_add(more);
        }
    }
}

impl Usage {
    /// Input and output together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
