//! Everything that is wrong with a flow.
pub mod strict;
use crate::model::Flow;
use stave_diag::Diagnostic;

/// How a flow is judged.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether the leniencies of the default dialect are errors.
    pub strict: bool,
}

/// Checks a flow.
#[must_use]
pub fn check(flow: &Flow, options: &Options) -> Vec<Diagnostic> {
    let _ = (flow, options);
    Vec::new()
}
