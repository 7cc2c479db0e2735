//! Every step of a workflow is of a kind that the runtime has, or that the project lists for another runtime.

use stave_diag::codes::run as codes;
use stave_diag::{Diagnostic, Span, did_you_mean};
use stave_operations::{STEP_KINDS, step_kind};

use super::workflow::{Workflow, calls};

/// The steps of kinds that neither this runtime nor `others` has.
#[must_use]
pub fn unknown_step_kinds(workflow: &Workflow, others: &[String]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for call in calls(&workflow.steps) {
        let kind = call.target.as_str();
        if step_kind(kind).is_some() || others.iter().any(|other| other == kind) {
            continue;
        }
        let span = Span::new(workflow.source, call.target_place.start, call.target_place.end);
        let message = format!("step `{}` is of the kind `{kind}`, which this runtime does not have", call.id);
        let known = STEP_KINDS.iter().map(|kind| kind.name).chain(others.iter().map(String::as_str));
        let help = match did_you_mean(kind, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "`stave ops` lists the kinds; for a workflow that another runtime runs, add \"{kind}\" to \
                 `[runtime] step_kinds` in stave.toml"
            ),
        };
        found.push(Diagnostic::new(codes::UNKNOWN_STEP_KIND, span, message).help(help));
    }
    found
}
