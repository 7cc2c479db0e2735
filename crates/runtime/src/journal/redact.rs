//! A stored run without what only its own scope may see, for people who look at it and for pages that are sent on.
//!
//! The levels are those of the run's own document. Values above `private` are replaced, and so is everything that
//! could quote them: failures, logs, prompts and answers of nodes that read such values.
//!
//! Invariant: a level that is not understood hides its value, and so does an edge that cannot be read.

use stave_block::Sensitivity;
use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_exec::dataflow::EdgeData;

use super::{Ending, StoredRun};
use crate::Failure;
use crate::plan::{INPUT, OUTPUT};
use crate::report::{NodeReport, Status};
use stave_engine::Signal;

/// The replacement of a value.
const HIDDEN: &str = "[restricted]";

impl StoredRun {
    /// The run without restricted values.
    #[must_use]
    pub fn redacted(mut self) -> StoredRun {
        let document = std::sync::Arc::clone(&self.document);
        let Some(rules) = document.constants.policy.get("sensitivity") else { return self };
        let rules = Rules(rules);
        if let Some(request) = self.request.as_object_mut() {
            rules.fields(request);
        }
        let hidden_edges: Vec<bool> = document
            .graph
            .edges
            .iter()
            .map(|edge| {
                let Ok(data) = EdgeData::read(&edge.extra) else { return true };
                let from = data.from_port.as_deref().unwrap_or_default();
                let to = data.to_port.as_deref().unwrap_or_default();
                let source = match edge.from.as_str() {
                    INPUT => rules.field(from),
                    node => rules.makes(node) || (rules.reads(node) && rules.output(node).is_none()),
                };
                let reads_context = data.transform.is_some() && rules.any_field();
                source || reads_context || rules.input(&edge.to, to)
            })
            .collect();
        let is_hidden = |edge: &usize| hidden_edges.get(*edge).copied().unwrap_or(true);
        for step in &mut self.steps {
            match &mut step.result.outputs {
                Ok(outputs) if step.node == INPUT => rules.fields(outputs),
                Ok(outputs) if rules.makes(&step.node) => hide_all(outputs),
                Ok(_) => {}
                Err(failure) => rules.failure(&step.node, failure),
            }
            let failed = step.result.outputs.is_err() && rules.reads(&step.node);
            for (edge, signal) in &mut step.result.signals {
                if let Signal::Active(value) = signal
                    && (failed || is_hidden(edge))
                {
                    *value = HIDDEN.into();
                }
            }
            if let Some(failure) = &mut step.result.unhandled {
                rules.failure(&step.node, failure);
            }
            step.reports.iter_mut().for_each(|report| rules.report(report));
        }
        self.idle.iter_mut().for_each(|report| rules.report(report));
        for call in self.calls.iter_mut().chain(&mut self.items) {
            let node = call.node.split('/').next().unwrap_or_default().to_owned();
            if rules.reads(&node) {
                call.result = HIDDEN.into();
            }
        }
        for question in self.questions.iter_mut().filter(|question| rules.reads(&question.node)) {
            question.text = question.text.as_ref().map(|_| HIDDEN.to_owned());
            hide_all(&mut question.values);
        }
        // An answer to a question may quote it.
        for (path, decision) in &mut self.decisions {
            if path.split('/').any(|node| rules.reads(node)) {
                decision.comment = decision.comment.as_ref().map(|_| HIDDEN.to_owned());
            }
        }
        let mut into_output = document.graph.edges.iter().enumerate().filter(|(_, edge)| edge.to == OUTPUT);
        match &mut self.ending {
            Some(Ending::Ok(output)) if into_output.any(|(index, _)| is_hidden(&index)) => {
                *output = HIDDEN.into();
            }
            Some(Ending::Failed(failed)) => {
                let node = failed.node.clone();
                let hides = node.as_deref().map_or_else(|| rules.any_field(), |node| rules.reads(node));
                if hides && !quotes_nothing(&failed.failure) {
                    hide(&mut failed.failure);
                }
            }
            _ => {}
        }
        self
    }
}

/// The levels that were baked into a document.
struct Rules<'r>(&'r Value);

impl Rules<'_> {
    fn hides(level: &Value) -> bool {
        let level = level.as_str().and_then(Sensitivity::from_word);
        level.is_none_or(|level| level > Sensitivity::Private)
    }

    fn field(&self, name: &str) -> bool {
        self.0.get("context").and_then(|context| context.get(name)).is_some_and(Self::hides)
    }

    fn any_field(&self) -> bool {
        let context = self.0.get("context").and_then(Value::as_object);
        context.is_some_and(|context| context.values().any(Self::hides))
    }

    fn input(&self, node: &str, port: &str) -> bool {
        let inputs = self.0.get("inputs").and_then(|inputs| inputs.get(node));
        inputs.and_then(|inputs| inputs.get(port)).is_some_and(Self::hides)
    }

    fn output(&self, node: &str) -> Option<&Value> {
        self.0.get("outputs").and_then(|outputs| outputs.get(node))
    }

    fn makes(&self, node: &str) -> bool {
        self.output(node).is_some_and(Self::hides)
    }

    fn reads(&self, node: &str) -> bool {
        self.0.get("reads").and_then(|reads| reads.get(node)).is_some_and(Self::hides)
    }

    fn fields(&self, fields: &mut Object) {
        for (name, value) in fields.iter_mut().filter(|(name, _)| self.field(name)) {
            let _ = name;
            *value = HIDDEN.into();
        }
    }

    fn failure(&self, node: &str, failure: &mut Failure) {
        if self.reads(node) && !quotes_nothing(failure) {
            hide(failure);
        }
    }

    fn report(&self, report: &mut NodeReport) {
        if self.reads(&report.id) {
            if let Some(failure) = report.failure.as_mut().filter(|failure| !quotes_nothing(failure)) {
                hide(failure);
            }
            report.logs = report.logs.iter().map(|_| HIDDEN.to_owned()).collect();
            report.questions.clear();
            // The reason of a node that waits is its question.
            if report.status == Status::Waiting {
                report.reason = report.reason.as_ref().map(|_| HIDDEN.to_owned());
            }
        }
    }
}

/// Whether a failure names fields and counts only, and no value: a request that lacks fields, which the details list, and
/// a run that reached a bound.
fn quotes_nothing(failure: &Failure) -> bool {
    let bounds = [codes::BUDGET_EXCEEDED, codes::RUN_TIMEOUT, codes::RUN_TOO_LARGE];
    let lacks_fields = failure.code == codes::MISSING_CONTEXT && failure.details.as_array().is_some();
    lacks_fields || bounds.contains(&failure.code)
}

/// The code and the place stay; a message may quote the value that it is about.
pub(crate) fn hide(failure: &mut Failure) {
    failure.message = format!("{HIDDEN} the message may quote restricted data");
    failure.details = Value::Null;
}

fn hide_all(outputs: &mut Object) {
    outputs.values_mut().for_each(|value| *value = HIDDEN.into());
}
