//! Rules of a project about its flows that need more than the flow, such as policies. The flow line does not know them.

use std::fmt::Debug;

use stave_diag::Diagnostic;

use crate::model::Flow;

/// A rule that a project brings. Everybody who checks a flow with the options of the project applies it.
pub trait ProjectRule: Debug + Send + Sync {
    fn check(&self, flow: &Flow) -> Vec<Diagnostic>;
}
