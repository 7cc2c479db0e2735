//! The journal in the project's SQLite file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use stave_canon::Timestamp;
use stave_engine::object_bytes;

use super::read_runs::{calls, decisions, list, nanoseconds, stored, summary_of};
use super::{
    CallRecord, Decision, Driver, Ending, Going, Journal, JournalError, NewRun, Pause, Question,
    RECORD_BYTES, Recovered, RunFilter, RunStatus, RunSummary, Runs, StepRecord, StoredRun, codec, items,
    questions,
};
use crate::database::segments::{self, Folded, Shape};
use crate::database::{Database, DatabaseError, Deferred, Ownership};
use crate::heavy_work::HeavyWork;
use crate::report::NodeReport;
use crate::run_lifecycle::finish;
use crate::state::{self, Commit, RecordKey};

/// How often a driver tries to write what has happened while the database cannot be written, before it lets go of
/// the run. A resume of the run would repeat the effect whose result was not written.
const WRITE_ATTEMPTS: u32 = 20;
/// The same while another process holds the lock, for which each attempt waits long by itself.
const LOCKED_ATTEMPTS: u32 = 2;
const WRITE_PAUSE: Duration = Duration::from_millis(500);

/// How often and how long is looked for a run that this process has just begun.
const BEGIN_LOOKS: u32 = 100;
const BEGIN_PAUSE: Duration = Duration::from_millis(20);

/// The journal's view of a database.
#[derive(Debug, Clone)]
pub struct SqliteJournal {
    pub(super) database: Arc<Database>,
    record_bytes: usize,
    heavy_work: Arc<HeavyWork>,
}

impl SqliteJournal {
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        SqliteJournal { database, record_bytes: RECORD_BYTES, heavy_work: Arc::default() }
    }

    /// With another bound on the size of a result.
    #[must_use]
    pub fn record_bytes(self, record_bytes: usize) -> Self {
        SqliteJournal { record_bytes, ..self }
    }

    /// With a share of the threads that large results are folded on.
    #[must_use]
    pub fn heavy_work(self, heavy_work: Arc<HeavyWork>) -> Self {
        SqliteJournal { heavy_work, ..self }
    }

    /// The runs that fit, inside the caller's transaction.
    pub(crate) fn list_in(
        &self,
        connection: &Connection,
        filter: &RunFilter,
    ) -> Result<Vec<RunSummary>, JournalError> {
        list(connection, filter, &self.database.ownership())
    }

    /// Why a run cannot begin that this process drives already. That run may be about to be written down.
    async fn driven(&self, run: &NewRun) -> JournalError {
        for _ in 0..BEGIN_LOOKS {
            let new = run.clone();
            match self.database.read(move |connection| taken(connection, &new)).await {
                Ok(Some(error)) | Err(error) => return error,
                Ok(None) => tokio::time::sleep(BEGIN_PAUSE).await,
            }
        }
        JournalError::Busy(run.id.clone())
    }

    fn bounded(&self, text: String) -> Result<String, JournalError> {
        let (bytes, limit) = (text.len(), self.record_bytes);
        if bytes > limit { Err(JournalError::TooLarge { bytes, limit }) } else { Ok(text) }
    }

    /// A step's result within its bound, with its long lists and texts apart. A large one is measured before it is
    /// copied and hashed, and that is done away from the threads that serve others.
    async fn folded(&self, step: &StepRecord) -> Result<Folded, JournalError> {
        let (about, limit) = (step.result.outputs.as_ref().map_or(0, object_bytes), self.record_bytes);
        let about = usize::try_from(about).unwrap_or(usize::MAX);
        // The measure may be a little too high for numbers, never by half.
        if about / 2 > limit {
            return Err(JournalError::TooLarge { bytes: about, limit });
        }
        let fold = || segments::fold(codec::step_value(step), Shape::Step);
        let folded = self.heavy_work.on_bytes(about, fold).await;
        let bytes = folded.bytes();
        if bytes > limit { Err(JournalError::TooLarge { bytes, limit }) } else { Ok(folded) }
    }

    /// Writes what a driver has done. While the database cannot be written it is tried again for a while.
    async fn persist<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> Result<T, JournalError> + Clone + Send + 'static,
    ) -> Result<T, JournalError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let work = work.clone();
            let error = match self.database.write(move |connection| work(connection)).await {
                Err(JournalError::Database(error)) => error,
                other => return other,
            };
            let most = match error {
                DatabaseError::Unwritable(_) => WRITE_ATTEMPTS,
                DatabaseError::Locked(_) => LOCKED_ATTEMPTS,
                _ => 0,
            };
            if attempts >= most {
                return Err(error.into());
            }
            tokio::time::sleep(WRITE_PAUSE).await;
        }
    }
}

