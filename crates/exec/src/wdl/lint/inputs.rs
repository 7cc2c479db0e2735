//! `$input.name` names a declared input.

use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, did_you_mean};

use super::step_references::texts;
use crate::wdl::Faults;
use crate::wdl::reference::{Target, find};
use crate::wdl::workflow::Workflow;

pub(super) fn lint(workflow: &Workflow, faults: &mut Faults) {
    let declared: Vec<&str> = workflow.inputs.iter().map(|input| input.name.as_str()).collect();
    for text in texts(workflow) {
        for reference in find(text).into_iter().filter(|reference| reference.target == Target::Input) {
            if declared.contains(&reference.name) {
                continue;
            }
            let message = format!("`{}` is not an input of this workflow", reference.name);
            let diagnostic = Diagnostic::new(codes::WDL_MISSING_INPUT, faults.span(reference.place), message);
            let help = match did_you_mean(reference.name, declared.iter().copied()) {
                Some(near) => format!("did you mean `$input.{near}`?"),
                None => format!("declare it below `inputs:`, like `{}: string`", reference.name),
            };
            faults.push(diagnostic.help(help));
        }
    }
}
