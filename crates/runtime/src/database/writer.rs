//! The one thread that writes, and how it lets waiting writes share a transaction.
//!
//! Invariants: no caller learns that a write succeeded before the transaction it was part of is on disk, and none
//! learns that a write failed that is on disk. A database that could not be written is tried again until it can be, so
//! that the fault and the runs that wait to be given back do not depend on further requests.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::DatabaseError;
use super::driving::Deferred;
use super::log::Log;
use super::mark::{self, Mark};

/// How many writes may share one transaction, so that the first of them does not wait for ever.
const LARGEST_GROUP: usize = 512;

/// How often a write waits for the lock of another process, each time for the busy timeout.
const LOCK_ATTEMPTS: usize = 3;

/// How long the writer waits before it tries a database again that could not be written.
const RETRY: Duration = Duration::from_millis(500);

/// Reports the result of the transaction to the caller that asked for a write.
type Acknowledge = Box<dyn FnOnce(Result<(), DatabaseError>) + Send>;
/// Does a write inside the transaction, or learns that there is none.
type Job = Box<dyn FnOnce(Result<&Connection, DatabaseError>) -> Option<Acknowledge> + Send>;

enum Message {
    Write(Job),
    /// A write was deferred.
    Deferred,
}

/// What the writer's thread and those who ask share.
#[derive(Debug, Default)]
pub(super) struct Condition {
    /// Why the last write failed; `None` while writes succeed.
    fault: Mutex<Option<String>>,
    /// What is tried until it succeeds.
    deferred: Mutex<Vec<Deferred>>,
}

#[derive(Debug)]
pub(super) struct Writer {
    messages: Option<Sender<Message>>,
    thread: Option<JoinHandle<()>>,
    condition: Arc<Condition>,
}

impl Condition {
    pub(super) fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether something is left that could not be written yet.
    pub(super) fn has_deferred(&self) -> bool {
        !self.deferred.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn set_fault(&self, fault: Option<&DatabaseError>) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault.map(ToString::to_string);
    }