#[async_trait]
impl Runs for SqliteJournal {
    async fn list(&self, filter: RunFilter) -> Result<Vec<RunSummary>, JournalError> {
        let ownership = self.database.ownership();
        self.database.read(move |connection| list(connection, &filter, &ownership)).await
    }

    async fn show(&self, run: &str) -> Result<StoredRun, JournalError> {
        let (run, ownership) = (run.to_owned(), self.database.ownership());
        self.database.read_snapshot(move |connection| stored(connection, &run, &ownership)).await
    }

    async fn find(&self, beginning: &str) -> Result<String, JournalError> {
        let beginning = beginning.to_owned();
        self.database
            .read(move |connection| {
                let mut statement = connection.prepare_cached(
                    "SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id = ?1 DESC, id LIMIT ?2",
                )?;
                let found: Vec<String> = statement
                    .query_map(params![beginning, JournalError::MATCHES as i64 + 1], |row| row.get(0))?
                    .collect::<Result<_, _>>()?;
                JournalError::sole_match(beginning, found)
            })
            .await
    }

    async fn cancel(&self, run: &str, at: Timestamp) -> Result<RunStatus, JournalError> {
        self.wait_for_owner(run).await?;
        let (id, ownership) = (run.to_owned(), self.database.ownership());
        let cancelled = self.database.write(move |connection| cancel(connection, &id, &ownership, at)).await;
        match cancelled {
            // The driver of this process learns it without the database; for the rest it is written down later.
            Err(JournalError::Database(error)) if error.is_transient() => {
                self.database.driving().cancel(run);
                let (id, ownership) = (run.to_owned(), self.database.ownership());
                self.database.defer(Deferred::new(move |connection| {
                    match cancel(connection, &id, &ownership, at) {
                        Err(JournalError::Database(_)) => Err(rusqlite::Error::InvalidQuery),
                        // It is cancelled, or has ended in the meantime.
                        _ => Ok(()),
                    }
                }));
                Ok(RunStatus::Running)
            }
            other => other,
        }
    }

    async fn decide(&self, run: &str, path: &str, decision: Decision) -> Result<Decision, JournalError> {
        let (run, path, ownership) = (run.to_owned(), path.to_owned(), self.database.ownership());
        self.database
            .write(move |connection| {
                let status = summary_of(connection, &run, &ownership)?.status;
                if status.is_terminal() {
                    return Err(JournalError::Ended { run, status });
                }
                let open = calls(connection, &run, Some(&path))?;
                let open = open.iter().find_map(Question::of_call);
                let earlier = connection
                    .prepare_cached("SELECT decision FROM decision WHERE run = ?1 AND node = ?2")?
                    .query_row(params![run, path], |row| row.get::<_, String>(0))
                    .optional()?;
                let earlier = earlier.map(|text| codec::decode_decision(&text)).transpose()?;
                let decided = questions::settle(&run, &path, open.as_ref(), earlier, decision)?;
                connection
                    .prepare_cached(
                        "INSERT OR REPLACE INTO decision (run, node, decision) VALUES (?1, ?2, ?3)",
                    )?
                    .execute(params![run, path, codec::encode_decision(&decided)])?;
                if status == RunStatus::Waiting
                    && stored(connection, &run, &ownership)?.open_questions().next().is_none()
                {
                    // It waits for nobody any more, and a driver may take it.
                    connection
                        .prepare_cached(
                            "UPDATE run SET status = 'interrupted' WHERE id = ?1 AND status = 'waiting'",
                        )?
                        .execute(params![run])?;
                }
                Ok(decided)
            })
            .await
    }

