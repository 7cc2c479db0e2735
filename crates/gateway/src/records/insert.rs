//! A record on its way into the file.

use std::fmt::Write as _;
use std::time::Duration;

use rusqlite::{CachedStatement, params};

use super::{Edits, RecordedBlocks, RequestRecord, decisions};
use crate::keys::nanodollars;

pub(crate) const STATEMENT: &str = "
INSERT INTO request (
    time, id, key, tenant, session, surface, model_asked, upstream, model_used, status, outcome, attempts,
    streamed, request_hash, sent_hash, response_hash, edits, request_bytes, response_bytes, input, output,
    cache_read, cache_written, cache_written_1h, money, money_as_sent, breakpoints, not_planned, miss_place,
    miss_variable, miss_common, miss_lost, gates, failed_open, total_us, waited_us, own_us, first_byte_us,
    blocks, miss_block, miss_block_before
) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,
    ?27,?28,?29,?30,?31,?32,?33,?34,?35,?36,?37,?38,?39,?40,?41)";

/// The longest name of a model that is kept. A longer one is no model's, and may be anything.
const LONGEST_NAME: usize = 128;

pub(crate) fn insert(
    statement: &mut CachedStatement<'_>,
    record: &RequestRecord,
) -> Result<(), rusqlite::Error> {
    let miss = record.miss.as_ref();
    statement.execute(params![
        record.time.as_microsecond(),
        record.id,
        record.key.as_deref(),
        &*record.tenant,
        record.session,
        record.surface,
        shortened(without_secrets(&record.model_asked)),
        record.upstream.as_deref(),
        record.model_used.as_deref().map(shortened),
        record.status,
        record.outcome.word(),
        record.attempts,
        record.streamed,
        record.request_hash.map(|hash| hash.0),
        record.sent_hash.map(|hash| hash.0),
        record.response_hash.map(|hash| hash.0),
        record.edits.as_ref().map(Edits::text),
        signed(record.request_bytes),
        signed(record.response_bytes),
        signed(record.usage.input),
        signed(record.usage.output),
        signed(record.usage.cache_read),
        signed(record.usage.cache_write),
        signed(record.usage.cache_write_1h),
        record.money.spent.map(nanodollars),
        record.money.as_sent.map(nanodollars),
        breakpoints(record),
        record.not_planned,
        miss.map(|miss| &miss.place),
        miss.and_then(|miss| miss.variable),
        miss.map(|miss| signed(miss.common_tokens)),
        miss.map(|miss| signed(miss.lost_tokens)),
        decisions::text(&record.gates),
        record.failed_open,
        microseconds(record.durations.total),
        microseconds(record.durations.waited),
        microseconds(record.durations.own),
        record.durations.first_byte.map(microseconds),
        record.blocks.as_ref().map(RecordedBlocks::encode),
        miss.and_then(|miss| miss.block.as_deref()),
        miss.and_then(|miss| miss.block_before.as_deref()),
    ])?;
    Ok(())
}

/// `3:5m 17:1h`: positions in wire order, each with its lifetime.
fn breakpoints(record: &RequestRecord) -> Option<String> {
    if record.breakpoints.is_empty() {
        return None;
    }
    let mut text = String::new();
    for mark in &record.breakpoints {
        let space = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{space}{}:{}", mark.position, if mark.long { "1h" } else { "5m" });
    }
    Some(text)
}

/// The name, unless a part of it looks like something sensitive: a client can ask for a model of any name.
fn without_secrets(name: &str) -> &str {
    if stave_block::find_sensitive(name).is_empty() { name } else { "[redacted]" }
}

/// The name, or its beginning with a mark that there was more.
fn shortened(name: &str) -> std::borrow::Cow<'_, str> {
    match name.char_indices().nth(LONGEST_NAME) {
        None => name.into(),
        Some((end, _)) => format!("{}…", &name[..end]).into(),
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
