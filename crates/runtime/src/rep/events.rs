//! The journal of a run, seen by those who poll it: each result becomes events once it is written down.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use stave_canon::Timestamp;

use super::runs::Run;
use crate::journal::{
    CallRecord, Driver, Ending, Going, Journal, JournalError, NewRun, Pause, StepRecord, StoredRun,
};
use crate::report::NodeReport;
use crate::state::Commit;

#[derive(Debug)]
pub(super) struct Observed {
    inner: Arc<dyn Journal>,
    run: Arc<Run>,
}

impl Observed {
    pub(super) fn new(inner: Arc<dyn Journal>, run: Arc<Run>) -> Observed {
        Observed { inner, run }
    }
}

#[async_trait]
impl Journal for Observed {
    fn file(&self) -> Option<&Path> {
        self.inner.file()
    }

    /// Every result passes through here, whether or not it is kept.
    fn is_durable(&self) -> bool {
        true
    }

    async fn begin(&self, run: &NewRun) -> Result<Driver, JournalError> {
        self.inner.begin(run).await
    }

    async fn start(&self, run: &str, at: Timestamp) -> Result<(), JournalError> {
        self.inner.start(run, at).await
    }

    async fn claim(&self, run: &str, at: Timestamp) -> Result<(StoredRun, Driver), JournalError> {
        self.inner.claim(run, at).await
    }

    async fn record(
        &self,
        run: &str,
        step: &StepRecord,
        state: Option<Commit>,
    ) -> Result<Going, JournalError> {
        let going = self.inner.record(run, step, state).await?;
        self.run.step(step);
        Ok(if self.run.is_cancelled() { Going::Cancelled } else { going })
    }

    async fn record_call(
        &self,
        run: &str,
        call: &CallRecord,
        state: Option<Commit>,
    ) -> Result<(), JournalError> {
        self.inner.record_call(run, call, state).await
    }

    async fn suspend(&self, run: &str, pause: Pause<'_>) -> Result<bool, JournalError> {
        self.inner.suspend(run, pause).await
    }

    async fn end(
        &self,
        run: &str,
        ending: &Ending,
        idle: &[NodeReport],
        at: Timestamp,
    ) -> Result<bool, JournalError> {
        self.inner.end(run, ending, idle, at).await
    }

    async fn is_cancelled(&self, run: &str) -> Result<bool, JournalError> {
        Ok(self.run.is_cancelled() || self.inner.is_cancelled(run).await?)
    }
}
