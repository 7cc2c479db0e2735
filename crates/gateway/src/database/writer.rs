//! The one thread that writes: groups of entries, what other processes changed, and what has to go.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};
use stave_canon::Clock;

use super::{Entry, EvidenceError, EvidenceSettings, Hold, Queue, Spend};
use crate::keys::{RefusalKind, VirtualKeys};
use crate::records::{insert, retain};

/// How often the file is looked at for what others changed in it.
const LOOK: Duration = Duration::from_secs(1);
/// How many looks pass between two times that old records are taken away, and how many records at most.
const LOOKS_PER_RETENTION: u32 = 60;
const RECORDS_PER_RETENTION: usize = 10_000;
/// The shortest and the longest wait after a write that failed.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How often a write is tried again once the file is to be closed.
const LAST_TRIES: u32 = 5;

#[derive(Debug)]
pub(super) struct Writer {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// `read_at` is the version of the file's data that the keys were read at.
    pub(super) fn start(
        connection: Connection,
        queue: Arc<Queue>,
        keys: Arc<VirtualKeys>,
        clock: Arc<dyn Clock>,
        settings: EvidenceSettings,
        read_at: i64,
    ) -> Result<Writer, EvidenceError> {
        let work = Work {
            connection,
            queue: Arc::clone(&queue),
            keys,
            clock,
            settings,
            read_at,
            own: RefCell::default(),
        };
        let thread = std::thread::Builder::new()
            .name("stave-evidence".to_owned())
            .spawn(move || work.run())
            .map_err(|error| EvidenceError::Thread(error.to_string()))?;
        Ok(Writer { queue, thread: Some(thread) })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}

struct Work {
    connection: Connection,
    queue: Arc<Queue>,
    keys: Arc<VirtualKeys>,
    clock: Arc<dyn Clock>,
    settings: EvidenceSettings,
    read_at: i64,
    /// The holds of this process.
    own: RefCell<HashSet<i64>>,
}

impl Work {
    fn run(self) {
        let mut seen = self.read_at;
        let mut looked = self.clock.elapsed();
        let (mut looks, mut written) = (0_u32, 0_usize);
        while let Some(group) = self.queue.take(self.settings.gather, LOOK) {
            if !group.is_empty() && !self.write_until_done(&group) {
                self.queue.abandon();
                return;
            }
            written += group.len();
            let now = self.clock.elapsed();
            if !group.is_empty() && now.saturating_sub(looked) < LOOK {
                continue;
            }
            looked = now;
            // What cannot be read this time is read the next time.
            if let Ok(version) = data_version(&self.connection)
                && version != seen
                && self.keys.reload(&self.connection, &self.own.borrow()).is_ok()
            {
                seen = version;
            }
            looks = looks.saturating_sub(1);
            if looks == 0 || written >= RECORDS_PER_RETENTION {
                // Taking old records away can wait for a better moment; writing them cannot.
                let gone = retain(&self.connection, &self.settings.retention, self.clock.now());
                written = 0;
                // Where something went there may be more.
                looks = if gone.is_ok_and(|gone| gone > 0) { 1 } else { LOOKS_PER_RETENTION };
            }
        }
    }

