//! What happens in runs, for those who watch: one log for each run that this process drives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use stave_canon::{Object, Value};
use stave_runtime::journal::{RunStatus, StepRecord};
use tokio::sync::watch;

/// The name of the event that a run waits for a person.
pub(crate) const WAITING: &str = "waiting";

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// `started`, `step`, `waiting` or `ended`.
    pub(crate) name: &'static str,
    pub(crate) data: Value,
}

/// The events of one run, in order.
#[derive(Debug)]
pub(crate) struct RunLog {
    events: Mutex<Vec<Event>>,
    /// How many there are, and whether more can come.
    seen: watch::Sender<Progress>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    pub(crate) events: usize,
    pub(crate) is_closed: bool,
}

/// The logs of the runs that this process drives.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    runs: Mutex<HashMap<String, Arc<RunLog>>>,
}

impl Event {
    pub(crate) fn started(run: &str, flow: &str) -> Event {
        Event { name: "started", data: Value::from_iter([("run_id", run), ("flow", flow)]) }
    }

    /// A step's result, without the values that passed through it.
    pub(crate) fn step(step: &StepRecord) -> Event {
        let mut data = Object::new();
        data.insert("node".into(), step.node.as_str().into());
        data.insert("status".into(), if step.result.outputs.is_ok() { "ok" } else { "error" }.into());
        data.insert("attempts".into(), step.result.attempts.into());
        if let Some(report) = step.reports.first() {
            data.insert("status".into(), report.status.word().into());
            for (mark, is_set) in [("cached", report.cached), ("reused", report.reused)] {
                if is_set {
                    data.insert(mark.into(), true.into());
                }
            }
            if report.reused {
                data.insert("attempts".into(), 0_i64.into());
            }
            data.insert("duration_ms".into(), (report.duration.as_micros() as f64 / 1000.0).into());
            if let Some(reason) = &report.reason {
                data.insert("reason".into(), reason.as_str().into());
            }
        }
        if let Err(failure) = &step.result.outputs {
            data.insert("error".into(), failure.to_error_value(&step.node, step.result.attempts));
        }
        Event { name: "step", data: data.into() }
    }

    pub(crate) fn waiting(run: &str) -> Event {
        Event { name: WAITING, data: Value::from_iter([("run_id", run), ("status", "waiting")]) }
    }

    pub(crate) fn ended(run: &str, status: RunStatus) -> Event {
        Event { name: "ended", data: Value::from_iter([("run_id", run), ("status", status.word())]) }
    }

    /// The event as a browser reads it.
    pub(crate) fn to_text(&self, id: &str) -> String {
        format!("id: {id}\nevent: {}\ndata: {}\n\n", self.name, self.data)
    }
}

impl RunLog {
    fn new() -> Arc<RunLog> {
        Arc::new(RunLog { events: Mutex::default(), seen: watch::Sender::default() })
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Progress> {
        self.seen.subscribe()
    }

    /// The event at a place.
    pub(crate) fn at(&self, place: usize) -> Option<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned()
    }

    fn push(&self, event: Event, is_last: bool) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.push(event);
        let progress = Progress { events: events.len(), is_closed: is_last };
        drop(events);
        self.seen.send_replace(progress);
    }

    fn close(&self) {
        self.seen.send_modify(|progress| progress.is_closed = true);
    }
}

impl Hub {
    /// The log of a run that this process drives.
    pub(crate) fn log(&self, run: &str) -> Option<Arc<RunLog>> {
        self.lock().get(run).cloned()
    }

    /// Opens the log of a run that is about to begin; the one that is open stays.
    pub(crate) fn open(&self, run: &str) -> Arc<RunLog> {
        Arc::clone(self.lock().entry(run.to_owned()).or_insert_with(RunLog::new))
    }

    pub(crate) fn push(&self, run: &str, event: Event) {
        self.open(run).push(event, false);
    }

    /// Adds the last event of a run and forgets it; those who watch keep its log for as long as they do.
    pub(crate) fn end(&self, run: &str, event: Event) {
        self.open(run).push(event, true);
        self.lock().remove(run);
    }

    /// Forgets a run that this process no longer drives.
    pub(crate) fn close(&self, run: &str) {
        if let Some(log) = self.lock().remove(run) {
            log.close();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<RunLog>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a log has more than so many events, or will have no more.
pub(crate) async fn grown(seen: &mut watch::Receiver<Progress>, events: usize) {
    // A log that is gone has no more to say.
    let _ = seen.wait_for(|progress| progress.events > events || progress.is_closed).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_run_is_forgotten_and_its_watchers_are_not() {
        let hub = Hub::default();
        hub.push("r", Event::started("r", "f"));
        let log = hub.log("r").unwrap();
        let seen = log.watch();
        hub.end("r", Event::ended("r", RunStatus::Ok));
        assert!(hub.log("r").is_none());
        assert_eq!(*seen.borrow(), Progress { events: 2, is_closed: true });
        let last = log.at(1).unwrap();
        assert_eq!(last.to_text("1"), "id: 1\nevent: ended\ndata: {\"run_id\":\"r\",\"status\":\"ok\"}\n\n");
        assert_eq!(log.at(2), None);
    }

    #[test]
    fn a_text_in_an_event_can_not_end_it() {
        let event = Event { name: "step", data: Value::from_iter([("reason", "a\n\ndata: b\r\nid: 9")]) };
        assert_eq!(event.to_text("0").matches('\n').count(), 4);
        assert!(!event.to_text("0").contains('\r'));
    }
}
