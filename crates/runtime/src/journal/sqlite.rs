//! The journal in the project's SQLite file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};
use stave_canon::{Timestamp, Value};
use stave_exec::{Acceptance, Document};

use super::{
    CallRecord, Decision, Driver, Ending, Going, Journal, JournalError, NewRun, Recovered, RunFilter,
    RunStatus, RunSummary, Runs, StepRecord, StoredRun, codec,
};
use crate::database::{Database, DatabaseError, Deferred, Liveness};
use crate::report::NodeReport;
use crate::state::{self, Commit, RecordKey};

/// The largest result that is kept.
const RECORD_BYTES: usize = 8 * 1024 * 1024;

const SUMMARY: &str =
    "SELECT run.id, run.flow, run.status, run.started_at, run.ended_at, run.replay_of, run.owner,
    (SELECT count(*) FROM step WHERE step.run = run.id), run.crashes FROM run";

/// How often a driver tries to write what has happened while the database can not be written, before it lets go of
/// the run. Whoever resumes the run would repeat the effect whose result was not written.
const WRITE_ATTEMPTS: u32 = 20;
/// The same while another process holds the lock, for which each attempt waits long by itself.
const LOCKED_ATTEMPTS: u32 = 2;
const WRITE_PAUSE: Duration = Duration::from_millis(500);

/// The journal's view of a database.
#[derive(Debug, Clone)]
pub struct SqliteJournal {
    pub(super) database: Arc<Database>,
    record_bytes: usize,
}