    /// Writes a group, again and again if need be. `false` when the file is to be closed and will not take it.
    fn write_until_done(&self, group: &[Entry]) -> bool {
        let mut wait = SHORTEST_WAIT;
        let mut last_tries = 0;
        loop {
            match self.write(group) {
                Ok(records) => {
                    self.queue.done(group.len(), records);
                    return true;
                }
                Err(_) if last_tries >= LAST_TRIES => return false,
                Err(_) => {
                    let closed = self.queue.is_closed();
                    last_tries += u32::from(closed);
                    if closed {
                        self.queue.count_failure();
                        std::thread::sleep(SHORTEST_WAIT);
                    } else {
                        self.queue.failed(wait);
                    }
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
        }
    }

    fn write(&self, group: &[Entry]) -> Result<u64, rusqlite::Error> {
        let transaction =
            rusqlite::Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        let mut records = 0;
        let mut sums: HashMap<(&str, i32), Sum<'_>> = HashMap::new();
        let mut released: Vec<i64> = Vec::new();
        let mut held: Vec<(&Hold, Result<i64, RefusalKind>)> = Vec::new();
        {
            let mut statement = transaction.prepare_cached(insert::STATEMENT)?;
            for entry in group {
                match entry {
                    Entry::Record(record) => {
                        insert::insert(&mut statement, record)?;
                        records += 1;
                    }
                    Entry::Spend(spend) => {
                        sums.entry((&*spend.key, spend.day)).or_insert(Sum::new(spend)).add(spend);
                        released.extend(&spend.holds);
                    }
                    Entry::Release(holds) => released.extend(holds),
                    Entry::Hold(_) => {}
                }
            }
        }
        let mut settled = Vec::with_capacity(sums.len());
        for ((key, day), sum) in sums {
            let total: i64 = transaction
                .prepare_cached(
                    "INSERT INTO key_spend (key, day, money, tokens, requests) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (key, day) DO UPDATE SET money = money + excluded.money,
                        tokens = tokens + excluded.tokens, requests = requests + excluded.requests
                     RETURNING money",
                )?
                .query_row(params![key, day, sum.money, sum.tokens, sum.requests], |row| row.get(0))?;
            settled.push((sum.first, sum.money, total));
        }
        for number in &released {
            transaction.prepare_cached("DELETE FROM key_hold WHERE number = ?1")?.execute([number])?;
        }
        // Last, so that what was spent or given back in the same group counts.
        for entry in group {
            if let Entry::Hold(hold) = entry {
                held.push((hold, insert_hold(&transaction, hold)?));
            }
        }
        transaction.commit()?;
        for (spend, money, total) in settled {
            spend.meter.committed(spend.day, money, total);
        }
        let mut own = self.own.borrow_mut();
        released.iter().for_each(|number| {
            own.remove(number);
        });
        for (hold, number) in held {
            if let Ok(number) = number {
                own.insert(number);
            }
            if !hold.answer(number)
                && let Ok(number) = number
            {
                // Nothing was sent for it.
                self.queue.append(Entry::Release(vec![number]));
            }
        }
        Ok(records)
    }
}

/// Writes what is set aside, when that much is left of the budgets, of what all processes that share the file have spent
/// and set aside.
fn insert_hold(
    transaction: &rusqlite::Transaction<'_>,
    hold: &Hold,
) -> Result<Result<i64, RefusalKind>, rusqlite::Error> {
    let sum = |from: i32, to: i32| {
        let sum: i64 = transaction
            .prepare_cached(
                "SELECT (SELECT COALESCE(SUM(money), 0) FROM key_spend WHERE key = ?1 AND day >= ?2 AND day < ?3)
                      + (SELECT COALESCE(SUM(money), 0) FROM key_hold WHERE key = ?1 AND day >= ?2 AND day < ?3)",
            )?
            .query_row(params![&*hold.key, from, to], |row| row.get(0))?;
        Ok::<i64, rusqlite::Error>(sum)
    };
    if let Some(budget) = hold.day_budget
        && sum(hold.day, hold.day + 1)?.saturating_add(hold.money) > budget
    {
        return Ok(Err(RefusalKind::DayBudget));
    }
    if let Some(budget) = hold.month_budget
        && sum(hold.month.0, hold.month.1)?.saturating_add(hold.money) > budget
    {
        return Ok(Err(RefusalKind::MonthBudget));
    }
    transaction
        .prepare_cached("INSERT INTO key_hold (key, day, money) VALUES (?1, ?2, ?3)")?
        .execute(params![&*hold.key, hold.day, hold.money])?;
    Ok(Ok(transaction.last_insert_rowid()))
}

/// Differs whenever another connection has changed the file meanwhile.
pub(super) fn data_version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}

/// What a key spent on a day, within one group.
struct Sum<'g> {
    first: &'g Spend,
    money: i64,
    tokens: i64,
    requests: i64,
}

impl<'g> Sum<'g> {
    fn new(first: &'g Spend) -> Sum<'g> {
        Sum { first, money: 0, tokens: 0, requests: 0 }
    }

    fn add(&mut self, spend: &Spend) {
        self.money = self.money.saturating_add(spend.money);
        self.tokens = self.tokens.saturating_add(i64::try_from(spend.tokens).unwrap_or(i64::MAX));
        self.requests += 1;
    }
}
