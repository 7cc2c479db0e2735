//! A step's id is one that an exec document can hold.

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::verify::is_identifier;
use crate::wdl::Faults;
use crate::wdl::workflow::{Workflow, calls};

pub(super) fn lint(workflow: &Workflow, faults: &mut Faults) {
    for call in calls(&workflow.steps) {
        if !is_identifier(&call.id) {
            let span = faults.span(call.place);
            let message = format!("`{}` is not an id", call.id);
            let help = format!(
                "use letters, digits, `_`, `.` and `-`, such as `{}`",
                crate::manifest::file_name(&call.id)
            );
            faults.push(Diagnostic::new(codes::WDL_BAD_STEP_ID, span, message).help(help));
        }
    }
}
