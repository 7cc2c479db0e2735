//! A workflow does something: it has a step that calls.

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::wdl::Faults;
use crate::wdl::workflow::{Workflow, calls};

pub(super) fn lint(workflow: &Workflow, faults: &mut Faults) {
    if calls(&workflow.steps).is_empty() {
        let span = faults.span(workflow.place);
        let diagnostic = Diagnostic::new(codes::WDL_NO_CALL_STEPS, span, "the workflow calls nothing");
        faults.push(diagnostic.help("add a step such as `- read(http.get):` below `steps:`"));
    }
}
