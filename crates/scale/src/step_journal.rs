//! The journal as one step sees it: the answers to the calls that it makes on its way.
//!
//! Everything else about a run is in the journal that Restate writes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use stave_canon::{Timestamp, Value};
use stave_runtime::NodeReport;
use stave_runtime::journal::{
    CallRecord, Driver, Ending, Going, Journal, JournalError, NewRun, Pause, StepRecord, StoredRun, codec,
};
use stave_runtime::state::Commit;

use crate::client::RestateClient;
use crate::error::ScaleError;
use crate::keys::{CALLS, ProjectKey};

#[derive(Debug)]
pub(crate) struct StepJournal {
    client: Arc<RestateClient>,
    project: ProjectKey,
    /// The steps that have written an answer, by run and node.
    written: Mutex<HashSet<(String, String)>>,
}

impl StepJournal {
    pub(crate) fn new(client: Arc<RestateClient>, project: ProjectKey) -> StepJournal {
        StepJournal { client, project, written: Mutex::default() }
    }

    /// The answers that an earlier attempt of a step has left.
    pub(crate) async fn answers(&self, run: &str, node: &str) -> Result<Vec<CallRecord>, ScaleError> {
        let found = self.client.read(CALLS, &self.project.calls(run, node), "all").await?;
        let answers = found.as_array().unwrap_or_default().iter().filter_map(Value::as_str);
        let answers = answers.map(codec::decode_call);
        answers.collect::<Result<_, _>>().map_err(|error| ScaleError::Damaged(error.to_string()))
    }

    /// Whether a step has left answers, which are of no use once it is done.
    pub(crate) fn has_written(&self, run: &str, node: &str) -> bool {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.remove(&(run.to_owned(), node.to_owned()))
    }
}

#[async_trait]
impl Journal for StepJournal {
    fn is_durable(&self) -> bool {
        true
    }

    async fn begin(&self, run: &NewRun) -> Result<Driver, JournalError> {
        Err(not_here(&run.id))
    }

    async fn start(&self, run: &str, _: Timestamp) -> Result<(), JournalError> {
        Err(not_here(run))
    }

    async fn claim(&self, run: &str, _: Timestamp) -> Result<(StoredRun, Driver), JournalError> {
        Err(not_here(run))
    }

    async fn record(&self, run: &str, _: &StepRecord, _: Option<Commit>) -> Result<Going, JournalError> {
        Err(not_here(run))
    }

    async fn record_call(
        &self,
        run: &str,
        call: &CallRecord,
        state: Option<Commit>,
    ) -> Result<(), JournalError> {
        // State that could be written together with the journal lives in the journal's own file; here is none.
        if state.is_some() {
            return Err(not_here(run));
        }
        let node = call.node.split('/').next().unwrap_or_default();
        let written = (run.to_owned(), node.to_owned());
        self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(written);
        let asked = Value::from(codec::encode_call(call));
        self.client.call(CALLS, &self.project.calls(run, node), "put", &asked).await?;
        Ok(())
    }

    async fn suspend(&self, run: &str, _: Pause<'_>) -> Result<bool, JournalError> {
        Err(not_here(run))
    }

    async fn end(&self, run: &str, _: &Ending, _: &[NodeReport], _: Timestamp) -> Result<bool, JournalError> {
        Err(not_here(run))
    }

    async fn is_cancelled(&self, _: &str) -> Result<bool, JournalError> {
        Ok(false)
    }
}

fn not_here(run: &str) -> JournalError {
    JournalError::Damaged(format!("run `{run}` is kept by Restate, not by its step"))
}
