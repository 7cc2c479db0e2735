//! How a node is run, and what it remembers.

use stave_diag::Span;
use stave_operations::{Descriptor, MCP_CALL};

use super::{Extra, Node, Readable, ReadableList, Sensitivity, Spanned, Text};

pub const DEFAULT_TIMEOUT_MS: u64 = 30_000;
/// Attempts after the first, for work that may be repeated.
pub const DEFAULT_RETRIES: u64 = 1;
pub const DEFAULT_RETRY_BACKOFF_MS: u64 = 1_000;
pub const DEFAULT_STATE_KEY: &str = "{node.id}";

/// Time, attempts and caching of a node. A node without `runtime` has all fields absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Runtime {
    pub span: Option<Span>,
    /// Of one attempt.
    pub timeout_ms: Option<Spanned<u64>>,
    /// Attempts after the first.
    pub retries: Option<Spanned<u64>>,
    pub retry_backoff_ms: Option<Spanned<u64>>,
    pub requires_context: ReadableList<Text>,
    pub concurrency: Option<Spanned<u64>>,
    pub cache: Option<Cache>,
    pub extra: Vec<Extra>,
}

/// Keeps a node's result for later runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cache {
    pub key_span: Span,
    pub span: Span,
    pub ttl_seconds: Option<Spanned<u64>>,
    pub key: Readable<Text>,
    pub extra: Vec<Extra>,
}

impl Node {
    /// Milliseconds that one attempt may take.
    #[must_use]
    pub fn timeout_ms(&self) -> u64 {
        self.runtime.timeout_ms.map_or(DEFAULT_TIMEOUT_MS, |timeout| timeout.value)
    }

    /// Attempts after the first. Work with effects is repeated only when the author says so.
    #[must_use]
    pub fn retries(&self) -> u64 {
        let default = if self.writes() { 0 } else { DEFAULT_RETRIES };
        self.runtime.retries.map_or(default, |retries| retries.value)
    }

    #[must_use]
    pub fn retry_backoff_ms(&self) -> u64 {
        self.runtime.retry_backoff_ms.map_or(DEFAULT_RETRY_BACKOFF_MS, |backoff| backoff.value)
    }

    /// Whether the node's operation changes something outside the flow.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.descriptor().is_some_and(Descriptor::writes)
    }

    /// Whether the node changes something outside the flow by its operation or by a tool on a server. What the nodes
    /// change that it runs is known to the flow (`graph::effect`).
    #[must_use]
    pub fn has_effects(&self) -> bool {
        let has_server_tool =
            || self.prompt.iter().flat_map(|prompt| &prompt.tools).any(|tool| tool.mcp.is_read());
        self.writes() || MCP_CALL.writes() && has_server_tool()
    }
}

/// What a node remembers between runs or within one.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The `state` key, at which what is missing is reported.
    pub key_span: Span,
    pub span: Span,
    pub scope: Option<Spanned<NodeStateScope>>,
    /// A template with `{path}` placeholders; [`DEFAULT_STATE_KEY`] when absent.
    pub key: Option<Text>,
    pub ttl_seconds: Option<Spanned<u64>>,
    pub backend: Option<Spanned<Backend>>,
    /// How confidential the record is.
    pub sensitivity: Option<Spanned<Sensitivity>>,
    pub extra: Vec<Extra>,
}

impl State {
    #[must_use]
    pub fn key_template(&self) -> &str {
        self.key.as_ref().map_or(DEFAULT_STATE_KEY, Text::as_str)
    }

    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend.map_or(Backend::Memory, |backend| backend.value)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeStateScope {
    Request,
    Session,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Memory,
    Redis,
    Hopsworks,
}
