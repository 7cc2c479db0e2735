//! Who may drive a run, and who may write to it.
//!
//! Invariants: a run has at most one driver, in all processes that use the file. A claim is refused while the owner is
//! alive, and an owner whose lock file is missing counts as dead only after it had time to put the file back. Every
//! write of a driver is refused once another claim is there.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use stave_canon::Timestamp;

use super::read_runs::{nanoseconds, stored};
use super::sqlite::SqliteJournal;
use super::{Driver, JournalError, RunStatus, StoredRun};
use crate::database::{GRACE, Liveness, Ownership};

/// How often a missing lock file is looked for.
const LOOK: Duration = Duration::from_millis(250);

/// What the database says about who drives a run.
pub(super) struct Holder {
    pub(super) status: String,
    pub(super) owner: String,
    claimed_at: i64,
    used: i64,
    crashes: i64,
    progress: i64,
}

/// What follows from the death of a driver.
pub(super) struct Aftermath {
    pub(super) used: i64,
    pub(super) crashes: i64,
}

impl Holder {
    pub(super) fn of(connection: &Connection, run: &str) -> Result<Holder, JournalError> {
        let holder = connection
            .prepare_cached(
                "SELECT status, owner, claimed_at, used, crashes, progress FROM run WHERE id = ?1",
            )?
            .query_row(params![run], |row| {
                Ok(Holder {
                    status: row.get(0)?,
                    owner: row.get(1)?,
                    claimed_at: row.get(2)?,
                    used: row.get(3)?,
                    crashes: row.get(4)?,
                    progress: row.get(5)?,
                })
            })
            .optional()?;
        holder.ok_or_else(|| JournalError::UnknownRun(run.to_owned()))
    }

    /// Whether some process said that it drives the run or is about to.
    pub(super) fn is_held(&self) -> bool {
        matches!(self.status.as_str(), "running" | "queued")
    }

    /// What follows from the death of the driver. A driver that finished a step since it claimed the run was not
    /// stopped by the steps before, so counting begins anew.
    pub(super) fn aftermath(
        &self,
        connection: &Connection,
        run: &str,
        ownership: &Ownership,
    ) -> Result<Aftermath, JournalError> {
        let died = ownership.lease().last_seen(&self.owner).map_or(self.claimed_at, nanoseconds);
        // What waited for its turn did not take anything down.
        if self.status != "running" {
            return Ok(Aftermath { used: self.used, crashes: self.crashes });
        }
        let has_progress = progress(connection, run)? > self.progress;
        Ok(Aftermath {
            used: self.used.saturating_add(died.saturating_sub(self.claimed_at).max(0)),
            crashes: if has_progress { 1 } else { self.crashes.saturating_add(1) },
        })
    }
}

/// How much of a run is done: its steps, and the calls of a step in progress.
fn progress(connection: &Connection, run: &str) -> Result<i64, JournalError> {
    Ok(connection
        .prepare_cached(
            "SELECT (SELECT count(*) FROM step WHERE run = ?1) * 1000000 + (SELECT count(*) FROM call WHERE run = ?1)",
        )?
        .query_row(params![run], |row| row.get(0))?)
}

impl SqliteJournal {
    /// Reserves a run for one driver of this process.
    pub(super) fn reserve(&self, run: &str) -> Result<Driver, JournalError> {
        self.database.lease().hold()?;
        self.database.reserve(run).ok_or_else(|| JournalError::Busy(run.to_owned()))
    }

    pub(super) async fn take(&self, run: &str, at: Timestamp) -> Result<(StoredRun, Driver), JournalError> {
        let mut driver = self.reserve(run)?;
        if let Err(error) = self.wait_for_owner(run).await {
            driver.settle();
            return Err(error);
        }
        let (id, ownership) = (run.to_owned(), self.database.ownership());
        match self.database.write(move |connection| take(connection, &id, &ownership, at)).await {
            Ok((stored, claim, was_waiting)) => {
                driver.claimed(claim, was_waiting);
                Ok((stored, driver))
            }
            Err(error) => {
                // A commit that failed may be on disk all the same; every other error says that nothing was written.
                if !matches!(error, JournalError::Database(_)) {
                    driver.settle();
                }
                Err(error)
            }
        }
    }

