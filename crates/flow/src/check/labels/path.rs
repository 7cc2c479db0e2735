//! A label with the way it came.

use std::rc::Rc;

use stave_diag::Span;

use crate::model::Sensitivity;

/// How many steps of a way are shown: where it begins, and the last ones. A large flow has thousands of them.
const MOST_STEPS: usize = 64;

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
    /// Where the label was declared; none at that place itself.
    first: Option<Rc<Step>>,
    /// How many steps stand before this one.
    count: usize,
}

impl Drop for Step {
    /// A way can have as many steps as the flow has nodes, more than the stack has room for.
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(Ok(mut step)) = before.map(Rc::try_unwrap) {
            before = step.before.take();
        }
    }
}

impl Label {
    /// A label at the place where its author put it. `what` names the thing that has it.
    pub(super) fn declared(level: Sensitivity, span: Span, what: String) -> Label {
        Label { level, last: Rc::new(Step { span, what, before: None, first: None, count: 0 }) }
    }

    /// The same label one step further.
    pub(super) fn on(&self, span: Span, what: String) -> Label {
        let (before, first) = (Some(Rc::clone(&self.last)), Some(Rc::clone(self.first())));
        let count = self.last.count + 1;
        Label { level: self.level, last: Rc::new(Step { span, what, before, first, count }) }
    }

    fn first(&self) -> &Rc<Step> {
        self.last.first.as_ref().unwrap_or(&self.last)
    }

    /// What was labelled in the first place.
    pub(super) fn source(&self) -> &str {
        &self.first().what
    }

    /// The way from the label to here: places, and what happens at each. Of a long way the middle is left out.
    pub(super) fn steps(&self) -> Vec<(Span, String)> {
        let shown = self.last.count.min(MOST_STEPS);
        let way = std::iter::successors(Some(&self.last), |step| step.before.as_ref());
        let mut steps: Vec<(Span, String)> =
            way.take(shown).map(|step| (step.span, step.what.clone())).collect();
        let left_out = self.last.count - shown;
        if left_out > 0
            && let Some((_, what)) = steps.last_mut()
        {
            *what = format!("after {left_out} more steps, {what}");
        }
        let first = self.first();
        steps.push((first.span, format!("{} is {}", first.what, self.level.word())));
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

#[cfg(test)]
mod tests {
    use stave_diag::SourceId;

    use super::*;

    #[test]
    fn a_way_through_a_large_flow_is_cut_in_the_middle_and_needs_no_stack() {
        let span = Span::new(SourceId(0), 0, 1);
        let declared = || Label::declared(Sensitivity::Private, span, "the field `x`".to_owned());
        assert_eq!(declared().steps(), [(span, "the field `x` is private".to_owned())]);
        let way = |length: usize| {
            (0..length).fold(declared(), |label, index| label.on(span, format!("node {index} takes it")))
        };
        assert_eq!(way(3).steps().len(), 4);
        let long = way(300_000);
        let steps: Vec<String> = long.steps().into_iter().map(|(_, what)| what).collect();
        assert_eq!(steps.len(), MOST_STEPS + 1);
        assert_eq!(steps[0], "the field `x` is private");
        assert_eq!(steps[1], "after 299936 more steps, node 299936 takes it");
        assert_eq!(steps[MOST_STEPS], "node 299999 takes it");
        assert_eq!(long.source(), "the field `x`");
    }
}
