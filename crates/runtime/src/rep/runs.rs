//! The runs that this process knows, and what a poll reports of each.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stave_canon::{Clock, Object, Timestamp, Value};
use tokio::sync::watch;

use super::fault::Fault;
use crate::journal::StepRecord;
use crate::observer::{RunEvent, RunObserver};
use crate::report::{NodeReport, RunReport, Status as NodeStatus};
use stave_engine::FailureKind;

/// How many runs may be in progress at once.
const MAX_GOING_ON: usize = 64;

/// How many runs that have ended can still be asked about.
const MAX_ENDED: usize = 256;

/// The only words for how a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Pending,
    Running,
    Completed,
    Failed,
}

#[derive(Debug, Default)]
pub(super) struct Runs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<String, Arc<Run>>,
    /// In the order in which they were accepted.
    order: VecDeque<String>,
}

/// One run.
#[derive(Debug)]
pub(super) struct Run {
    id: String,
    clock: Arc<dyn Clock>,
    cancelled: AtomicBool,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    status: Status,
    events: Vec<Value>,
    /// How many of the events a poll has told.
    told: usize,
    /// The steps that have begun and not ended.
    going_on: HashSet<String>,
    summary: Object,
}

impl Runs {
    /// Adds a run. An id is used once, and there is a limit to how many are in progress at a time.
    pub(super) fn add(&self, id: &str, clock: Arc<dyn Clock>) -> Result<Arc<Run>, Fault> {
        let mut known = self.lock();
        if known.by_id.contains_key(id) {
            return Err(Fault::schema(format!("there is a run `{id}` already"), Value::Null));
        }
        let going_on = known.by_id.values().filter(|run| !run.has_ended()).count();
        if going_on >= MAX_GOING_ON {
            return Err(Fault::internal(format!("{MAX_GOING_ON} runs are in progress, which is the limit")));
        }
        let run = Arc::new(Run::new(id, clock));
        known.by_id.insert(id.to_owned(), Arc::clone(&run));
        known.order.push_back(id.to_owned());
        known.forget_oldest();
        Ok(run)
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Run>> {
        self.lock().by_id.get(id).cloned()
    }

    /// How many runs are known, and how many of them are in progress.
    pub(super) fn count(&self) -> (usize, usize) {
        let known = self.lock();
        (known.by_id.len(), known.by_id.values().filter(|run| !run.has_ended()).count())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn forget_oldest(&mut self) {
        while self.by_id.len() > MAX_ENDED + MAX_GOING_ON {
            let has_ended = |id: &String| self.by_id.get(id).is_none_or(|run| run.has_ended());
            let Some(oldest) = self.order.iter().position(has_ended) else { return };
            if let Some(id) = self.order.remove(oldest) {
                self.by_id.remove(&id);
            }
        }
    }
}

impl Run {
    fn new(id: &str, clock: Arc<dyn Clock>) -> Run {
        let state = State {
            status: Status::Pending,
            events: Vec::new(),
            told: 0,
            going_on: HashSet::new(),
            summary: Object::new(),
        };
        Run {
            id: id.to_owned(),
            clock,
            cancelled: AtomicBool::new(false),
            state: Mutex::new(state),
            changed: watch::channel(()).0,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn begin(&self, flow: &str) {
        let now = self.clock.now();
        self.change(|state| {
            state.status = Status::Running;
            state.log(now, "info", format!("run started: {flow}"), None);
        });
    }

    /// The journal has a run of this id already, and keeps this one under another.
    pub(super) fn kept_as(&self, id: &str) {
        let now = self.clock.now();
        let message = format!("there was a run `{}` before; this one is kept as {id}", self.id);
        self.change(|state| state.log(now, "warning", message, None));
    }

    /// Something that whoever started the run should know.
    pub(super) fn warn(&self, message: String) {
        let now = self.clock.now();
        self.change(|state| state.log(now, "warning", message, None));
    }

    /// A step has a result.
    pub(super) fn step(&self, step: &StepRecord) {
        let now = self.clock.now();
        self.change(|state| {
            // The nodes that it called as tools ended before it.
            for report in step.reports.iter().rev() {
                state.ended(now, report);
            }
        });
    }

    pub(super) fn end(&self, report: &RunReport) {
        let now = self.clock.now();
        let count = |status: NodeStatus| {
            let nodes = report.nodes.iter().filter(|node| !node.id.starts_with('_'));
            Value::from(nodes.filter(|node| node.status == status).count())
        };
        self.change(|state| {
            for node in report.nodes.iter().filter(|node| !node.id.starts_with('_')) {
                if let (NodeStatus::Skipped, Some(reason)) = (node.status, &node.reason) {
                    state.log(now, "info", format!("skipped: {reason}"), Some(&node.id));
                }
            }
            let mut summary = Object::new();
            summary.insert("run_id".into(), self.id.as_str().into());
            summary.insert("flow".into(), report.flow.as_str().into());
            summary.insert("completed_steps".into(), count(NodeStatus::Ok));
            summary.insert("failed_steps".into(), count(NodeStatus::Error));
            summary.insert("skipped_steps".into(), count(NodeStatus::Skipped));
            match &report.result {
                Ok(output) => {
                    summary.insert("outputs".into(), output.clone());
                    state.log(now, "info", "run completed".to_owned(), None);
                    state.status = Status::Completed;
                }
                Err(failed) => {
                    let reason = match failed.failure.kind {
                        FailureKind::Cancelled => "cancelled",
                        FailureKind::Waiting => "waiting",
                        FailureKind::Timeout => "timeout",
                        _ => "failed",
                    };
                    summary.insert("reason".into(), reason.into());
                    summary.insert("error".into(), Fault::of_run(failed).to_value());
                    let message = format!("run failed: {}", failed.failure);
                    state.log(now, "error", message, failed.node.as_deref());
                    state.status = Status::Failed;
                }
            }
            summary.insert("duration_ms".into(), (report.duration.as_micros() as f64 / 1000.0).into());
            state.summary = summary;
        });
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The run has ended without a report.
    pub(super) fn fail(&self, fault: &Fault, reason: &str) {
        let now = self.clock.now();
        self.change(|state| {
            let Value::Object(mut summary) = state.progress() else { return };
            summary.insert("run_id".into(), self.id.as_str().into());
            summary.insert("reason".into(), reason.into());
            summary.insert("error".into(), fault.to_value());
            state.summary = summary;
            state.log(now, "error", format!("run failed: {}", fault.message()), None);
            state.status = Status::Failed;
        });
    }

    /// Asks the run to end; `false` when it has ended.
    pub(super) fn cancel(&self) -> bool {
        let goes_on = !self.has_ended();
        if goes_on {
            self.cancelled.store(true, Ordering::Relaxed);
            self.changed.send_replace(());
        }
        goes_on
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn has_ended(&self) -> bool {
        self.lock().status.has_ended()
    }

    /// Wakes up callers that wait for news.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Whether a poll has news that no poll reported before, or the end.
    pub(super) fn has_news(&self) -> bool {
        let state = self.lock();
        state.status.has_ended() || state.told < state.events.len()
    }

    /// The answer to a poll: what is new while the run is in progress, everything once it has ended.
    pub(super) fn tell(&self) -> Value {
        let mut state = self.lock();
        let from = if state.status.has_ended() { 0 } else { state.told };
        let events = state.events.get(from..).unwrap_or_default().to_vec();
        state.told = state.events.len();
        let summary = match state.status.has_ended() {
            true => Value::Object(state.summary.clone()),
            false => state.progress(),
        };
        Value::from_iter([
            ("status", Value::from(state.status.word())),
            ("events", Value::Array(events)),
            ("summary", summary),
        ])
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.send_replace(());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunObserver for Run {
    fn on(&self, event: &RunEvent<'_>) {
        if let RunEvent::NodeStarted { node, .. } = event
            && !node.starts_with('_')
        {
            let now = self.clock.now();
            self.change(|state| state.started(now, node));
        }
    }
}

impl State {
    fn log(&mut self, at: Timestamp, level: &str, message: String, step: Option<&str>) {
        let mut event = self.event("log", at);
        event.insert("level".into(), level.into());
        event.insert("message".into(), message.into());
        if let Some(step) = step {
            event.insert("step_id".into(), step.into());
        }
        self.events.push(Value::Object(event));
    }

    /// A step has begun. It may begin again, because another run changed its state, and is reported once.
    fn started(&mut self, at: Timestamp, step: &str) {
        if !self.going_on.insert(step.to_owned()) {
            return;
        }
        let mut started = self.event("step", at);
        started.insert("step_id".into(), step.into());
        started.insert("state".into(), "started".into());
        self.events.push(Value::Object(started));
    }

    /// A step has ended, and its result is written down.
    fn ended(&mut self, at: Timestamp, report: &NodeReport) {
        self.going_on.remove(&report.id);
        let mut ended = self.event("step", at);
        ended.insert("step_id".into(), report.id.as_str().into());
        let is_ok = report.status == NodeStatus::Ok;
        ended.insert("state".into(), if is_ok { "succeeded" } else { "failed" }.into());
        let metrics = [
            ("duration_ms", Value::from(report.duration.as_micros() as f64 / 1000.0)),
            ("attempts", report.attempts.into()),
        ];
        ended.insert("metrics".into(), Value::from_iter(metrics));
        if let Some(failure) = &report.failure {
            ended.insert("message".into(), failure.to_string().into());
        }
        self.events.push(Value::Object(ended));
    }

    /// What every event has, with its number from 1.
    fn event(&self, kind: &str, at: Timestamp) -> Object {
        let mut event = Object::new();
        event.insert("type".into(), kind.into());
        event.insert("timestamp".into(), at.to_string().into());
        event.insert("sequence".into(), (self.events.len() + 1).into());
        event
    }

    /// How many steps have a result so far.
    fn progress(&self) -> Value {
        let count = |wanted: &str| {
            let states = self.events.iter().filter_map(|event| event.get("state")?.as_str());
            states.filter(|state| *state == wanted).count()
        };
        Value::from_iter([("completed_steps", count("succeeded")), ("failed_steps", count("failed"))])
    }
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Running => "running",
            Status::Completed => "completed",
            Status::Failed => "failed",
        }
    }

    fn has_ended(self) -> bool {
        matches!(self, Status::Completed | Status::Failed)
    }
}