    async fn recover(&self) -> Result<Recovered, JournalError> {
        self.recover_dead().await
    }

    async fn unquarantine(&self, run: &str) -> Result<(), JournalError> {
        self.end_quarantine(run).await
    }

    fn fault(&self) -> Option<String> {
        self.database.fault()
    }
}

#[async_trait]
impl Journal for SqliteJournal {
    fn file(&self) -> Option<&Path> {
        Some(self.database.path())
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn knows(&self, run: &str) -> Result<bool, JournalError> {
        let run = run.to_owned();
        self.database
            .read(move |connection| {
                let mut statement = connection.prepare_cached("SELECT 1 FROM run WHERE id = ?1")?;
                Ok(statement.exists(params![run])?)
            })
            .await
    }

    async fn begin(&self, run: &NewRun) -> Result<Driver, JournalError> {
        let document = stave_exec::to_value(&run.document).to_string();
        let hash = run.document.fingerprint();
        let request = self.bounded(run.request.to_string()).map_err(|error| match error {
            JournalError::TooLarge { bytes, limit } => JournalError::RequestTooLarge { bytes, limit },
            other => other,
        })?;
        let mut driver = match self.reserve(&run.id) {
            // The first driver of a run is in the journal or about to be, and its request decides.
            Err(JournalError::Busy(_)) => return Err(self.driven(run).await),
            reserved => reserved?,
        };
        let owner = self.database.lease().owner().to_owned();
        let (run, flow) = (run.clone(), run.document.flow.name.clone());
        let begun = self
            .database
            .write(move |connection| {
                connection
                    .prepare_cached("INSERT OR IGNORE INTO document (hash, text) VALUES (?1, ?2)")?
                    .execute(params![hash, document])?;
                let status = if run.is_queued { RunStatus::Queued } else { RunStatus::Running };
                let begun = connection
                    .prepare_cached(
                        "INSERT INTO run (id, flow, document, request, had_auth, replay_of, started_at, owner,
                             status, claims, claimed_at, arrived_at, request_digest, auth_digest)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1, ?7, ?10, ?11, ?12)
                         ON CONFLICT (id) DO NOTHING",
                    )?
                    .execute(params![
                        run.id,
                        flow,
                        hash,
                        request,
                        run.had_auth,
                        run.replay_of,
                        nanoseconds(run.times.started_at),
                        owner,
                        status.word(),
                        nanoseconds(run.times.arrived_at),
                        run.digest,
                        run.auth_digest
                    ])?;
                if begun == 1 {
                    Ok(())
                } else {
                    Err(taken(connection, &run)?.unwrap_or(JournalError::Exists(run.id)))
                }
            })
            .await;
        match begun {
            Ok(()) => driver.claimed(1, false),
            Err(error) => {
                // A commit that failed may be on disk all the same.
                if !matches!(error, JournalError::Database(_)) {
                    driver.settle();
                }
                return Err(error);
            }
        }
        Ok(driver)
    }

    async fn start(&self, run: &str, at: Timestamp) -> Result<(), JournalError> {
        let (run, fence, ownership) = (run.to_owned(), self.fence(run), self.database.ownership());
        self.persist(move |connection| {
            fence.pass(connection, &run)?;
            let started = connection
                .prepare_cached(
                    "UPDATE run SET status = 'running', claimed_at = ?2 WHERE id = ?1 AND ended_at IS NULL",
                )?
                .execute(params![run, nanoseconds(at)])?;
            if started == 1 {
                return Ok(());
            }
            let status = summary_of(connection, &run, &ownership)?.status;
            Err(JournalError::Ended { run: run.clone(), status })
        })
        .await
    }

    async fn claim(&self, run: &str, at: Timestamp) -> Result<(StoredRun, Driver), JournalError> {
        self.take(run, at).await
    }

    async fn record(
        &self,
        run: &str,
        step: &StepRecord,
        state: Option<Commit>,
    ) -> Result<Going, JournalError> {
        let record = match self.folded(step).await {
            // What is kept for people only must not be the reason why a result cannot be kept.
            Err(_) => self.folded(&without_questions(step)).await?,
            Ok(record) => record,
        };
        let (ownership, fence) = (self.database.ownership(), self.fence(run));
        let written = Arc::new((run.to_owned(), step.clone(), record, state));
        self.persist(move |connection| {
            let (run, step, record, state) = written.as_ref();
            let is_cancelled = fence.pass(connection, run)? || ownership.driving().is_cancelled(run);
            if let Some(commit) = state {
                state::commit_in(connection, commit.clone())?;
            }
            // An attempt that seemed to fail may have been written.
            connection
                .prepare_cached(
                    "INSERT INTO step (run, node, record, segments) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (run, node) DO UPDATE
                     SET record = excluded.record, segments = excluded.segments",
                )?
                .execute(params![run, step.node, record.text(), record.store(connection)?])?;
            // The answers on the way are of no use once the result is known, but for what a replay takes over.
            items::end_step(connection, run, step)?;
            Ok(if is_cancelled { Going::Cancelled } else { Going::On })
        })
        .await
    }

    async fn record_call(
        &self,
        run: &str,
        call: &CallRecord,
        state: Option<Commit>,
    ) -> Result<(), JournalError> {
        let result = self.bounded(call.result.to_string())?;
        let fence = self.fence(run);
        let written = Arc::new((run.to_owned(), call.clone(), result, state));
        self.persist(move |connection| {
            let (run, call, result, state) = written.as_ref();
            fence.pass(connection, run)?;
            if let Some(commit) = state {
                state::commit_in(connection, commit.clone())?;
            }
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO call (run, node, number, fingerprint, result)
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![run, call.node, call.number, call.fingerprint, result])?;
            Ok(())
        })
        .await
    }

    async fn suspend(&self, run: &str, pause: Pause<'_>) -> Result<bool, JournalError> {
        let (idle, known, at) = (codec::encode_reports(pause.idle), pause.known.to_vec(), pause.at);
        let (run, fence) = (run.to_owned(), self.fence(run));
        self.persist(move |connection| {
            fence.pass(connection, &run)?;
            connection
                .prepare_cached(
                    "UPDATE run SET status = 'waiting', idle = ?3, crashes = 0,
                         used = used + max(0, ?2 - claimed_at)
                     WHERE id = ?1 AND ended_at IS NULL",
                )?
                .execute(params![run, nanoseconds(at), idle])?;
            let (asked, decided) = (calls(connection, &run, None)?, decisions(connection, &run)?);
            let is_decided = |question: Question| {
                let digest = Some(&question.digest);
                let is_new = !known.contains(&question.digest);
                let about = |(path, decision): &(String, Decision)| {
                    *path == question.path && decision.digest.as_ref() == digest
                };
                is_new && decided.iter().any(about)
            };
            Ok(asked.iter().filter_map(Question::of_call).any(is_decided))
        })
        .await
    }

    async fn end(
        &self,
        run: &str,
        ending: &Ending,
        idle: &[NodeReport],
        at: Timestamp,
    ) -> Result<bool, JournalError> {
        let (run, fence) = (run.to_owned(), self.fence(run));
        let (ending, idle) = (ending.clone(), idle.to_vec());
        self.persist(move |connection| {
            fence.pass(connection, &run)?;
            end(connection, &run, &ending, &idle, at)
        })
        .await
    }

    async fn is_cancelled(&self, run: &str) -> Result<bool, JournalError> {
        if self.database.driving().is_cancelled(run) {
            return Ok(true);
        }
        let run = run.to_owned();
        self.database
            .read(move |connection| {
                let cancelled = connection
                    .prepare_cached("SELECT cancel_requested FROM run WHERE id = ?1")?
                    .query_row(params![run], |row| row.get(0))
                    .optional()?;
                Ok(cancelled.unwrap_or_default())
            })
            .await
    }
}

