//! Every step has an id of its own.

use std::collections::HashMap;

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::wdl::Faults;
use crate::wdl::workflow::{Workflow, calls};

pub(super) fn lint(workflow: &Workflow, faults: &mut Faults) {
    let mut first = HashMap::new();
    for call in calls(&workflow.steps) {
        let Some(earlier) = first.get(call.id.as_str()).copied() else {
            first.insert(call.id.as_str(), call.place);
            continue;
        };
        let span = faults.span(call.place);
        let label = faults.span(earlier);
        let message = format!("step `{}` exists already", call.id);
        let diagnostic = Diagnostic::new(codes::WDL_DUPLICATE_STEP_ID, span, message);
        faults.push(diagnostic.label(label, "it is here").help("choose another id"));
    }
}
