//! The one thread that writes, and how it lets waiting writes share a transaction.
//!
//! Invariant: nobody is told that a write succeeded before the transaction it was part of is on disk.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::DatabaseError;
use super::log::Log;

/// How many writes may share one transaction, so that the first of them does not wait for ever.
const LARGEST_GROUP: usize = 512;

/// Tells the one who asked for a write what became of the transaction.
type Acknowledge = Box<dyn FnOnce(Result<(), DatabaseError>) + Send>;
/// Does a write inside the transaction, or learns that there is none.
type Job = Box<dyn FnOnce(Result<&Connection, DatabaseError>) -> Option<Acknowledge> + Send>;

#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, mut log: Log) -> Result<Writer, DatabaseError> {
        let (jobs, waiting) = channel();
        let thread = std::thread::Builder::new()
            .name("stave-journal".to_owned())
            .spawn(move || work(&connection, &waiting, &mut log))
            .map_err(|error| DatabaseError::Sqlite(format!("the writer can not be started: {error}")))?;
        Ok(Writer { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) async fn write<T, E>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let connection = match connection {
                Ok(connection) => connection,
                Err(error) => {
                    let _ = answer.send(Err(E::from(error)));
                    return None;
                }
            };
            let result = alone(connection, work);
            Some(Box::new(move |committed| {
                let result = match committed {
                    Ok(()) => result,
                    Err(error) => result.and(Err(E::from(error))),
                };
                // Whoever asked may have gone away; the write stands all the same.
                let _ = answer.send(result);
            }))
        });
        let jobs = self.jobs.as_ref().ok_or_else(|| E::from(DatabaseError::Closed))?;
        jobs.send(job).map_err(|_| E::from(DatabaseError::Closed))?;
        answered.await.unwrap_or_else(|_| Err(E::from(DatabaseError::Closed)))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened, and every waiting write was told.
            let _ = thread.join();
        }
    }
}

fn work(connection: &Connection, waiting: &Receiver<Job>, log: &mut Log) {
    while let Ok(first) = waiting.recv() {
        // The lock is taken before anything is read, so another process can not write in between.
        if let Err(error) = quick(connection, "BEGIN IMMEDIATE") {
            first(Err(error.into()));
            continue;
        }
        let mut acknowledgements = Vec::new();
        acknowledgements.extend(first(Ok(connection)));
        while acknowledgements.len() < LARGEST_GROUP
            && let Ok(next) = waiting.try_recv()
        {
            acknowledgements.extend(next(Ok(connection)));
        }
        log.within_transaction();
        let committed = quick(connection, "COMMIT").map_err(DatabaseError::from);
        if committed.is_err() {
            // What could not be committed must not stay open; a transaction that is gone already can not be.
            let _ = quick(connection, "ROLLBACK");
        }
        for acknowledge in acknowledgements {
            acknowledge(committed.clone());
        }
    }
}

/// Does one write so that its failure undoes it and nothing else of the transaction.
fn alone<T, E>(connection: &Connection, work: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E>
where
    E: From<DatabaseError>,
{
    let failed = |error: rusqlite::Error| E::from(DatabaseError::from(error));
    quick(connection, "SAVEPOINT one").map_err(failed)?;
    let result = work(connection);
    if result.is_err() {
        quick(connection, "ROLLBACK TO one").map_err(failed)?;
    }
    quick(connection, "RELEASE one").map_err(failed)?;
    result
}

/// A statement without values, read once for the life of the connection.
fn quick(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(drop)
}
