//! How many bytes a run writes, and how many it may.
//!
//! Invariants: what a step wants kept is counted before it is kept, and a step that would take its run over a bound
//! fails, not the process. The counts are part of the nodes' reports and of the calls in the journal, so they continue
//! after a resume. A count may be too high, for a step that is done again, and is never too low.

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_engine::{Failure, FailureKind, RunFailure, object_bytes, value_bytes};

use crate::budget::Spending;
use crate::journal::CallRecord;
use crate::run::Run;
use crate::services::RunLimits;
use crate::state::{Commit, Write};

/// The member of an item's or a tool's answer that says how many bytes of state were written with it.
const STATE_BYTES: &str = "state_bytes";

/// The longest message of a failure, and the most of its details that is kept.
const MESSAGE_BYTES: usize = 16 * 1024;
const DETAILS_BYTES: usize = 64 * 1024;

/// Bytes that a run, or a node of it, has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Volume {
    /// In state records.
    pub state: u64,
    /// Results of steps, values of edges and answers of models.
    pub results: u64,
    /// What code printed.
    pub logs: u64,
}

impl Volume {
    #[must_use]
    pub fn plus(self, more: Volume) -> Volume {
        Volume {
            state: self.state.saturating_add(more.state),
            results: self.results.saturating_add(more.results),
            logs: self.logs.saturating_add(more.logs),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Volume::default()
    }

    /// The bound that is exceeded: its setting and its value.
    fn over(&self, limits: &RunLimits) -> Option<(&'static str, u64)> {
        [
            ("state_bytes", self.state, limits.state_bytes),
            ("result_bytes", self.results, limits.result_bytes),
            ("log_bytes", self.logs, limits.log_bytes),
        ]
        .into_iter()
        .find_map(|(name, used, limit)| (used > limit).then_some((name, limit)))
    }
}

impl Spending {
    /// Counts bytes that are about to be kept, unless the run would have more than it may.
    pub(crate) fn keep(&self, limits: &RunLimits, more: Volume) -> Result<(), Failure> {
        let mut account = self.lock();
        let volume = account.volume.plus(more);
        if let Some((name, limit)) = volume.over(limits) {
            return Err(run_too_large(name, limit));
        }
        account.volume = volume;
        Ok(())
    }
}

impl Run<'_> {
    /// Counts bytes of a node, in the run and in the node's report.
    pub(crate) fn keep(&self, index: usize, more: Volume) -> Result<(), Failure> {
        self.spending.keep(&self.services.limits, more)?;
        self.report(index, |report| report.volume = report.volume.plus(more));
        Ok(())
    }

    /// Counts what an attempt wants kept.
    pub(crate) fn keep_result(
        &self,
        index: usize,
        node: &str,
        outputs: &Object,
        commit: Option<&Commit>,
    ) -> Result<(), Failure> {
        // What the pseudo-nodes hand on is part of the request or of other results.
        let results = if node.starts_with('_') { 0 } else { object_bytes(outputs) };
        self.keep(index, Volume { state: commit.map_or(0, commit_bytes), results, logs: 0 })
    }

    /// The output of the run, unless it is too large to be kept and told.
    pub(crate) fn bounded_output(&self, output: Value) -> Result<Value, RunFailure> {
        let limit = self.services.limits.output_bytes;
        if value_bytes(&output) <= limit {
            return Ok(output);
        }
        Err(RunFailure { failure: run_too_large("output_bytes", limit), node: None, attempts: 0 })
    }

    /// Counts the answers that steps without a result had before the run was interrupted.
    pub(crate) fn restore_volume(&self) {
        for record in self.calls.records() {
            // A run that is over its bound already fails at its next step.
            let mut account = self.spending.lock();
            account.volume = account.volume.plus(call_volume(&record));
        }
    }
}

fn call_volume(record: &CallRecord) -> Volume {
    let state = record.result.get(STATE_BYTES).and_then(Value::as_i64);
    let state = state.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
    Volume { state, results: value_bytes(&record.result), logs: 0 }
}

/// An answer with the bytes of state that are written with it.
pub(crate) fn with_state_bytes(mut answer: Value, bytes: u64) -> Value {
    if let Some(members) = answer.as_object_mut().filter(|_| bytes > 0) {
        members.insert(STATE_BYTES.to_owned(), bytes.into());
    }
    answer
}

pub(crate) fn run_too_large(name: &str, limit: u64) -> Failure {
    let message = format!("the run writes more than `{name}` allows: {limit} bytes");
    Failure::new(codes::RUN_TOO_LARGE, FailureKind::Budget, message)
}

/// The bytes of a commit's writes.
pub(crate) fn commit_bytes(commit: &Commit) -> u64 {
    commit.writes.iter().map(write_bytes).fold(0, u64::saturating_add)
}

pub(crate) fn write_bytes(write: &Write) -> u64 {
    match write {
        Write::Set(field, value) => (field.len() as u64).saturating_add(value_bytes(value)),
        Write::Delete(field) => field.len() as u64,
    }
}

/// Cuts what a failure says to a bounded size: its texts may come from code, a host or a model.
pub(crate) fn bounded(mut failure: Failure) -> Failure {
    if failure.message.len() > MESSAGE_BYTES {
        let end = failure.message.floor_char_boundary(MESSAGE_BYTES);
        failure.message.truncate(end);
        failure.message.push('…');
    }
    if value_bytes(&failure.details) > DETAILS_BYTES as u64 {
        failure.details = Value::Null;
    }
    failure
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::budget::RunBudget;

    #[test]
    fn the_sum_of_a_run_is_bounded_and_a_refusal_is_not_counted() {
        let limits = RunLimits { state_bytes: 10, result_bytes: 20, log_bytes: 5, ..RunLimits::default() };
        let spending = Spending::new(RunBudget::default(), Duration::ZERO);
        let state = |bytes| Volume { state: bytes, ..Volume::default() };
        spending.keep(&limits, state(6)).unwrap();
        let failure = spending.keep(&limits, state(5)).unwrap_err();
        assert_eq!((failure.code, failure.kind), (codes::RUN_TOO_LARGE, FailureKind::Budget));
        spending.keep(&limits, state(4)).unwrap();
        assert!(spending.keep(&limits, Volume { logs: 6, ..Volume::default() }).is_err());
        assert!(spending.keep(&limits, Volume { results: 21, ..Volume::default() }).is_err());
    }

    #[test]
    fn sizes_are_about_those_in_json() {
        let value = stave_canon::parse(r#"{"a": [1, 22, "drei", null, true], "b": {"c": 1.5}}"#).unwrap();
        let (bytes, text) = (value_bytes(&value), value.to_string().len() as u64);
        assert!(bytes >= text && bytes < text + 20, "{bytes} {text}");
    }

    #[test]
    fn failures_are_cut() {
        let failure = Failure::new(codes::CODE_FAILED, FailureKind::Code, "é".repeat(MESSAGE_BYTES));
        let cut = bounded(failure.details("x".repeat(DETAILS_BYTES + 1)));
        assert!(cut.message.len() <= MESSAGE_BYTES + 3 && cut.details.is_null());
    }
}
