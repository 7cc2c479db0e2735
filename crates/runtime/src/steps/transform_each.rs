//! `transform.each`: another node, once for every item of a list, some of them at the same time.
//!
//! The result of an item is recorded before the next one follows from it, so a run that is taken up
//! again pays for no item twice, and neither does one that replays a run whose step failed. With an output `errors` a failed item does not fail the others. An item that
//! waits for a person puts the node off once all others are done.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;

use super::{Step, StepOutput, bad_argument, list_argument, literal_text, optional_argument};
use crate::journal::JournalError;
use crate::journal::items::REUSED;
use crate::plan::PlannedNode;
use crate::report::Status;
use crate::run::Call;
use crate::state::StateError;
use crate::task::STATE_CONFLICTS;
use crate::volume::{commit_bytes, with_state_bytes};
use crate::{Failure, failure::FailureKind};

/// How many items are worked on at once when the node does not say.
const PARALLEL: usize = 4;

const RESULTS: &str = "results";
const ERRORS: &str = "errors";

#[derive(Debug)]
pub(super) struct Each;

#[async_trait]
impl Step for Each {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let items = list_argument(call, "input")?;
        let collects = call.node.outputs.iter().any(|port| port.name() == ERRORS);
        let target = Target::find(call, collects)?;
        let parallel = match optional_argument(call, &call.scope(), "parallel")? {
            None => PARALLEL,
            Some(value) => value
                .as_i64()
                .and_then(|count| usize::try_from(count).ok())
                .filter(|count| *count > 0)
                .ok_or_else(|| bad_argument("parallel", "a whole number from 1 on"))?,
        };
        let items = Items::run(call, &target, items, parallel, collects).await;
        let reused = target.reused.load(Ordering::Relaxed);
        call.run.report(call.index, |report| report.reused_items = reused);
        let items = items?;
        let (mut results, mut errors, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        let mut first = None;
        for (index, item) in items.into_iter().enumerate() {
            match item {
                Ok(value) => results.push(value),
                Err((failure, mut error)) => {
                    if let Some(error) = error.as_object_mut() {
                        error.shift_insert(0, "index".into(), index.into());
                    }
                    first.get_or_insert(failure);
                    failed.push(index.to_string());
                    errors.push(error);
                }
            }
        }
        if !failed.is_empty() {
            let all = results.len() + failed.len();
            let reason = format!("{} of {all} items failed: {}", failed.len(), failed.join(", "));
            call.run.report(call.index, |report| report.reason = Some(reason));
        }
        // The node's report says the same whichever item ended last.
        call.run.report(target.index, |report| {
            if report.status != Status::Waiting {
                report.status = if first.is_some() { Status::Error } else { Status::Ok };
            }
            report.failure = first;
        });
        let mut ports = Object::new();
        ports.insert(RESULTS.into(), results.into());
        ports.insert(ERRORS.into(), errors.into());
        Ok(match call.node.outputs.as_slice() {
            [sole] if sole.name() != RESULTS && sole.name() != ERRORS => {
                StepOutput::Whole(Value::Object(ports))
            }
            _ => {
                ports.retain(|name, _| call.node.outputs.iter().any(|port| port.name() == name));
                StepOutput::Ports(ports)
            }
        })
    }
}

/// The items of one execution, as far as they have come.
struct Items {
    done: Vec<Option<Item>>,
    at_work: BTreeSet<usize>,
    /// The first item in the list that failed, when that fails the node.
    failed: Option<usize>,
    /// Why the node is put off: an item waits for a person.
    waits: Option<Failure>,
    /// Why no further item begins: a rule, the budget, or the end of the run.
    ended: Option<Failure>,
}

impl Items {
    /// Runs the node for every item. Once an item fails the node or forbids the rest, no further one begins;
    /// items at work with effects finish. An item that waits for a person keeps no other from
    /// being done, so all questions are asked at once.
    async fn run(
        call: &Call<'_>,
        target: &Target<'_>,
        items: Vec<Value>,
        parallel: usize,
        collects: bool,
    ) -> Result<Vec<Item>, Failure> {
        let mut state = Items {
            done: items.iter().map(|_| None).collect(),
            at_work: BTreeSet::new(),
            failed: None,
            waits: None,
            ended: None,
        };
        // Numbers are given in the order of the list, whatever the timing.
        let numbered: Vec<(u32, Value)> = items.into_iter().map(|item| (call.next_number(), item)).collect();
        let mut left = numbered.into_iter().enumerate();
        let mut at_work = FuturesUnordered::new();
        loop {
            while state.may_begin(call) && at_work.len() < parallel {
                let Some((index, (number, item))) = left.next() else { break };
                state.at_work.insert(index);
                at_work.push(async move { (index, target.run(call, number, item).await) });
            }
            // What the budget covers is done; only what it does not cover is not.
            if state.is_settled() && !target.node.effects && !state.is_out_of_budget() {
                break;
            }
            let Some((index, result)) = at_work.next().await else { break };
            state.take(index, result, collects);
        }
        drop(at_work);
        state.outcome()
    }

    fn may_begin(&mut self, call: &Call<'_>) -> bool {
        if let (None, Err(halted)) = (&self.ended, call.run.halted()) {
            self.ended = Some(halted);
        }
        self.ended.is_none() && self.failed.is_none()
    }

    /// Whether nothing that is still at work can change the node's failure: results do not depend on timing.
    fn is_settled(&self) -> bool {
        let first = self.at_work.first();
        self.ended.is_some()
            || self.failed.is_some_and(|failed| first.is_none_or(|at_work| *at_work > failed))
    }

    fn is_out_of_budget(&self) -> bool {
        self.ended.as_ref().is_some_and(|failure| failure.kind == FailureKind::Budget)
    }

