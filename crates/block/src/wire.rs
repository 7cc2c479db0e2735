//! A request as the provider's cache sees it: positions in wire order, each with the hash of everything up
//! to its end.
//!
//! Wire order is the provider's own: tools, system, messages. The order of the blocks of a [`crate::BlockIr`]
//! is another one, and both know the same byte ranges of the body.
//!
//! Invariant: a prefix hash depends on what the model is shown and on nothing else. Cache marks, white space
//! between tokens of JSON and a text written as a list of one text block change no hash.

use std::ops::Range;

use crate::{PromptRole, Provenance};

/// The interface that a body is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, stave_shape::Shape)]
#[shape(words)]
pub enum Surface {
    #[shape(rename = "openai_chat")]
    OpenAiChat,
    #[shape(rename = "openai_responses")]
    OpenAiResponses,
    AnthropicMessages,
    GeminiGenerateContent,
}

/// The kind of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, stave_shape::Shape)]
#[shape(words)]
pub enum PositionKind {
    Tool,
    /// The schema that the answer must follow.
    OutputSchema,
    Text,
    Image,
    Document,
    ToolUse,
    ToolResult,
    Thinking,
    Other,
    Audio,
}

/// How long an entry of a marked cache lives after its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, stave_shape::Shape)]
#[shape(words)]
pub enum Ttl {
    #[shape(rename = "5m")]
    Short,
    #[shape(rename = "1h")]
    Long,
}

/// The hash of everything up to the end of a position.
pub type PrefixHash = u128;

/// A request as positions in wire order.
#[derive(Debug, Clone, PartialEq)]
pub struct WirePrompt {
    pub surface: Surface,
    pub model: String,
    pub positions: Vec<Position>,
    pub shape: RequestTraits,
    /// The mark at the top of the body, which the provider puts on the last position that can bear it.
    pub automatic_mark: Option<Mark>,
    /// Further marks inside positions that have one already. They add nothing and are always taken away.
    pub surplus_marks: Vec<Mark>,
    /// `prompt_cache_key` as the client set it.
    pub cache_key: Option<String>,
    /// Where a member of the body can be inserted: right after its opening brace.
    pub body_start: usize,
    /// Whether the body has members already.
    pub body_is_empty: bool,
}

/// One piece of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    pub kind: PositionKind,
    pub role: PromptRole,
    pub provenance: Provenance,
    /// The message it belongs to; `None` for tools, schema and system.
    pub message: Option<u32>,
    /// The bytes of its JSON value in the body.
    pub range: Range<usize>,
    /// How many bytes of text the model is shown of it, about.
    pub length: u32,
    /// The tokens of its images, documents and sounds, by the provider's rules.
    pub media_tokens: u32,
    pub prefix: PrefixHash,
    /// The client's own mark.
    pub mark: Option<Mark>,
    /// Whether the provider takes a mark here.
    pub markable: bool,
    /// Whether the value is a bare string, which must become a list of one block to bear a mark.
    pub bare: bool,
}

/// A cache mark in the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub ttl: Ttl,
    /// The whole member with the comma that goes with it: what is deleted to take the mark away.
    pub member: Range<usize>,
    /// The value of the member.
    pub value: Range<usize>,
    /// Whether it is deeper inside the position's value, on a part of a tool result.
    pub nested: bool,
}

/// What the request says about how it will continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RequestTraits {
    pub tools: bool,
    /// The model must answer with one given tool or in one given form, so no loop follows.
    pub forced: bool,
    /// An assistant has spoken before.
    pub turns: bool,
    /// The last message brings tool results.
    pub in_loop: bool,
}

/// Bytes of text to a token, where a provider has not told.
const BYTES_PER_TOKEN: u64 = 4;

impl Position {
    /// What the model is shown of it as a number of bytes: media count as text of as many tokens.
    #[must_use]
    pub fn shown_bytes(&self) -> u64 {
        u64::from(self.length) + BYTES_PER_TOKEN * u64::from(self.media_tokens)
    }
}

impl Ttl {
    /// Its form in the body.
    #[must_use]
    pub fn cache_control(self) -> &'static str {
        match self {
            Ttl::Short => r#"{"type":"ephemeral"}"#,
            Ttl::Long => r#"{"type":"ephemeral","ttl":"1h"}"#,
        }
    }
}

impl WirePrompt {
    /// The index of the last position that takes a mark.
    #[must_use]
    pub fn last_markable(&self) -> Option<usize> {
        self.positions.iter().rposition(|position| position.markable)
    }

    /// The client's marks by position, the automatic one included, in wire order. Marks of one position
    /// count one each.
    #[must_use]
    pub fn client_marks(&self) -> Vec<(usize, Ttl)> {
        let own = self.positions.iter().enumerate();
        let mut marks: Vec<(usize, Ttl)> =
            own.filter_map(|(index, position)| Some((index, position.mark.as_ref()?.ttl))).collect();
        if let (Some(mark), Some(last)) = (&self.automatic_mark, self.last_markable())
            && !marks.iter().any(|(index, _)| *index == last)
        {
            // A block of an unknown kind behind it may hold a mark.
            let place = marks.partition_point(|(index, _)| *index < last);
            marks.insert(place, (last, mark.ttl));
        }
        marks
    }

    /// The look-back number of every position: a run of tool calls or of tool results counts one.
    #[must_use]
    pub fn ordinals(&self) -> Vec<usize> {
        let mut ordinals = Vec::with_capacity(self.positions.len());
        let mut ordinal = 0;
        let mut previous = None;
        for position in &self.positions {
            let runs = matches!(position.kind, PositionKind::ToolUse | PositionKind::ToolResult);
            if !(runs && previous == Some(position.kind)) {
                ordinal += 1;
            }
            previous = Some(position.kind);
            ordinals.push(ordinal);
        }
        ordinals
    }
}
