//! A `when` has steps.

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::wdl::workflow::{Step, Workflow, calls};
use crate::wdl::{Dialect, Faults};

pub(super) fn lint(workflow: &Workflow, dialect: Dialect, faults: &mut Faults) {
    // A workflow that calls nothing is reported as that, once; the reference reports both.
    if dialect == Dialect::Extended && calls(&workflow.steps).is_empty() {
        return;
    }
    let mut waiting: Vec<&Step> = workflow.steps.iter().rev().collect();
    while let Some(step) = waiting.pop() {
        let Step::When(when) = step else { continue };
        if when.steps.is_empty() {
            let span = faults.span(when.place);
            let diagnostic =
                Diagnostic::new(codes::WDL_EMPTY_BRANCH, span, "no step stands below this `when`");
            faults.push(diagnostic.help("indent its steps deeper than the `-`, or take it away"));
        }
        waiting.extend(when.steps.iter().rev());
    }
}
