//! What becomes of runs whose process died.
//!
//! A process that ends in order gives its runs back, so a run that is still marked as running or queued and whose owner
//! is dead was in flight when its process died. Which run took the process down is unknown. So the first crash makes
//! every run that was in flight a suspect. The server resumes suspects of one crash in small groups and suspects of two
//! crashes one at a time. A run is quarantined when its driver died twice in a row and the run was in flight alone, or
//! three times in a row, each time before a step of the run finished. A finished step, or a process that ends in
//! order, clears the suspicion. A run whose work panics is quarantined at once, by its driver
//! (`database/driving.rs`). So a server that is killed resumes its runs, and a run that takes the process down does
//! so at most three times.

use rusqlite::{Connection, params};

use super::claims::Holder;
use super::sqlite::SqliteJournal;
use super::{JournalError, Recovered, RunStatus};
use crate::database::{Liveness, Ownership};

/// How many crashes in a row quarantine a run that was in flight alone.
const CRASHES_ALONE: i64 = 2;
/// The same for a run that was in flight with others.
const CRASHES: i64 = 3;

impl SqliteJournal {
    pub(super) async fn recover_dead(&self) -> Result<Recovered, JournalError> {
        let owners = self.database.read(owners).await?;
        self.database.lease().sweep(&owners);
        let mut dead = Vec::new();
        for owner in owners {
            self.wait_for_lock_file(&owner).await;
            if self.database.lease().liveness(&owner) != Liveness::Alive {
                dead.push(owner);
            }
        }
        if dead.is_empty() {
            return Ok(Recovered::default());
        }
        let (ownership, names) = (self.database.ownership(), dead.clone());
        let recovered =
            self.database.write(move |connection| recover(connection, &names, &ownership)).await?;
        for owner in &dead {
            self.database.lease().forget(owner);
        }
        Ok(recovered)
    }

    pub(super) async fn end_quarantine(&self, run: &str) -> Result<(), JournalError> {
        let run = run.to_owned();
        self.database
            .write(move |connection| {
                Holder::of(connection, &run)?;
                connection
                    .prepare_cached(
                        "UPDATE run SET status = 'interrupted', crashes = 0 WHERE id = ?1 AND status = 'quarantined'",
                    )?
                    .execute(params![run])?;
                Ok(())
            })
            .await
    }
}

/// The owners of runs that are in flight.
fn owners(connection: &Connection) -> Result<Vec<String>, JournalError> {
    let mut statement =
        connection.prepare_cached("SELECT DISTINCT owner FROM run WHERE status IN ('running', 'queued')")?;
    let owners = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(owners)
}

fn recover(
    connection: &Connection,
    dead: &[String],
    ownership: &Ownership,
) -> Result<Recovered, JournalError> {
    let mut recovered = Recovered::default();
    for owner in dead {
        // It may have put its lock file back while this waited for the database.
        if ownership.lease().liveness(owner) == Liveness::Alive {
            continue;
        }
        let mut statement = connection
            .prepare_cached("SELECT id FROM run WHERE status IN ('running', 'queued') AND owner = ?1")?;
        let runs: Vec<String> =
            statement.query_map(params![owner], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut holders = Vec::with_capacity(runs.len());
        for run in runs {
            let holder = Holder::of(connection, &run)?;
            holders.push((run, holder));
        }
        let in_flight = holders.iter().filter(|(_, holder)| holder.status == "running").count();
        let most = if in_flight == 1 { CRASHES_ALONE } else { CRASHES };
        for (run, holder) in holders {
            let after = holder.aftermath(connection, &run, ownership)?;
            let is_quarantined = holder.status == "running" && after.crashes >= most;
            let status = if is_quarantined { RunStatus::Quarantined } else { RunStatus::Interrupted };
            connection
                .prepare_cached("UPDATE run SET status = ?2, used = ?3, crashes = ?4 WHERE id = ?1")?
                .execute(params![run, status.word(), after.used, after.crashes])?;
            if is_quarantined {
                recovered.quarantined += 1;
            } else {
                recovered.interrupted += 1;
            }
        }
    }
    Ok(recovered)
}
