//! The journal of callers that want none: a run lives and dies with its process.

use async_trait::async_trait;
use stave_canon::Timestamp;

use super::{CallRecord, Driver, Ending, Going, Journal, JournalError, NewRun, Pause, StepRecord, StoredRun};
use crate::report::NodeReport;
use crate::state::Commit;

#[derive(Debug, Clone, Copy, Default)]
pub struct Ephemeral;

#[async_trait]
impl Journal for Ephemeral {
    fn is_durable(&self) -> bool {
        false
    }

    async fn begin(&self, _: &NewRun) -> Result<Driver, JournalError> {
        Ok(Driver::unkept())
    }

    async fn start(&self, _: &str, _: Timestamp) -> Result<(), JournalError> {
        Ok(())
    }

    async fn claim(&self, run: &str, _: Timestamp) -> Result<(StoredRun, Driver), JournalError> {
        Err(JournalError::UnknownRun(run.to_owned()))
    }

    async fn record(&self, _: &str, _: &StepRecord, _: Option<Commit>) -> Result<Going, JournalError> {
        Ok(Going::On)
    }

    async fn record_call(&self, _: &str, _: &CallRecord, _: Option<Commit>) -> Result<(), JournalError> {
        Ok(())
    }

    async fn suspend(&self, _: &str, _: Pause<'_>) -> Result<bool, JournalError> {
        Ok(false)
    }

    async fn end(&self, _: &str, _: &Ending, _: &[NodeReport], _: Timestamp) -> Result<bool, JournalError> {
        Ok(true)
    }

    async fn is_cancelled(&self, _: &str) -> Result<bool, JournalError> {
        Ok(false)
    }
}
