//! Records read out of the file: one of them, and the figures of many.

use std::path::Path;

use rusqlite::{Connection, Row, params};
use stave_canon::Timestamp;
use stave_prompt::PromptCounts;

use super::blocks::RecordedBlocks;
use super::decisions::{self, RecordedDecision};
use crate::database::{EvidenceError, connect};

/// What is kept of one request and may be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRecord {
    pub id: String,
    pub time: Timestamp,
    pub tenant: String,
    /// The interface that the client spoke.
    pub surface: String,
    pub model: String,
    pub upstream: Option<String>,
    pub status: u16,
    pub outcome: String,
    /// The SHA-256 of the body as it came.
    pub request_hash: Option<[u8; 32]>,
    /// The blocks as they were sent; `None` for a request that was not sent, and in records of earlier versions.
    pub blocks: Option<RecordedBlocks>,
    pub miss: Option<StoredMiss>,
    pub decisions: Vec<RecordedDecision>,
    pub input: u64,
    pub cache_read: u64,
}

/// Where a request parted from the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMiss {
    /// The place in wire order, such as `messages[12]`.
    pub place: String,
    /// The span id of the block that is there, and of the block that was there before.
    pub block: Option<String>,
    pub block_before: Option<String>,
    pub common_tokens: u64,
    pub lost_tokens: u64,
}

const COLUMNS: &str = "id, time, tenant, surface, COALESCE(model_used, model_asked), upstream, status, outcome,
    request_hash, blocks, miss_place, miss_block, miss_block_before, miss_common, miss_lost, gates, input, cache_read";

impl StoredRecord {
    /// The records whose id begins so, the newest first and at most two: one is the record that is meant.
    pub fn find(path: &Path, beginning: &str) -> Result<Vec<StoredRecord>, EvidenceError> {
        let connection = connect(path)?;
        let statement = format!(
            "SELECT {COLUMNS} FROM request WHERE substr(id, 1, length(?1)) = ?1 ORDER BY number DESC LIMIT 2"
        );
        let mut statement = connection.prepare(&statement)?;
        let rows = statement.query_map(params![beginning], |row| Ok(StoredRecord::read(row)))?;
        rows.map(|row| row?).collect()
    }

    fn read(row: &Row<'_>) -> Result<StoredRecord, EvidenceError> {
        let count =
            |index: usize| row.get::<_, Option<i64>>(index).map(|count| count.unwrap_or(0).unsigned_abs());
        let time = Timestamp::from_microsecond(row.get(1)?)
            .map_err(|error| EvidenceError::Damaged(error.to_string()))?;
        let miss = match row.get::<_, Option<String>>(10)? {
            None => None,
            Some(place) => Some(StoredMiss {
                place,
                block: row.get(11)?,
                block_before: row.get(12)?,
                common_tokens: count(13)?,
                lost_tokens: count(14)?,
            }),
        };
        let hash: Option<Vec<u8>> = row.get(8)?;
        let blocks: Option<Vec<u8>> = row.get(9)?;
        let gates: Option<String> = row.get(15)?;
        Ok(StoredRecord {
            id: row.get(0)?,
            time,
            tenant: row.get(2)?,
            surface: row.get(3)?,
            model: row.get(4)?,
            upstream: row.get(5)?,
            status: row.get(6)?,
            outcome: row.get(7)?,
            request_hash: hash.and_then(|hash| hash.try_into().ok()),
            blocks: blocks.and_then(|blocks| RecordedBlocks::decode(&blocks)),
            miss,
            decisions: gates.map(|gates| decisions::read(&gates)).unwrap_or_default(),
            input: count(16)?,
            cache_read: count(17)?,
        })
    }
}

/// What policies and gates did to the requests of a time. A request counts once it was judged.
pub fn prompt_counts(
    path: &Path,
    since: Option<Timestamp>,
    until: Timestamp,
) -> Result<PromptCounts, EvidenceError> {
    counts_of(&connect(path)?, since, until)
}

fn counts_of(
    connection: &Connection,
    since: Option<Timestamp>,
    until: Timestamp,
) -> Result<PromptCounts, EvidenceError> {
    let mut statement = connection.prepare(
        "SELECT gates, upstream IS NOT NULL FROM request
         WHERE time >= ?1 AND time < ?2 AND (upstream IS NOT NULL OR gates IS NOT NULL)",
    )?;
    let since = since.map_or(i64::MIN, Timestamp::as_microsecond);
    let mut rows = statement.query(params![since, until.as_microsecond()])?;
    let mut counts = PromptCounts::default();
    while let Some(row) = rows.next()? {
        let (gates, is_sent): (Option<String>, bool) = (row.get(0)?, row.get(1)?);
        let decisions = gates.map(|gates| decisions::read(&gates)).unwrap_or_default();
        counts.requests += 1;
        counts.denied += u64::from(!is_sent);
        for decision in &decisions {
            let (field, places) =
                (decision.field.as_deref().unwrap_or("request"), u64::from(decision.places));
            let denies = decision.action == "refuse";
            // A gate never flags; of earlier versions it is not known who refused.
            if decision.policy.unwrap_or(decision.action == "flag") {
                counts.policy(&decision.rule, field, denies, places);
            } else {
                counts.gate(&decision.action, &decision.rule, field, places);
            }
        }
    }
    Ok(counts)
}
