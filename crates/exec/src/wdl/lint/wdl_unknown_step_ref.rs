//! `$step.id` names a step that has run by then whatever the branches before it did.

use std::collections::HashSet;

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::wdl::Faults;
use crate::wdl::reference::Reference;
use crate::wdl::workflow::{Workflow, calls};

#[derive(Debug)]
pub(super) struct StepReferences<'w> {
    all: HashSet<&'w str>,
    /// The steps that have run for certain at this point of the walk.
    pub(super) done: HashSet<&'w str>,
}

impl<'w> StepReferences<'w> {
    pub(super) fn of(workflow: &'w Workflow) -> StepReferences<'w> {
        let all = calls(&workflow.steps).into_iter().map(|call| call.id.as_str()).collect();
        StepReferences { all, done: HashSet::new() }
    }

    pub(super) fn reference(&self, reference: &Reference<'_>, faults: &mut Faults) {
        if self.done.contains(reference.name) {
            return;
        }
        let (message, help) = if self.all.contains(reference.name) {
            let message = format!("step `{}` has not run here in every case", reference.name);
            (message, "a step is known after it, and a step below `when` only there")
        } else {
            (format!("there is no step `{}`", reference.name), "name a step that comes before this one")
        };
        let span = faults.span(reference.place);
        faults.push(Diagnostic::new(codes::WDL_UNKNOWN_STEP_REF, span, message).help(help));
    }
}
