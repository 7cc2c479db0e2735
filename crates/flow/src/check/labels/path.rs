//! A label with the way it came.

use std::rc::Rc;

use stave_diag::Span;

use crate::model::Sensitivity;

/// How sensitive a value is, and why.
#[derive(Debug, Clone)]
pub(super) struct Label {
    pub(super) level: Sensitivity,
    last: Rc<Step>,
}

#[derive(Debug)]
struct Step {
    span: Span,
    what: String,
    before: Option<Rc<Step>>,
}

impl Label {
    /// A label at the place where its author put it. `what` names the thing that has it.
    pub(super) fn declared(level: Sensitivity, span: Span, what: String) -> Label {
        Label { level, last: Rc::new(Step { span, what, before: None }) }
    }

    /// The same label one step further.
    pub(super) fn on(&self, span: Span, what: String) -> Label {
        Label { level: self.level, last: Rc::new(Step { span, what, before: Some(Rc::clone(&self.last)) }) }
    }

    /// What was labelled in the first place.
    pub(super) fn source(&self) -> &str {
        let mut step = &self.last;
        while let Some(before) = &step.before {
            step = before;
        }
        &step.what
    }

    /// The way from the label to here: places, and what happens at each.
    pub(super) fn steps(&self) -> Vec<(Span, String)> {
        let mut steps = Vec::new();
        let mut step = Some(&self.last);
        while let Some(here) = step {
            steps.push(match &here.before {
                Some(_) => (here.span, here.what.clone()),
                None => (here.span, format!("{} is {}", here.what, self.level.word())),
            });
            step = here.before.as_ref();
        }
        steps.reverse();
        steps
    }
}

/// The more sensitive of two; the first where they are equal.
pub(super) fn join(first: Option<Label>, second: Option<Label>) -> Option<Label> {
    match (first, second) {
        (Some(first), Some(second)) => Some(if second.level > first.level { second } else { first }),
        (first, second) => first.or(second),
    }
}

/// The most sensitive of several.
pub(super) fn join_all(labels: impl IntoIterator<Item = Option<Label>>) -> Option<Label> {
    labels.into_iter().fold(None, join)
}
