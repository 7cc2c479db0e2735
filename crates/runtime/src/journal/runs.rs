//! The runs that are kept, for those who look at them and decide about them.

use async_trait::async_trait;
use stave_canon::Timestamp;

use super::{Decision, JournalError, RunStatus, RunSummary, StoredRun};

/// Which runs a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    pub flow: Option<String>,
    pub status: Option<RunStatus>,
    /// The first ones of the order; `None` gives all.
    pub limit: Option<usize>,
    /// The oldest first instead of the newest.
    pub oldest_first: bool,
    /// With the oldest first: only what comes after this run.
    pub after: Option<(Timestamp, String)>,
}

/// What became of runs whose process died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// These can be resumed.
    pub interrupted: usize,
    /// These must not be resumed without a person.
    pub quarantined: usize,
}

/// Where the runs of one project are kept, whichever engine drives them.
#[async_trait]
pub trait Runs: Send + Sync + std::fmt::Debug {
    /// The runs that fit, in the order that the filter says.
    async fn list(&self, filter: RunFilter) -> Result<Vec<RunSummary>, JournalError>;

    /// Everything that is known of a run.
    async fn show(&self, run: &str) -> Result<StoredRun, JournalError>;

    /// The one run whose id begins with these letters.
    async fn find(&self, beginning: &str) -> Result<String, JournalError>;

    /// Ends a run that nobody works on, or asks whoever does to end it.
    async fn cancel(&self, run: &str, at: Timestamp) -> Result<RunStatus, JournalError>;

    /// Writes a person's decision about the question of an execution, which is named by its path. The first one
    /// about a question stands. Nothing is decided that was not asked.
    async fn decide(&self, run: &str, path: &str, decision: Decision) -> Result<Decision, JournalError>;

    /// Finds runs whose process died, and marks them as interrupted or quarantined.
    async fn recover(&self) -> Result<Recovered, JournalError> {
        Ok(Recovered::default())
    }

    /// Lets a quarantined run be resumed.
    async fn unquarantine(&self, _run: &str) -> Result<(), JournalError> {
        Ok(())
    }

    /// Why nothing can be written down at the moment; `None` while it can be.
    fn fault(&self) -> Option<String> {
        None
    }
}
