//! A `when` has a condition that can be compiled.

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::wdl::workflow::{WdlStep, Workflow};
use crate::wdl::{Faults, condition};

pub(super) fn lint(workflow: &Workflow, faults: &mut Faults) {
    let mut waiting: Vec<&WdlStep> = workflow.steps.iter().rev().collect();
    while let Some(step) = waiting.pop() {
        let WdlStep::When(when) = step else { continue };
        match condition::read(&when.condition) {
            Err(message) => {
                let span = faults.span(when.condition.place);
                let diagnostic = Diagnostic::new(codes::WDL_BAD_CONDITION, span, message);
                faults.push(
                    diagnostic.help("write `$step.id.field == \"text\"` or `$input.name in [\"a\", \"b\"]`"),
                );
            }
            Ok(condition) if condition.cases.iter().any(|case| case == crate::wdl::lower::DEFAULT_CASE) => {
                let span = faults.span(when.condition.place);
                let message =
                    format!("the case `{}` is the name of the default", crate::wdl::lower::DEFAULT_CASE);
                faults.push(
                    Diagnostic::new(codes::WDL_BAD_CONDITION, span, message).help("choose another text"),
                );
            }
            Ok(_) => {}
        }
        waiting.extend(when.steps.iter().rev());
    }
}
