//! What a run of the whole flow may take.

use stave_canon::Number;
use stave_diag::Span;

use super::{Extra, Spanned};

/// The `runtime` of the flow itself.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowRuntime {
    pub span: Span,
    /// When a run is stopped, whatever it is doing.
    pub timeout_ms: Option<Spanned<u64>>,
    pub budget: Option<Budget>,
    pub extra: Vec<Extra>,
}

/// What a run may use up. It is looked at before every call, so that the call that would go beyond it is
/// not made.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    pub key_span: Span,
    pub span: Span,
    /// Tokens of all model calls, in and out.
    pub tokens: Option<Spanned<u64>>,
    /// What all model calls may cost, in US dollars.
    pub cost_usd: Option<Spanned<Number>>,
    /// Calls to models and hosts, every attempt counted.
    pub calls: Option<Spanned<u64>>,
    /// Milliseconds since the run began.
    pub wall_ms: Option<Spanned<u64>>,
    pub extra: Vec<Extra>,
}
