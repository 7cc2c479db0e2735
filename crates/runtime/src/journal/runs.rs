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
    /// Only what comes after this run in the order: its start and its id.
    pub after: Option<(Timestamp, String)>,
}

impl RunFilter {
    /// The place that a [cursor](RunSummary::cursor) names; `None` when it is not a cursor.
    #[must_use]
    pub fn place_of(cursor: &str) -> Option<(Timestamp, String)> {
        let (at, id) = cursor.split_once('.')?;
        let at = Timestamp::from_nanosecond(at.parse().ok()?).ok()?;
        Some((at, id.to_owned())).filter(|(_, id)| !id.is_empty())
    }
}

impl RunSummary {
    /// The place of the run in the order of a list, as clients send it back to read on after the run.
    #[must_use]
    pub fn cursor(&self) -> String {
        format!("{}.{}", self.started_at.as_nanosecond(), self.id)
    }
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

    /// Ends a run that nobody works on, or asks its driver to end it.
    async fn cancel(&self, run: &str, at: Timestamp) -> Result<RunStatus, JournalError>;

    /// Writes a person's decision about the question of an execution, which is named by its path. The first one
    /// about a question is final. Nothing is decided that was not asked.
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