/// Why a run cannot begin whose id is taken: whether the run there was started by the same request.
///
/// `None` when there is no such run.
fn taken(connection: &Connection, run: &NewRun) -> Result<Option<JournalError>, JournalError> {
    let digest: Option<Option<String>> = connection
        .prepare_cached("SELECT request_digest FROM run WHERE id = ?1")?
        .query_row(params![run.id], |row| row.get(0))
        .optional()?;
    Ok(digest.map(|digest| {
        let is_same = digest.is_some() && digest == run.digest;
        if is_same { JournalError::Started(run.id.clone()) } else { JournalError::Exists(run.id.clone()) }
    }))
}

/// The step without what its models were asked.
fn without_questions(step: &StepRecord) -> StepRecord {
    let mut step = step.clone();
    for report in &mut step.reports {
        report.questions.clear();
    }
    step
}

fn end(
    connection: &Connection,
    run: &str,
    ending: &Ending,
    idle: &[NodeReport],
    at: Timestamp,
) -> Result<bool, JournalError> {
    let result = segments::fold(codec::ending_value(ending), Shape::Fields);
    let written = connection
        .prepare_cached(
            "UPDATE run SET status = ?2, result = ?3, idle = ?4, ended_at = ?5
             WHERE id = ?1 AND ended_at IS NULL",
        )?
        .execute(params![
            run,
            ending.status().word(),
            result.text(),
            codec::encode_reports(idle),
            nanoseconds(at)
        ])?;
    if written == 1 {
        connection
            .prepare_cached("UPDATE run SET result_segments = ?2 WHERE id = ?1")?
            .execute(params![run, result.store(connection)?])?;
    }
    items::end_run(connection, run, idle)?;
    end_request_state(connection, run)?;
    Ok(written == 1)
}

