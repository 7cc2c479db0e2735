//! `$step.id` names a step that has run by then whatever the branches before it did.

use std::collections::HashSet;

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::wdl::Faults;
use crate::wdl::reference::{Target, find};
use crate::wdl::tree::Scalar;
use crate::wdl::workflow::{Argument, Step, Workflow, calls};

pub(super) fn lint(workflow: &Workflow, faults: &mut Faults) {
    let all: HashSet<&str> = calls(&workflow.steps).into_iter().map(|call| call.id.as_str()).collect();
    let mut walk = Walk { all: &all, done: HashSet::new(), faults };
    walk.steps(&workflow.steps);
    for output in &workflow.outputs {
        walk.argument(output);
    }
}

/// Every text that can hold a reference, in the order of the document.
pub(super) fn texts(workflow: &Workflow) -> Vec<&Scalar> {
    let mut texts = Vec::new();
    let mut waiting: Vec<&Step> = workflow.steps.iter().rev().collect();
    while let Some(step) = waiting.pop() {
        match step {
            Step::Call(call) => {
                texts.extend(call.arguments.iter().flat_map(|argument| argument.value.scalars()));
            }
            Step::When(when) => {
                texts.push(&when.condition);
                waiting.extend(when.steps.iter().rev());
            }
        }
    }
    texts.extend(workflow.outputs.iter().flat_map(|output| output.value.scalars()));
    texts
}

struct Walk<'w, 'f> {
    all: &'w HashSet<&'w str>,
    /// The steps that have run for certain.
    done: HashSet<&'w str>,
    faults: &'f mut Faults,
}

impl<'w> Walk<'w, '_> {
    fn steps(&mut self, steps: &'w [Step]) {
        for step in steps {
            match step {
                Step::Call(call) => {
                    for argument in &call.arguments {
                        self.argument(argument);
                    }
                    self.done.insert(&call.id);
                }
                Step::When(when) => {
                    self.text(&when.condition);
                    let before = self.done.clone();
                    self.steps(&when.steps);
                    self.done = before;
                }
            }
        }
    }

    fn argument(&mut self, argument: &Argument) {
        for text in argument.value.scalars() {
            self.text(text);
        }
    }

    fn text(&mut self, text: &Scalar) {
        for reference in find(text).into_iter().filter(|reference| reference.target == Target::Step) {
            if self.done.contains(reference.name) {
                continue;
            }
            let (message, help) = if self.all.contains(reference.name) {
                let message = format!("step `{}` has not run here in every case", reference.name);
                (message, "a step is known after it, and a step below `when` only there")
            } else {
                (format!("there is no step `{}`", reference.name), "name a step that stands before this one")
            };
            let span = self.faults.span(reference.place);
            self.faults.push(Diagnostic::new(codes::WDL_UNKNOWN_STEP_REF, span, message).help(help));
        }
    }
}
