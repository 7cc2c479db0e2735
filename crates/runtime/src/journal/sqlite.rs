//! The journal in the project's SQLite file.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};
use stave_canon::{Timestamp, Value};
use stave_exec::{Acceptance, Document};

use super::{
    CallRecord, Decision, Ending, Going, Journal, JournalError, NewRun, Question, RunFilter, RunStatus,
    RunSummary, Runs, StepRecord, StoredRun, codec, questions,
};
use crate::database::Database;
use crate::report::NodeReport;
use crate::state::{self, Commit, RecordKey};

/// The largest result that is kept.
const RECORD_BYTES: usize = 8 * 1024 * 1024;

const SUMMARY: &str =
    "SELECT run.id, run.flow, run.status, run.started_at, run.ended_at, run.replay_of, run.owner,
    (SELECT count(*) FROM step WHERE step.run = run.id) FROM run";

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
}

#[async_trait]
impl Runs for SqliteJournal {
    async fn list(&self, filter: RunFilter) -> Result<Vec<RunSummary>, JournalError> {
        let database = Arc::clone(&self.database);
        self.database
            .read(move |connection| {
                let sql = format!(
                    "{SUMMARY} WHERE ?1 IS NULL OR run.flow = ?1 ORDER BY run.started_at DESC, run.rowid DESC"
                );
                let mut statement = connection.prepare_cached(&sql)?;
                let mut rows = statement.query(params![filter.flow])?;
                let mut runs = Vec::new();
                while let Some(row) = rows.next()?
                    && filter.limit.is_none_or(|limit| runs.len() < limit)
                {
                    let run = summary(row, &database)?;
                    if filter.status.is_none_or(|status| status == run.status) {
                        runs.push(run);
                    }
                }
                Ok(runs)
            })
            .await
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
        let (run, database) = (run.to_owned(), Arc::clone(&self.database));
        self.database
            .write(move |connection| {
                let status = summary_of(connection, &run, &database)?.status;
                if status.is_terminal() {
                    return Err(JournalError::Ended { run, status });
                }
                if status == RunStatus::Running {
                    connection
                        .prepare_cached("UPDATE run SET cancel_requested = 1 WHERE id = ?1")?
                        .execute(params![run])?;
                    return Ok(RunStatus::Running);
                }
                end(connection, &run, &Ending::Cancelled, &codec::encode_reports(&[]), at)?;
                Ok(RunStatus::Cancelled)
            })
            .await
    }

