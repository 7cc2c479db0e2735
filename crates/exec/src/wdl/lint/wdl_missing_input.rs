//! `$input.name` names a declared input.

use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, did_you_mean};

use crate::wdl::Faults;
use crate::wdl::reference::Reference;
use crate::wdl::workflow::Workflow;

/// The names that a workflow declares.
#[derive(Debug)]
pub(super) struct Inputs<'w>(Vec<&'w str>);

impl<'w> Inputs<'w> {
    pub(super) fn of(workflow: &'w Workflow) -> Inputs<'w> {
        Inputs(workflow.inputs.iter().map(|input| input.name.as_str()).collect())
    }

    pub(super) fn reference(&self, reference: &Reference<'_>, faults: &mut Faults) {
        if self.0.contains(&reference.name) {
            return;
        }
        let message = format!("`{}` is not an input of this workflow", reference.name);
        let diagnostic = Diagnostic::new(codes::WDL_MISSING_INPUT, faults.span(reference.place), message);
        let help = match did_you_mean(reference.name, self.0.iter().copied()) {
            Some(near) => format!("did you mean `$input.{near}`?"),
            None => format!("declare it below `inputs:`, like `{}: string`", reference.name),
        };
        faults.push(diagnostic.help(help));
    }
}
