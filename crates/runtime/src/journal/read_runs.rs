//! Reading runs from the journal's database.
//!
//! Invariant: nothing here writes. A run that says it is driven counts as interrupted when its driver is gone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Row, params};
use stave_canon::{Timestamp, Value};
use stave_exec::{Acceptance, Document};

use super::{
    CallRecord, Decision, JournalError, Question, RunFilter, RunStatus, RunSummary, StoredRun, codec, items,
};
use crate::database::{Liveness, Ownership, segments};

const SUMMARY: &str =
    "SELECT run.id, run.flow, run.status, run.started_at, run.ended_at, run.replay_of, run.owner,
    (SELECT count(*) FROM step WHERE step.run = run.id), run.crashes FROM run";

/// The runs that fit a filter, in its order.
pub(super) fn list(
    connection: &Connection,
    filter: &RunFilter,
    ownership: &Ownership,
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
        ("AND (?2 IS NULL OR (run.started_at, run.id) < (?2, ?3))", "run.started_at DESC, run.id DESC")
    };
    let after_run = filter.after.as_ref();
    let sql = format!("{SUMMARY} WHERE (?1 IS NULL OR run.flow = ?1) {statuses} {after} ORDER BY {order}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![
        filter.flow,
        after_run.map(|(at, _)| nanoseconds(*at)),
        after_run.map(|(_, id)| id)
    ])?;
    let mut owners = Owners::new(ownership);
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
    ownership: &'d Ownership,
    seen: HashMap<String, bool>,
}

impl<'d> Owners<'d> {
    fn new(ownership: &'d Ownership) -> Owners<'d> {
        Owners { ownership, seen: HashMap::new() }
    }

    /// Whether somebody drives a run, or will once it has its turn.
    fn drives(&mut self, owner: &str, run: &str) -> bool {
        let lease = self.ownership.lease();
        if owner == lease.owner() {
            return self.ownership.driving().contains(run);
        }
        if let Some(alive) = self.seen.get(owner) {
            return *alive;
        }
        let alive = lease.liveness(owner) == Liveness::Alive;
        self.seen.insert(owner.to_owned(), alive);
        alive
    }
}

pub(super) fn summary_of(
    connection: &Connection,
    run: &str,
    ownership: &Ownership,
) -> Result<RunSummary, JournalError> {
    let mut statement = connection.prepare_cached(&format!("{SUMMARY} WHERE run.id = ?1"))?;
    let mut rows = statement.query(params![run])?;
    let row = rows.next()?.ok_or_else(|| JournalError::UnknownRun(run.to_owned()))?;
    summary(row, &mut Owners::new(ownership))
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

/// The row of a run, beside its summary.
struct RunRow {
    hash: String,
    text: String,
    request: String,
    had_auth: bool,
    auth_digest: Option<String>,
    result: Option<String>,
    idle: Option<String>,
    used: i64,
    digest: Option<String>,
    parts: Option<String>,
    arrived_at: i64,
}

/// Everything that is known of a run.
pub(super) fn stored(
    connection: &Connection,
    run: &str,
    ownership: &Ownership,
) -> Result<StoredRun, JournalError> {
    let summary = summary_of(connection, run, ownership)?;
    let row = connection
        .prepare_cached(
            "SELECT document.hash, document.text, run.request, run.had_auth, run.result, run.idle,
                 run.used, run.request_digest, run.result_segments, coalesce(run.arrived_at, run.started_at),
                 run.auth_digest
             FROM run JOIN document ON document.hash = run.document WHERE run.id = ?1",
        )?
        .query_row(params![run], |row| {
            Ok(RunRow {
                hash: row.get(0)?,
                text: row.get(1)?,
                request: row.get(2)?,
                had_auth: row.get(3)?,
                result: row.get(4)?,
                idle: row.get(5)?,
                used: row.get(6)?,
                digest: row.get(7)?,
                parts: row.get(8)?,
                arrived_at: row.get(9)?,
                auth_digest: row.get(10)?,
            })
        })?;
    let mut statement = connection
        .prepare_cached("SELECT node, record, segments FROM step WHERE run = ?1 ORDER BY number")?;
    let mut rows = statement.query(params![run])?;
    let mut steps = Vec::new();
    while let Some(row) = rows.next()? {
        let node: String = row.get(0)?;
        let (text, references): (String, Option<String>) = (row.get(1)?, row.get(2)?);
        let record = segments::unfold(connection, &text, references.as_deref())?;
        steps.push(codec::step_of(&node, &record)?);
    }
    let (calls, decisions) = (calls(connection, run, None)?, decisions(connection, run)?);
    let (calls, items) = items::divide(calls, &steps, summary.status.is_terminal());
    let questions = calls.iter().filter_map(Question::of_call).collect();
    Ok(StoredRun {
        ending: match row.result {
            Some(text) => {
                let result = segments::unfold(connection, &text, row.parts.as_deref())?;
                codec::ending_of(summary.status, result)?
            }
            None => None,
        },
        summary,
        document: Arc::new(document(&row.text)?),
        document_hash: row.hash,
        request: parse(&row.request)?,
        digest: row.digest,
        had_auth: row.had_auth,
        auth_digest: row.auth_digest,
        arrived_at: timestamp(row.arrived_at)?,
        steps,
        calls,
        items,
        decisions,
        questions,
        used: Duration::from_nanos(row.used.try_into().unwrap_or_default()),
        idle: row.idle.map_or_else(|| Ok(Vec::new()), |idle| codec::decode_reports(&idle))?,
    })
}

/// The calls of steps that have no result; those of one execution when its path is given.
pub(super) fn calls(
    connection: &Connection,
    run: &str,
    path: Option<&str>,
) -> Result<Vec<CallRecord>, JournalError> {
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

pub(super) fn decisions(connection: &Connection, run: &str) -> Result<Vec<(String, Decision)>, JournalError> {
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
        JournalError::Damaged(format!("the run's document cannot be read: {first}"))
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