    /// Gives the owner of a run time to put its lock file back, when the file is missing.
    pub(super) async fn wait_for_owner(&self, run: &str) -> Result<(), JournalError> {
        let id = run.to_owned();
        let holder = self.database.read(move |connection| Holder::of(connection, &id)).await?;
        if holder.is_held() {
            self.wait_for_lock_file(&holder.owner).await;
        }
        Ok(())
    }

    pub(super) async fn wait_for_lock_file(&self, owner: &str) {
        let mut waited = Duration::ZERO;
        while waited < GRACE && self.database.lease().liveness(owner) == Liveness::Missing {
            tokio::time::sleep(LOOK).await;
            waited += LOOK;
        }
    }

    /// The owner and claim that this process writes to a run by.
    pub(super) fn fence(&self, run: &str) -> Fence {
        Fence {
            owner: self.database.lease().owner().to_owned(),
            claim: self.database.driving().claim_of(run).unwrap_or_default(),
        }
    }
}

/// Who writes.
#[derive(Debug, Clone)]
pub(super) struct Fence {
    owner: String,
    claim: i64,
}

impl Fence {
    /// Whether someone wants the run to end; an error when another driver has it.
    pub(super) fn pass(&self, connection: &Connection, run: &str) -> Result<bool, JournalError> {
        let row: Option<(bool, bool)> = connection
            .prepare_cached("SELECT cancel_requested, owner = ?2 AND claims = ?3 FROM run WHERE id = ?1")?
            .query_row(params![run, self.owner, self.claim], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match row {
            None => Err(JournalError::UnknownRun(run.to_owned())),
            Some((_, false)) => Err(JournalError::Lost(run.to_owned())),
            Some((is_cancelled, true)) => Ok(is_cancelled),
        }
    }
}

/// Claims a run that the caller has reserved. Gives what is known of it, the number of the claim, and whether the run
/// waited for a person.
fn take(
    connection: &Connection,
    run: &str,
    ownership: &Ownership,
    at: Timestamp,
) -> Result<(StoredRun, i64, bool), JournalError> {
    let holder = Holder::of(connection, run)?;
    let status = RunStatus::from_word(&holder.status)
        .ok_or_else(|| JournalError::Damaged(format!("a run has the status {:?}", holder.status)))?;
    if status.is_terminal() {
        return Err(JournalError::Ended { run: run.to_owned(), status });
    }
    if status == RunStatus::Quarantined {
        return Err(JournalError::Quarantined(run.to_owned()));
    }
    let owner = ownership.lease().owner();
    let mut after = Aftermath { used: holder.used, crashes: holder.crashes };
    // A run that this process owns is reserved for the caller, so nobody else drives it.
    if holder.is_held() && holder.owner != owner {
        if ownership.lease().liveness(&holder.owner) == Liveness::Alive {
            return Err(JournalError::Busy(run.to_owned()));
        }
        after = holder.aftermath(connection, run, ownership)?;
    }
    connection
        .prepare_cached(
            "UPDATE run SET owner = ?2, status = 'running', claims = claims + 1, claimed_at = ?3, used = ?4,
                 crashes = ?5, progress = ?6 WHERE id = ?1",
        )?
        .execute(params![
            run,
            owner,
            nanoseconds(at),
            after.used,
            after.crashes,
            progress(connection, run)?
        ])?;
    let claim = connection
        .prepare_cached("SELECT claims FROM run WHERE id = ?1")?
        .query_row(params![run], |row| row.get(0))?;
    Ok((stored(connection, run, ownership)?, claim, status == RunStatus::Waiting))
}
