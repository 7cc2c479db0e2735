//! What is kept of a request.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use stave_canon::Timestamp;
use stave_llm::Usage;
use stave_llm::prices::Cost;

use super::{Edits, RecordedBlocks};

/// One request, from its arrival to the last byte of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRecord {
    /// When it arrived.
    pub time: Timestamp,
    /// The id that the client receives.
    pub id: String,
    /// The virtual key's id; `None` when no key was presented that is one of ours.
    pub key: Option<Arc<str>>,
    pub tenant: Arc<str>,
    /// The hash of what the client calls the conversation, when it says.
    pub session: Option<String>,
    /// The interface, such as `anthropic_messages`.
    pub surface: Cow<'static, str>,
    pub model_asked: String,
    pub upstream: Option<Arc<str>>,
    pub model_used: Option<Arc<str>>,
    /// The status that the client got; 499 when it went away before there was one.
    pub status: u16,
    pub outcome: RequestOutcome,
    /// How often an upstream was asked.
    pub attempts: u32,
    pub streamed: bool,
    /// Of the body as it came, of the body as it was sent on, and of the answer's body as it was passed on.
    pub request_hash: Option<Digest>,
    /// `None` where `edits` say what was sent.
    pub sent_hash: Option<Digest>,
    pub response_hash: Option<Digest>,
    /// What was changed in the body that came, when what was sent is that body with a few edits.
    pub edits: Option<Edits>,
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub usage: Usage,
    pub money: Money,
    /// The marks that the request was sent with, the client's own included.
    pub breakpoints: Vec<Breakpoint>,
    /// Why the cache was not planned for.
    pub not_planned: Option<Cow<'static, str>>,
    pub miss: Option<Miss>,
    /// What it was made of as it was sent, without the contents.
    pub blocks: Option<RecordedBlocks>,
    pub gates: Vec<GateDecision>,
    /// Which of our own parts failed, when the request was sent on unchanged because of it.
    pub failed_open: Option<Cow<'static, str>>,
    pub durations: Durations,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestOutcome {
    /// The upstream's answer was passed on to its end.
    Answered,
    /// We did not send it.
    Refused,
    /// No upstream answered it well, or the answer broke off.
    Failed,
    /// The client went away.
    Cancelled,
}

impl RequestOutcome {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RequestOutcome::Answered => "answered",
            RequestOutcome::Refused => "refused",
            RequestOutcome::Failed => "failed",
            RequestOutcome::Cancelled => "cancelled",
        }
    }
}

/// The SHA-256 of something that is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    #[must_use]
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(stave_canon::sha256(bytes))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Digest({self})")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&hex::encode(self.0))
    }
}

/// What a request cost, and what it would have cost as the client sent it. `None` when there is no price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Money {
    pub spent: Option<Cost>,
    pub as_sent: Option<Cost>,
}

/// A mark of a request, by its position in wire order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breakpoint {
    pub position: u32,
    /// Kept for an hour, and not for five minutes.
    pub long: bool,
}

/// Where a request parted from the one before it whose beginning a cache may have held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The place in wire order in words of structure, such as `system[0]` or `messages[12]`.
    pub place: Cow<'static, str>,
    /// The pattern of the clock, date or id that differs, when it is one.
    pub variable: Option<&'static str>,
    /// Tokens that both begin with.
    pub common_tokens: u64,
    /// Tokens behind the difference that had to be paid for again.
    pub lost_tokens: u64,
    /// The span id of the block in which they differ, and of the block that was there before.
    pub block: Option<String>,
    pub block_before: Option<String>,
}

/// What a gate decided about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateDecision {
    /// `redact`, `route`, `refuse` or `flag`; `change` or `fail` for what a plugin did.
    pub action: Cow<'static, str>,
    /// The name of the rule, the label, the policy or the plugin.
    pub rule: Cow<'static, str>,
    /// How many places it was applied to.
    pub places: u32,
    /// The part of the request, such as `instructions` or `tool_result`.
    pub field: Cow<'static, str>,
    /// Whether a policy decided, and not the gate.
    pub is_policy: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Durations {
    /// From the request's arrival to the end of its answer.
    pub total: Duration,
    /// How long it waited for its turn.
    pub waited: Duration,
    /// What our own work took: reading, gates, plan, splices.
    pub own: Duration,
    /// From its arrival to the first byte of the answer.
    pub first_byte: Option<Duration>,
}

impl RequestRecord {
    /// A record in which nothing has happened yet.
    #[must_use]
    pub fn new(time: Timestamp, id: String) -> RequestRecord {
        RequestRecord {
            time,
            id,
            key: None,
            tenant: Arc::default(),
            session: None,
            surface: Cow::Borrowed(""),
            model_asked: String::new(),
            upstream: None,
            model_used: None,
            status: 0,
            outcome: RequestOutcome::Failed,
            attempts: 0,
            streamed: false,
            request_hash: None,
            sent_hash: None,
            response_hash: None,
            edits: None,
            request_bytes: 0,
            response_bytes: 0,
            usage: Usage::default(),
            money: Money::default(),
            breakpoints: Vec::new(),
            not_planned: None,
            miss: None,
            blocks: None,
            gates: Vec::new(),
            failed_open: None,
            durations: Durations::default(),
        }
    }
}