    async fn decide(&self, run: &str, path: &str, decision: Decision) -> Result<Decision, JournalError> {
        let (run, path, database) = (run.to_owned(), path.to_owned(), Arc::clone(&self.database));
        self.database
            .write(move |connection| {
                let status = summary_of(connection, &run, &database)?.status;
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
                Ok(decided)
            })
            .await
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
        match self.show(run).await {
            Ok(_) => Ok(true),
            Err(JournalError::UnknownRun(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn begin(&self, run: &NewRun) -> Result<(), JournalError> {
        self.database.lease().hold()?;
        let document = stave_exec::to_value(&run.document).to_string();
        let hash = run.document.fingerprint();
        let request = self.bounded(run.request.to_string())?;
        let owner = self.database.lease().owner().to_owned();
        let (run, flow) = (run.clone(), run.document.flow.name.clone());
        self.database
            .write(move |connection| {
                connection
                    .prepare_cached("INSERT OR IGNORE INTO document (hash, text) VALUES (?1, ?2)")?
                    .execute(params![hash, document])?;
                connection
                    .prepare_cached(
                        "INSERT INTO run
                             (id, flow, document, request, had_auth, replay_of, started_at, owner, status)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'running')",
                    )?
                    .execute(params![
                        run.id,
                        flow,
                        hash,
                        request,
                        run.had_auth,
                        run.replay_of,
                        nanoseconds(run.started_at),
                        owner
                    ])?;
                Ok(())
            })
            .await
    }

    async fn claim(&self, run: &str) -> Result<StoredRun, JournalError> {
        self.database.lease().hold()?;
        let (run, database) = (run.to_owned(), Arc::clone(&self.database));
        self.database
            .write(move |connection| {
                let mut stored = stored(connection, &run, &database)?;
                let status = stored.summary.status;
                if status.is_terminal() {
                    return Err(JournalError::Ended { run, status });
                }
                let owner = database.lease().owner();
                let owned: bool = connection
                    .prepare_cached("SELECT owner = ?2 FROM run WHERE id = ?1")?
                    .query_row(params![run, owner], |row| row.get(0))?;
                if status == RunStatus::Running && !owned {
                    return Err(JournalError::Busy(run));
                }
                connection
                    .prepare_cached("UPDATE run SET owner = ?2, status = 'running' WHERE id = ?1")?
                    .execute(params![run, owner])?;
                stored.summary.status = RunStatus::Running;
                Ok(stored)
            })
            .await
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
        let (run, node) = (run.to_owned(), step.node.clone());
        self.database
            .write(move |connection| {
                if let Some(commit) = state {
                    state::commit_in(connection, commit)?;
                }
                connection
                    .prepare_cached("INSERT INTO step (run, node, record) VALUES (?1, ?2, ?3)")?
                    .execute(params![run, node, record])?;
                // The answers on the way are of no use once the result is known.
                connection
                    .prepare_cached(
                        "DELETE FROM call WHERE run = ?1
                             AND (node = ?2 OR substr(node, 1, length(?2) + 1) = ?2 || '/')",
                    )?
                    .execute(params![run, node])?;
                let cancelled: bool = connection
                    .prepare_cached("SELECT cancel_requested FROM run WHERE id = ?1")?
                    .query_row(params![run], |row| row.get(0))?;
                Ok(if cancelled { Going::Cancelled } else { Going::On })
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
        let (run, call) = (run.to_owned(), call.clone());
        self.database
            .write(move |connection| {
                if let Some(commit) = state {
                    state::commit_in(connection, commit)?;
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

    async fn suspend(&self, run: &str, idle: &[NodeReport]) -> Result<bool, JournalError> {
        let (run, idle) = (run.to_owned(), codec::encode_reports(idle));
        self.database
            .write(move |connection| {
                connection
                    .prepare_cached(
                        "UPDATE run SET status = 'waiting', idle = ?2 WHERE id = ?1 AND ended_at IS NULL",
                    )?
                    .execute(params![run, idle])?;
                let (asked, decided) = (calls(connection, &run, None)?, decisions(connection, &run)?);
                let is_decided = |question: Question| {
                    let digest = Some(question.digest);
                    decided.iter().any(|(path, decision)| *path == question.path && decision.digest == digest)
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
        let (run, ending, idle) = (run.to_owned(), ending.clone(), codec::encode_reports(idle));
        self.database.write(move |connection| end(connection, &run, &ending, &idle, at)).await
    }

    async fn is_cancelled(&self, run: &str) -> Result<bool, JournalError> {
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

fn summary_of(connection: &Connection, run: &str, database: &Database) -> Result<RunSummary, JournalError> {
    let mut statement = connection.prepare_cached(&format!("{SUMMARY} WHERE run.id = ?1"))?;
    let mut rows = statement.query(params![run])?;
    let row = rows.next()?.ok_or_else(|| JournalError::UnknownRun(run.to_owned()))?;
    summary(row, database)
}

fn summary(row: &Row<'_>, database: &Database) -> Result<RunSummary, JournalError> {
    let word: String = row.get(2)?;
    let mut status = RunStatus::from_word(&word)
        .ok_or_else(|| JournalError::Damaged(format!("a run has the status {word:?}")))?;
    let owner: String = row.get(6)?;
    if status == RunStatus::Running && !database.lease().is_alive(&owner) {
        status = RunStatus::Interrupted;
    }
    Ok(RunSummary {
        id: row.get(0)?,
        flow: row.get(1)?,
        status,
        started_at: timestamp(row.get(3)?)?,
        ended_at: row.get::<_, Option<i64>>(4)?.map(timestamp).transpose()?,
        replay_of: row.get(5)?,
        steps: row.get::<_, i64>(7)?.try_into().unwrap_or_default(),
    })
}

fn stored(connection: &Connection, run: &str, database: &Database) -> Result<StoredRun, JournalError> {
    let summary = summary_of(connection, run, database)?;
    type Columns = (String, String, String, bool, Option<String>, Option<String>);
    let (hash, text, request, had_auth, result, idle): Columns = connection
        .prepare_cached(
            "SELECT document.hash, document.text, run.request, run.had_auth, run.result, run.idle
             FROM run JOIN document ON document.hash = run.document WHERE run.id = ?1",
        )?
        .query_row(params![run], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
        })?;
    let mut statement =
        connection.prepare_cached("SELECT node, record FROM step WHERE run = ?1 ORDER BY number")?;
    let mut rows = statement.query(params![run])?;
    let mut steps = Vec::new();
    while let Some(row) = rows.next()? {
        let node: String = row.get(0)?;
        steps.push(codec::decode_step(&node, &row.get::<_, String>(1)?)?);
    }
    let (calls, decisions) = (calls(connection, run, None)?, decisions(connection, run)?);
    let questions = calls.iter().filter_map(Question::of_call).collect();
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
        questions,
        idle: idle.map_or_else(|| Ok(Vec::new()), |idle| codec::decode_reports(&idle))?,
    })
}

/// The calls of steps that have no result; those of one execution when its path is given.
fn calls(connection: &Connection, run: &str, path: Option<&str>) -> Result<Vec<CallRecord>, JournalError> {
    let mut statement = connection.prepare_cached(
        "SELECT node, number, fingerprint, result FROM call WHERE run = ?1 AND (?2 IS NULL OR node = ?2)",
    )?;
    let mut rows = statement.query(params![run, path])?;
    let mut calls = Vec::new();
    while let Some(row) = rows.next()? {
        let result = parse(&row.get::<_, String>(3)?)?;
        calls.push(CallRecord { node: row.get(0)?, number: row.get(1)?, fingerprint: row.get(2)?, result });
    }
    Ok(calls)
}

fn decisions(connection: &Connection, run: &str) -> Result<Vec<(String, Decision)>, JournalError> {
    let mut statement = connection.prepare_cached("SELECT node, decision FROM decision WHERE run = ?1")?;
    let mut rows = statement.query(params![run])?;
    let mut decisions = Vec::new();
    while let Some(row) = rows.next()? {
        decisions.push((row.get(0)?, codec::decode_decision(&row.get::<_, String>(1)?)?));
    }
    Ok(decisions)
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