    fn take(&mut self, index: usize, result: Result<Item, Failure>, collects: bool) {
        self.at_work.remove(&index);
        match result {
            Err(failure) if failure.kind == FailureKind::Waiting => {
                self.waits.get_or_insert(failure);
            }
            Err(failure) => {
                self.ended.get_or_insert(failure);
            }
            Ok(item) => {
                if item.is_err() && !collects {
                    self.failed = Some(self.failed.map_or(index, |failed| failed.min(index)));
                }
                if let Some(slot) = self.done.get_mut(index) {
                    *slot = Some(item);
                }
            }
        }
    }

    fn outcome(self) -> Result<Vec<Item>, Failure> {
        if let Some(failure) = self.ended {
            return Err(failure);
        }
        let mut done = self.done;
        if let Some(index) = self.failed
            && let Some(Some(Err((mut failure, _)))) = done.get_mut(index).map(Option::take)
        {
            failure.message = format!("item {index}: {}", failure.message);
            return Err(failure);
        }
        match self.waits {
            Some(failure) => Err(failure),
            None => Ok(done.into_iter().flatten().collect()),
        }
    }
}

/// The node that is run, and the input that takes the item.
struct Target<'c> {
    index: usize,
    node: &'c PlannedNode,
    port: String,
    /// What edges bring to its other inputs.
    fed: Object,
    /// Whether the list collects the failures of its items.
    collects: bool,
    /// How many items were done in the run that this one replays.
    reused: AtomicU32,
}

/// The result of an item: its value, or its failure and the report of the failure.
type Item = Result<Value, (Failure, Value)>;

impl<'c> Target<'c> {
    fn find(call: &Call<'c>, collects: bool) -> Result<Target<'c>, Failure> {
        let id = literal_text(call, "node")?;
        let plan = call.run.plan;
        let found = plan.index(id).and_then(|index| Some((index, plan.nodes.get(index)?)));
        let (index, node) = found.ok_or_else(|| bad_argument("node", "the id of a node"))?;
        let fed = call.tool_inputs.iter().find(|(fed, _)| *fed == index);
        let fed = fed.map(|(_, inputs)| inputs.clone()).unwrap_or_default();
        let port = match call.with.get("port") {
            Some(Value::String(port)) => port.clone(),
            Some(_) => return Err(bad_argument("port", "the name of an input")),
            None => {
                let unfed = |name: &str| plan.graph.feeders(node, Some(name)).next().is_none();
                let mut free =
                    node.inputs.iter().map(crate::port::CheckedPort::name).filter(|name| unfed(name));
                match (free.next(), free.next()) {
                    (Some(only), None) => only.to_owned(),
                    _ => return Err(bad_argument("port", "given, since the node has no one unfed input")),
                }
            }
        };
        Ok(Target { index, node, port, fed, collects, reused: AtomicU32::new(0) })
    }

    fn is_final(&self, failure: &Failure) -> bool {
        if self.collects { self.node.is_final_for_list(failure) } else { self.node.is_final(failure) }
    }

    /// Runs the node for one item, unless the journal has its result. What a rule or the budget
    /// forbids is not an item's failure but the node's, except the denial of a prompt where failures are collected.
    async fn run(&self, call: &Call<'_>, number: u32, item: Value) -> Result<Item, Failure> {
        let mut inputs = self.fed.clone();
        inputs.insert(self.port.clone(), item);
        let fingerprint = stave_canon::sha256_hex(Value::Object(inputs.clone()).to_string());
        if let Some(answer) = call.answered(number, &fingerprint) {
            if let Some(value) = answer.get("value") {
                if answer.get(REUSED).and_then(Value::as_bool).unwrap_or_default() {
                    self.reused.fetch_add(1, Ordering::Relaxed);
                }
                return Ok(Ok(value.clone()));
            }
            if let Some(error) = answer.get("error") {
                return Ok(Err((Failure::of_error_value(error), error.clone())));
            }
        }
        let path = format!("{}/{number}:{}", call.path, self.node.id);
        for _ in 0..STATE_CONFLICTS {
            let mut outcome = call.run.execute(self.index, self.node, &inputs, &[], &path, call.span).await;
            let attempts = outcome.attempts;
            let item = match outcome.outputs {
                Ok(outputs) => Ok(whole(outputs)),
                Err(failure) if failure.is_pause() || self.is_final(&failure) => return Err(failure),
                Err(failure) => {
                    let error = failure.to_error_value(&self.node.id, attempts);
                    Err((failure, error))
                }
            };
            let state_bytes = outcome.commit.as_ref().map_or(0, commit_bytes);
            let commit = match call.run.commit_apart(outcome.commit.take()).await {
                Ok(commit) => commit,
                Err(StateError::Conflict) => continue,
                Err(error) => {
                    return Err(Failure::new(codes::STATE_FAILED, FailureKind::Upstream, error.to_string()));
                }
            };
            let answer = match &item {
                Ok(value) => Value::from_iter([("value", value.clone())]),
                Err((_, error)) => Value::from_iter([("error", error.clone())]),
            };
            let answer = with_state_bytes(answer, state_bytes);
            match call.write_answer(number, fingerprint.clone(), answer, commit).await {
                Ok(()) => return Ok(item),
                Err(JournalError::StateConflict) => {}
                Err(error) => return Err(call.run.stop_unwritten(error)),
            }
        }
        let message = "other runs changed the state again and again";
        Err(Failure::new(codes::STATE_FAILED, FailureKind::Upstream, message))
    }
}

/// The value of a sole output, or all outputs by name.
fn whole(outputs: Object) -> Value {
    let mut values = outputs.values();
    match (values.next(), values.next()) {
        (Some(sole), None) => sole.clone(),
        _ => Value::Object(outputs),
    }
}
