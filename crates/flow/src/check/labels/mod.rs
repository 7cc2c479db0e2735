//! Sensitive data reaches no model, host or tool outside its scope, and no port or state record that is
//! declared to hold less.
//!
//! Labels are where authors put them: on context fields, ports and state. They travel along edges, through
//! templates, operations, code, tool calls and state records. An output without a label of its own is as
//! sensitive as everything its node reads. A label of its own can raise that; only the project can let it lower it,
//! since who writes a flow does not decide what leaves it. Which branch a condition takes reveals something about its
//! value too; that is not followed. A flow without labels is not looked at.

mod levels;
mod lowered_label;
mod path;
mod reads;
mod receivers;
mod scopes;
mod sensitive_data_leak;
mod travel;

use stave_diag::Diagnostic;

use super::subject::Subject;
use crate::model::Sensitivity;

pub use levels::{Levels, levels};
pub use scopes::Scopes;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for (name, _) in &subject.flow.context.sensitivity {
        diagnostics.extend(subject.undeclared_context(&name.value, name.span));
    }
    if is_labelled(subject) {
        let labels = travel::travel(subject);
        lowered_label::check(subject, &labels, diagnostics);
        receivers::check(subject, &labels, diagnostics);
    }
}

fn is_labelled(subject: &Subject<'_>) -> bool {
    let sensitive = |level: Option<Sensitivity>| level.is_some_and(|level| level > Sensitivity::Public);
    let context = &subject.flow.context.sensitivity;
    !subject.options.scopes.fields.is_empty()
        || context.iter().any(|(_, level)| sensitive(Some(level.value)))
        || subject.nodes().any(|node| {
            let ports = node.inputs.iter().chain(&node.outputs).chain(&node.error);
            let mut levels = ports.map(|port| port.sensitivity.map(|level| level.value));
            let state = node.state.as_ref().and_then(|state| state.sensitivity);
            levels.any(sensitive) || sensitive(state.map(|level| level.value))
        })
}