    fn needs_retry(&self) -> bool {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_some() || self.has_deferred()
    }
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        log: Log,
        mark: Mark,
        condition: Arc<Condition>,
    ) -> Result<Writer, DatabaseError> {
        let (messages, waiting) = channel();
        let mut work = Work { connection, log, mark, condition: Arc::clone(&condition) };
        let thread = std::thread::Builder::new()
            .name("stave-journal".to_owned())
            .spawn(move || work.serve(&waiting))
            .map_err(|error| DatabaseError::Sqlite(format!("the writer cannot be started: {error}")))?;
        Ok(Writer { messages: Some(messages), thread: Some(thread), condition })
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
                // The caller may have gone away; the write is kept all the same.
                let _ = answer.send(result);
            }))
        });
        let messages = self.messages.as_ref().ok_or_else(|| E::from(DatabaseError::Closed))?;
        messages.send(Message::Write(job)).map_err(|_| E::from(DatabaseError::Closed))?;
        answered.await.unwrap_or_else(|_| Err(E::from(DatabaseError::Closed)))
    }

    /// Writes something as soon as the database can be written.
    pub(super) fn defer(&self, deferred: Deferred) {
        self.condition.deferred.lock().unwrap_or_else(PoisonError::into_inner).push(deferred);
        if let Some(messages) = &self.messages {
            let _ = messages.send(Message::Deferred);
        }
    }

    /// Waits until everything that was asked for is written, as far as it can be.
    pub(super) fn close(&mut self) {
        self.messages = None;
        if let Some(thread) = self.thread.take() {
            debug_assert_ne!(thread.thread().id(), std::thread::current().id(), "a write holds the database");
            // A panic there was reported when it happened, and every waiting write received it.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

/// The state of the writer's thread.
struct Work {
    connection: Connection,
    log: Log,
    mark: Mark,
    condition: Arc<Condition>,
}

impl Work {
    fn serve(&mut self, waiting: &Receiver<Message>) {
        loop {
            let message = if self.condition.needs_retry() {
                waiting.recv_timeout(RETRY)
            } else {
                waiting.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match message {
                Ok(Message::Write(job)) => self.group(job, waiting),
                Ok(Message::Deferred) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.repair();
                    return;
                }
            }
            self.repair();
        }
    }

    /// Does a write, and those that wait, in one transaction.
    fn group(&mut self, first: Job, waiting: &Receiver<Message>) {
        // The lock is taken before anything is read, so another process cannot write in between.
        if let Err(error) = self.begin() {
            first(Err(error));
            return;
        }
        let mut acknowledgements = Vec::new();
        acknowledgements.extend(first(Ok(&self.connection)));
        // SQLite undoes the whole transaction by itself after some failures, a full disk among them. What follows
        // would then be a transaction of its own.
        while !self.connection.is_autocommit()
            && acknowledgements.len() < LARGEST_GROUP
            && let Ok(next) = waiting.try_recv()
        {
            match next {
                Message::Write(job) => acknowledgements.extend(job(Ok(&self.connection))),
                Message::Deferred => {}
            }
        }
        let committed = if self.connection.is_autocommit() {
            Err(DatabaseError::Unwritable("the transaction was rolled back".to_owned()))
        } else {
            self.log.within_transaction();
            self.commit()
        };
        if self.condition.fault().is_none() || committed.is_ok() {
            self.condition.set_fault(committed.as_ref().err());
        }
        for acknowledge in acknowledgements {
            acknowledge(committed.clone());
        }
    }

    /// Begins a transaction, waiting for another process that writes.
    fn begin(&self) -> Result<(), DatabaseError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match quick(&self.connection, "BEGIN IMMEDIATE").map_err(DatabaseError::from) {
                Ok(()) => return Ok(()),
                Err(error) => {
                    self.condition.set_fault(Some(&error));
                    let is_locked = matches!(error, DatabaseError::Locked(_));
                    if !is_locked || attempts >= LOCK_ATTEMPTS {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        let counted = mark::count(&self.connection).and_then(|count| {
            quick(&self.connection, "COMMIT")?;
            Ok(count)
        });
        if counted.is_err() && !self.connection.is_autocommit() {
            // What could not be committed must not stay open.
            let _ = quick(&self.connection, "ROLLBACK");
        }
        self.mark.write(counted?);
        Ok(())
    }

    /// Writes what was deferred, and finds out whether a database can be written again.
    fn repair(&mut self) {
        if !self.condition.needs_retry() {
            return;
        }
        let deferred = self.condition.deferred.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let written = self.try_repair(&deferred);
        self.condition.set_fault(written.as_ref().err());
        if written.is_ok() {
            let mut left = self.condition.deferred.lock().unwrap_or_else(PoisonError::into_inner);
            let written = deferred.len().min(left.len());
            left.drain(..written);
        }
    }

    fn try_repair(&mut self, deferred: &[Deferred]) -> Result<(), DatabaseError> {
        quick(&self.connection, "BEGIN IMMEDIATE")?;
        let work = || {
            for write in deferred {
                write.write(&self.connection)?;
            }
            if self.condition.fault().is_some() {
                // Something has to be written, or a full disk would not show.
                quick(&self.connection, "UPDATE writable SET probes = probes + 1")?;
            }
            Ok::<(), rusqlite::Error>(())
        };
        if let Err(error) = work() {
            if !self.connection.is_autocommit() {
                let _ = quick(&self.connection, "ROLLBACK");
            }
            return Err(error.into());
        }
        self.commit()
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
    if connection.is_autocommit() {
        // Everything was undone, and there is nothing to roll back to.
        return result.and_then(|_| Err(E::from(DatabaseError::Unwritable("rolled back".to_owned()))));
    }
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
