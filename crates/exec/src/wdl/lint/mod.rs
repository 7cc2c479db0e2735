//! What a workflow says wrongly although it can be read. One file per rule;
//! those about the expressions of a policy share one walk in [`pdl_faults`].
//!
//! Invariant: the findings that the reference has too come in its order, which is that of one walk over the
//! steps and then the outputs.

pub(crate) mod pdl_faults;
mod wdl_bad_condition;
mod wdl_bad_step_id;
mod wdl_duplicate_step_id;
mod wdl_empty_branch;
mod wdl_missing_input;
mod wdl_no_call_steps;
mod wdl_unknown_key;
mod wdl_unknown_step_ref;

use self::wdl_duplicate_step_id::DuplicateSteps;
use self::wdl_missing_input::Inputs;
use self::wdl_unknown_step_ref::StepReferences;
use super::reference::{Reference, Target, find};
use super::tree::{Scalar, WdlNode};
use super::triggers;
use super::workflow::{WdlStep, Workflow, calls as all_calls};
use super::{Dialect, Faults};

/// Appends every finding: first those of the reference, then those it does not have.
pub(crate) fn lint(workflow: &Workflow, dialect: Dialect, faults: &mut Faults) {
    let calls_nothing = all_calls(&workflow.steps).is_empty();
    let mut walk = Walk {
        duplicates: DuplicateSteps::default(),
        inputs: Inputs::of(workflow),
        steps: StepReferences::of(workflow),
        // A workflow that calls nothing is reported as that, once; the reference reports both.
        reports_branches: dialect == Dialect::Reference || !calls_nothing,
        faults,
    };
    walk.sequence(&workflow.steps);
    for output in &workflow.outputs {
        walk.value(&output.value);
    }
    wdl_no_call_steps::lint(workflow, faults);
    if dialect == Dialect::Extended {
        wdl_bad_condition::lint(workflow, faults);
        wdl_bad_step_id::lint(workflow, faults);
        triggers::lint(workflow, faults);
        wdl_unknown_key::lint(workflow, faults);
    }
}

struct Walk<'w, 'f> {
    duplicates: DuplicateSteps<'w>,
    inputs: Inputs<'w>,
    steps: StepReferences<'w>,
    reports_branches: bool,
    faults: &'f mut Faults,
}

impl<'w> Walk<'w, '_> {
    fn sequence(&mut self, steps: &'w [WdlStep]) {
        for step in steps {
            match step {
                WdlStep::Call(call) => {
                    self.duplicates.call(call, self.faults);
                    for argument in &call.arguments {
                        self.value(&argument.value);
                    }
                    self.steps.done.insert(&call.id);
                }
                WdlStep::When(when) => {
                    for reference in find(&when.condition) {
                        self.reference(&reference);
                    }
                    if self.reports_branches {
                        wdl_empty_branch::when(when, self.faults);
                    }
                    let before = self.steps.done.clone();
                    self.sequence(&when.steps);
                    self.steps.done = before;
                }
            }
        }
    }

    /// In each text of a value, inputs come before steps.
    fn value(&mut self, value: &'w WdlNode) {
        for text in value.scalars() {
            self.text(text);
        }
    }

    fn text(&mut self, text: &Scalar) {
        let found = find(text);
        for target in [Target::Input, Target::Step] {
            for reference in found.iter().filter(|reference| reference.target == target) {
                self.reference(reference);
            }
        }
    }

    fn reference(&mut self, reference: &Reference<'_>) {
        match reference.target {
            Target::Input => self.inputs.reference(reference, self.faults),
            Target::Step => self.steps.reference(reference, self.faults),
        }
    }
}