impl SqliteJournal {
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        SqliteJournal { database, record_bytes: RECORD_BYTES }
    }

    /// With another bound on the size of a result.
    #[must_use]
    pub fn record_bytes(self, record_bytes: usize) -> Self {
        SqliteJournal { record_bytes, ..self }
    }

    fn bounded(&self, text: String) -> Result<String, JournalError> {
        let (bytes, limit) = (text.len(), self.record_bytes);
        if bytes > limit { Err(JournalError::TooLarge { bytes, limit }) } else { Ok(text) }
    }

    /// Writes what a driver has done. While the database can not be written it is tried again for a while.
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
        let database = Arc::clone(&self.database);
        self.database.read(move |connection| list(connection, &filter, &database)).await
    }

    async fn show(&self, run: &str) -> Result<StoredRun, JournalError> {
        let (run, database) = (run.to_owned(), Arc::clone(&self.database));
        self.database.read(move |connection| stored(connection, &run, &database)).await
    }

    async fn find(&self, beginning: &str) -> Result<String, JournalError> {
        let beginning = beginning.to_owned();
        self.database
            .read(move |connection| {
                let mut statement = connection
                    .prepare_cached("SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1 LIMIT 2")?;
                let found: Vec<String> =
                    statement.query_map(params![beginning], |row| row.get(0))?.collect::<Result<_, _>>()?;
                match found.as_slice() {
                    [sole] => Ok(sole.clone()),
                    _ => Err(JournalError::UnknownRun(beginning)),
                }
            })
            .await
    }

    async fn cancel(&self, run: &str, at: Timestamp) -> Result<RunStatus, JournalError> {
        self.wait_for_owner(run).await?;
        let (id, database) = (run.to_owned(), Arc::clone(&self.database));
        let cancelled = self.database.write(move |connection| cancel(connection, &id, &database, at)).await;
        match cancelled {
            // The driver of this process learns it without the database; for the rest it is written down later.
            Err(JournalError::Database(error)) if error.is_transient() => {
                self.database.driving().cancel(run);
                let (id, database) = (run.to_owned(), Arc::downgrade(&self.database));
                self.database.defer(Deferred::new(move |connection| {
                    let Some(database) = database.upgrade() else { return Ok(()) };
                    match cancel(connection, &id, &database, at) {
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

    async fn decide(&self, run: &str, node: &str, decision: Decision) -> Result<Decision, JournalError> {
        let (run, node, database) = (run.to_owned(), node.to_owned(), Arc::clone(&self.database));
        self.database
            .write(move |connection| {
                let status = summary_of(connection, &run, &database)?.status;
                if status.is_terminal() {
                    return Err(JournalError::Ended { run, status });
                }
                connection
                    .prepare_cached(
                        "INSERT OR IGNORE INTO decision (run, node, decision) VALUES (?1, ?2, ?3)",
                    )?
                    .execute(params![run, node, codec::encode_decision(&decision)])?;
                let text: String = connection
                    .prepare_cached("SELECT decision FROM decision WHERE run = ?1 AND node = ?2")?
                    .query_row(params![run, node], |row| row.get(0))?;
                codec::decode_decision(&text)
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
        let request = self.bounded(run.request.to_string())?;
        let mut driver = self.reserve(&run.id)?;
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
                             status, claims, claimed_at)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1, ?10) ON CONFLICT (id) DO NOTHING",
                    )?
                    .execute(params![
                        run.id,
                        flow,
                        hash,
                        request,
                        run.had_auth,
                        run.replay_of,
                        nanoseconds(run.started_at),
                        owner,
                        status.word(),
                        nanoseconds(run.begun_at)
                    ])?;
                if begun == 1 { Ok(()) } else { Err(JournalError::Exists(run.id)) }
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
        let (run, fence, database) = (run.to_owned(), self.fence(run), Arc::clone(&self.database));
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
            let status = summary_of(connection, &run, &database)?.status;
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
        let record = match self.bounded(codec::encode_step(step)) {
            // What is kept for people only must not be the reason why a result can not be kept.
            Err(_) => self.bounded(codec::encode_step(&without_questions(step)))?,
            Ok(record) => record,
        };
        let (database, fence) = (Arc::clone(&self.database), self.fence(run));
        let written = Arc::new((run.to_owned(), step.node.clone(), record, state));
        self.persist(move |connection| {
            let (run, node, record, state) = written.as_ref();
            let is_cancelled = fence.pass(connection, run)? || database.driving().is_cancelled(run);
            if let Some(commit) = state {
                state::commit_in(connection, commit.clone())?;
            }
            // An attempt that seemed to fail may have been written.
            connection
                .prepare_cached(
                    "INSERT INTO step (run, node, record) VALUES (?1, ?2, ?3)
                     ON CONFLICT (run, node) DO UPDATE SET record = excluded.record",
                )?
                .execute(params![run, node, record])?;
            // The answers on the way are of no use once the result is known.
            connection
                .prepare_cached(
                    "DELETE FROM call WHERE run = ?1
                         AND (node = ?2 OR substr(node, 1, length(?2) + 1) = ?2 || '/')",
                )?
                .execute(params![run, node])?;
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

    async fn suspend(&self, run: &str, at: Timestamp) -> Result<(), JournalError> {
        let (run, fence) = (run.to_owned(), self.fence(run));
        self.persist(move |connection| {
            fence.pass(connection, &run)?;
            connection
                .prepare_cached(
                    "UPDATE run SET status = 'waiting', crashes = 0, used = used + max(0, ?2 - claimed_at)
                     WHERE id = ?1 AND ended_at IS NULL",
                )?
                .execute(params![run, nanoseconds(at)])?;
            Ok(())
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
        let (ending, idle) = (ending.clone(), codec::encode_reports(idle));
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
    idle: &str,
    at: Timestamp,
) -> Result<bool, JournalError> {
    let written = connection
        .prepare_cached(
            "UPDATE run SET status = ?2, result = ?3, idle = ?4, ended_at = ?5
             WHERE id = ?1 AND ended_at IS NULL",
        )?
        .execute(params![run, ending.status().word(), codec::encode_ending(ending), idle, nanoseconds(at)])?;
    connection.prepare_cached("DELETE FROM call WHERE run = ?1")?.execute(params![run])?;
    let flow: Option<String> = connection
        .prepare_cached("SELECT flow FROM run WHERE id = ?1")?
        .query_row(params![run], |row| row.get(0))
        .optional()?;
    if let Some(flow) = flow {
        let beginning = RecordKey::of_request(&flow, run);
        connection
            .prepare_cached("DELETE FROM state_record WHERE key >= ?1 AND key < ?1 || char(1114111)")?
            .execute(params![beginning])?;
    }
    Ok(written == 1)
}

/// Ends a run that nobody drives, or asks whoever drives it to end it.
fn cancel(
    connection: &Connection,
    run: &str,
    database: &Database,
    at: Timestamp,
) -> Result<RunStatus, JournalError> {
    let status = summary_of(connection, run, database)?.status;
    if status.is_terminal() {
        return Err(JournalError::Ended { run: run.to_owned(), status });
    }
    if status == RunStatus::Running {
        connection
            .prepare_cached("UPDATE run SET cancel_requested = 1 WHERE id = ?1")?
            .execute(params![run])?;
        return Ok(RunStatus::Running);
    }
    end(connection, run, &Ending::Cancelled, &codec::encode_reports(&[]), at)?;
    Ok(RunStatus::Cancelled)
}

fn list(
    connection: &Connection,
    filter: &RunFilter,
    database: &Database,
) -> Result<Vec<RunSummary>, JournalError> {
    let words = filter.status.map(|status| match status {
        // A run whose process died is still marked as that process left it.
        RunStatus::Interrupted => "'interrupted', 'running', 'queued'".to_owned(),
        status => format!("'{}'", status.word()),
    });
    let statuses = words.map_or_else(String::new, |words| format!("AND run.status IN ({words})"));
    let (after, order) = if filter.oldest_first {
        ("AND (?2 IS NULL OR (run.started_at, run.id) > (?2, ?3))", "run.started_at, run.id")
    } else {
        ("AND ?2 IS NULL AND ?3 IS NULL", "run.started_at DESC, run.rowid DESC")
    };
    let after_run = filter.after.as_ref().filter(|_| filter.oldest_first);
    let sql = format!("{SUMMARY} WHERE (?1 IS NULL OR run.flow = ?1) {statuses} {after} ORDER BY {order}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![
        filter.flow,
        after_run.map(|(at, _)| nanoseconds(*at)),
        after_run.map(|(_, id)| id)
    ])?;
    let mut owners = Owners::new(database);
    let mut runs = Vec::new();
    while filter.limit.is_none_or(|limit| runs.len() < limit)
        && let Some(row) = rows.next()?
    {
        let run = summary(row, &mut owners)?;
        if filter.status.is_none_or(|status| status == run.status) {
            runs.push(run);
        }
    }
    Ok(runs)
}

/// Which owners are alive, found out once for each.
struct Owners<'d> {
    database: &'d Database,
    seen: HashMap<String, bool>,
}

impl<'d> Owners<'d> {
    fn new(database: &'d Database) -> Owners<'d> {
        Owners { database, seen: HashMap::new() }
    }

    /// Whether somebody drives a run, or will once it has its turn.
    fn drives(&mut self, owner: &str, run: &str) -> bool {
        let lease = self.database.lease();
        if owner == lease.owner() {
            return self.database.driving().contains(run);
        }
        if let Some(alive) = self.seen.get(owner) {
            return *alive;
        }
        let alive = lease.liveness(owner) == Liveness::Alive;
        self.seen.insert(owner.to_owned(), alive);
        alive
    }
}

fn summary_of(connection: &Connection, run: &str, database: &Database) -> Result<RunSummary, JournalError> {
    let mut statement = connection.prepare_cached(&format!("{SUMMARY} WHERE run.id = ?1"))?;
    let mut rows = statement.query(params![run])?;
    let row = rows.next()?.ok_or_else(|| JournalError::UnknownRun(run.to_owned()))?;
    summary(row, &mut Owners::new(database))
}

fn summary(row: &Row<'_>, owners: &mut Owners<'_>) -> Result<RunSummary, JournalError> {
    let word: String = row.get(2)?;
    let mut status = RunStatus::from_word(&word)
        .ok_or_else(|| JournalError::Damaged(format!("a run has the status {word:?}")))?;
    let (id, owner): (String, String) = (row.get(0)?, row.get(6)?);
    if matches!(status, RunStatus::Running | RunStatus::Queued) && !owners.drives(&owner, &id) {
        status = RunStatus::Interrupted;
    }
    Ok(RunSummary {
        id,
        flow: row.get(1)?,
        status,
        started_at: timestamp(row.get(3)?)?,
        ended_at: row.get::<_, Option<i64>>(4)?.map(timestamp).transpose()?,
        replay_of: row.get(5)?,
        steps: row.get::<_, i64>(7)?.try_into().unwrap_or_default(),
        crashes: row.get::<_, i64>(8)?.try_into().unwrap_or_default(),
    })
}

/// Everything that is known of a run.
pub(super) fn stored(
    connection: &Connection,
    run: &str,
    database: &Database,
) -> Result<StoredRun, JournalError> {
    let summary = summary_of(connection, run, database)?;
    type Columns = (String, String, String, bool, Option<String>, Option<String>, i64);
    let (hash, text, request, had_auth, result, idle, used): Columns = connection
        .prepare_cached(
            "SELECT document.hash, document.text, run.request, run.had_auth, run.result, run.idle,
                 run.used
             FROM run JOIN document ON document.hash = run.document WHERE run.id = ?1",
        )?
        .query_row(params![run], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
        })?;
    let mut statement =
        connection.prepare_cached("SELECT node, record FROM step WHERE run = ?1 ORDER BY number")?;
    let mut rows = statement.query(params![run])?;
    let mut steps = Vec::new();
    while let Some(row) = rows.next()? {
        let node: String = row.get(0)?;
        steps.push(codec::decode_step(&node, &row.get::<_, String>(1)?)?);
    }
    let mut statement =
        connection.prepare_cached("SELECT node, number, fingerprint, result FROM call WHERE run = ?1")?;
    let mut rows = statement.query(params![run])?;
    let mut calls = Vec::new();
    while let Some(row) = rows.next()? {
        let result = parse(&row.get::<_, String>(3)?)?;
        calls.push(CallRecord { node: row.get(0)?, number: row.get(1)?, fingerprint: row.get(2)?, result });
    }
    let mut statement = connection.prepare_cached("SELECT node, decision FROM decision WHERE run = ?1")?;
    let mut rows = statement.query(params![run])?;
    let mut decisions = Vec::new();
    while let Some(row) = rows.next()? {
        decisions.push((row.get(0)?, codec::decode_decision(&row.get::<_, String>(1)?)?));
    }
    Ok(StoredRun {
        ending: result.map(|result| codec::decode_ending(summary.status, &result)).transpose()?.flatten(),
        summary,
        document: Arc::new(document(&text)?),
        document_hash: hash,
        request: parse(&request)?,
        had_auth,
        steps,
        calls,
        decisions,
        used: Duration::from_nanos(used.try_into().unwrap_or_default()),
        idle: idle.map_or_else(|| Ok(Vec::new()), |idle| codec::decode_reports(&idle))?,
    })
}

fn document(text: &str) -> Result<Document, JournalError> {
    stave_exec::read(&parse(text)?, Acceptance::Additive).map_err(|faults| {
        let first = faults.first().map_or_else(String::new, ToString::to_string);
        JournalError::Damaged(format!("the run's document can not be read: {first}"))
    })
}

fn parse(text: &str) -> Result<Value, JournalError> {
    stave_canon::parse(text).map_err(|error| JournalError::Damaged(error.to_string()))
}

pub(super) fn nanoseconds(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX)
}

fn timestamp(nanoseconds: i64) -> Result<Timestamp, JournalError> {
    Timestamp::from_nanosecond(nanoseconds.into())
        .map_err(|error| JournalError::Damaged(format!("a time is out of range: {error}")))
}