/// Takes away what the nodes of a run remembered for this run alone.
pub(super) fn end_request_state(connection: &Connection, run: &str) -> Result<(), JournalError> {
    let flow: Option<String> = connection
        .prepare_cached("SELECT flow FROM run WHERE id = ?1")?
        .query_row(params![run], |row| row.get(0))
        .optional()?;
    if let Some(flow) = flow {
        let beginning = RecordKey::of_request(&flow, run);
        connection
            .prepare_cached("DELETE FROM state_record WHERE key >= ?1 AND key < ?1 || char(1114111)")?
            .execute(params![beginning])?;
        segments::sweep(connection)?;
    }
    Ok(())
}

/// Ends a run that nobody drives, or asks its driver to end it.
fn cancel(
    connection: &Connection,
    run: &str,
    ownership: &Ownership,
    at: Timestamp,
) -> Result<RunStatus, JournalError> {
    let status = summary_of(connection, run, ownership)?.status;
    if status.is_terminal() {
        return Err(JournalError::Ended { run: run.to_owned(), status });
    }
    if status == RunStatus::Running {
        connection
            .prepare_cached("UPDATE run SET cancel_requested = 1 WHERE id = ?1")?
            .execute(params![run])?;
        return Ok(RunStatus::Running);
    }
    // Nobody drives it, so what its unfinished steps used is known from their calls alone.
    let known = stored(connection, run, ownership)?;
    let is_recorded = |report: &NodeReport| known.steps.iter().any(|step| step.node == report.id);
    let nodes = finish(known.report().nodes, "the run was cancelled");
    let idle: Vec<NodeReport> = nodes.into_iter().filter(|report| !is_recorded(report)).collect();
    end(connection, run, &Ending::Cancelled, &idle, at)?;
    Ok(RunStatus::Cancelled)
}
