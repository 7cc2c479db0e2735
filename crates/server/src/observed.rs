//! A journal that reports to subscribers what was written to it, once it is durable.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use stave_canon::Timestamp;
use stave_runtime::NodeReport;
use stave_runtime::journal::{
    CallRecord, Driver, Ending, Going, Journal, JournalError, NewRun, Pause, SqliteJournal, StepRecord,
    StoredRun,
};
use stave_runtime::state::Commit;

use crate::events::{Event, Hub};

/// Those who watch the runs of one project.
#[derive(Debug, Clone)]
pub struct Watched(Arc<Hub>);

#[derive(Debug)]
struct Observed {
    journal: SqliteJournal,
    hub: Arc<Hub>,
}

impl Watched {
    pub(crate) fn new(hub: Arc<Hub>) -> Watched {
        Watched(hub)
    }

    /// The journal, with everything that is written to it told to those who watch.
    #[must_use]
    pub fn journal(self, journal: SqliteJournal) -> Arc<dyn Journal> {
        Arc::new(Observed { journal, hub: self.0 })
    }
}

#[async_trait]
impl Journal for Observed {
    fn file(&self) -> Option<&Path> {
        self.journal.file()
    }

    fn is_durable(&self) -> bool {
        self.journal.is_durable()
    }

    async fn begin(&self, run: &NewRun) -> Result<Driver, JournalError> {
        let driver = self.journal.begin(run).await?;
        self.hub.push(&run.id, Event::started(&run.id, &run.document.flow.name));
        Ok(driver)
    }

    async fn start(&self, run: &str, at: Timestamp) -> Result<(), JournalError> {
        self.journal.start(run, at).await
    }

    async fn claim(&self, run: &str, at: Timestamp) -> Result<(StoredRun, Driver), JournalError> {
        let (stored, driver) = self.journal.claim(run, at).await?;
        for event in past(&stored) {
            self.hub.push(run, event);
        }
        Ok((stored, driver))
    }

    async fn record(
        &self,
        run: &str,
        step: &StepRecord,
        state: Option<Commit>,
    ) -> Result<Going, JournalError> {
        let going = self.journal.record(run, step, state).await?;
        self.hub.push(run, Event::step(step));
        Ok(going)
    }

    async fn record_call(
        &self,
        run: &str,
        call: &CallRecord,
        state: Option<Commit>,
    ) -> Result<(), JournalError> {
        self.journal.record_call(run, call, state).await
    }

    async fn suspend(&self, run: &str, pause: Pause<'_>) -> Result<bool, JournalError> {
        let is_decided = self.journal.suspend(run, pause).await?;
        // A run that was decided in the meantime continues at once.
        if !is_decided {
            self.hub.end(run, Event::waiting(run));
        }
        Ok(is_decided)
    }

    async fn end(
        &self,
        run: &str,
        ending: &Ending,
        idle: &[NodeReport],
        at: Timestamp,
    ) -> Result<bool, JournalError> {
        let is_first = self.journal.end(run, ending, idle, at).await?;
        self.hub.end(run, Event::ended(run, ending.status()));
        Ok(is_first)
    }

    async fn is_cancelled(&self, run: &str) -> Result<bool, JournalError> {
        self.journal.is_cancelled(run).await
    }
}

/// What has happened in a run so far, except for its status.
pub(crate) fn past(stored: &StoredRun) -> impl Iterator<Item = Event> {
    let started = Event::started(&stored.summary.id, &stored.summary.flow);
    std::iter::once(started).chain(stored.steps.iter().map(Event::step))
}
