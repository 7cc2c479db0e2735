//! What waits to be written: a bounded queue that is cheap to append to and never loses an entry.
//!
//! Appending always succeeds and never waits for the file. The bound is kept at the other end: a queue without
//! room says so before a request is taken in, so at most the bound and one entry or two for every request
//! under way are ever held.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::keys::{Meter, RefusalKind};
use crate::records::RequestRecord;

/// Something to be written.
#[derive(Debug)]
pub(crate) enum Entry {
    Record(Box<RequestRecord>),
    Spend(Spend),
    Hold(Hold),
    /// Rows of holds that were not used.
    Release(Vec<i64>),
}

/// What is set aside for a request of a key with a budget, to be written before the request is sent.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) key: std::sync::Arc<str>,
    pub(crate) day: i32,
    /// The days of the month, from the first to the one after the last.
    pub(crate) month: (i32, i32),
    pub(crate) money: i64,
    pub(crate) day_budget: Option<i64>,
    pub(crate) month_budget: Option<i64>,
    /// Gets the number of the row; why there is none, otherwise.
    pub(crate) answer: Mutex<Option<tokio::sync::oneshot::Sender<Result<i64, RefusalKind>>>>,
}

impl Hold {
    /// Answers the task that waits for the hold. `false` when none waits any more.
    pub(super) fn answer(&self, held: Result<i64, RefusalKind>) -> bool {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer.is_some_and(|answer| answer.send(held).is_ok())
    }
}

/// What a request of a key used.
#[derive(Debug)]
pub(crate) struct Spend {
    pub(crate) key: std::sync::Arc<str>,
    pub(crate) meter: std::sync::Arc<Meter>,
    /// Days since 1970, in UTC.
    pub(crate) day: i32,
    /// Billionths of a dollar.
    pub(crate) money: i64,
    pub(crate) tokens: u64,
    /// The rows that it replaces.
    pub(crate) holds: Vec<i64>,
}

#[derive(Debug)]
pub(crate) struct Queue {
    capacity: usize,
    waiting: Mutex<Waiting>,
    /// For the writer: something came, or is wanted at once.
    came: Condvar,
    /// For those who flush: something was written.
    written: Condvar,
    /// For those who want to take a request in: there is room.
    room: Notify,
    /// Entries that are not in the file, those in the writer's hands included.
    held: AtomicUsize,
    records_written: AtomicU64,
    failed_writes: AtomicU64,
    times_full: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    entries: Vec<Entry>,
    /// How many entries came, and how many of them are in the file.
    appended: u64,
    done: u64,
    /// Up to which entry somebody waits.
    wanted: u64,
    closed: bool,
}

impl Queue {
    pub(super) fn new(capacity: usize) -> Queue {
        Queue {
            capacity: capacity.max(1),
            waiting: Mutex::default(),
            came: Condvar::new(),
            written: Condvar::new(),
            room: Notify::new(),
            held: AtomicUsize::new(0),
            records_written: AtomicU64::new(0),
            failed_writes: AtomicU64::new(0),
            times_full: AtomicU64::new(0),
        }
    }

    /// Appends something that somebody waits for, so that nothing else is gathered first.
    pub(crate) fn append_at_once(&self, entry: Entry) {
        self.append(entry);
        let mut waiting = self.lock();
        waiting.wanted = waiting.appended;
        drop(waiting);
        self.came.notify_one();
    }

    pub(crate) fn append(&self, entry: Entry) {
        let mut waiting = self.lock();
        waiting.entries.push(entry);
        waiting.appended += 1;
        let (first, half) = (waiting.entries.len() == 1, waiting.entries.len() == self.capacity / 2);
        drop(waiting);
        if self.held.fetch_add(1, Ordering::Relaxed) + 1 == self.capacity {
            self.times_full.fetch_add(1, Ordering::Relaxed);
        }
        // While entries gather the writer sleeps, and every signal would cost the request a system call.
        if first || half {
            self.came.notify_one();
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.held.load(Ordering::Relaxed) < self.capacity
    }

    /// Waits until there is room.
    pub(crate) async fn room(&self) {
        loop {
            let notified = self.room.notified();
            if self.has_room() {
                return;
            }
            notified.await;
        }
    }

    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    pub(crate) fn records_written(&self) -> u64 {
        self.records_written.load(Ordering::Relaxed)
    }

    pub(crate) fn failed_writes(&self) -> u64 {
        self.failed_writes.load(Ordering::Relaxed)
    }

    pub(crate) fn times_full(&self) -> u64 {
        self.times_full.load(Ordering::Relaxed)
    }

    pub(super) fn flush(&self) {
        let mut waiting = self.lock();
        let wanted = waiting.appended;
        waiting.wanted = waiting.wanted.max(wanted);
        self.came.notify_one();
        while waiting.done < wanted {
            waiting = self.written.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.came.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// The next group for the writer: empty when nothing came within `idle`, `None` when the queue is closed
    /// and empty.
    pub(super) fn take(&self, gather: Duration, idle: Duration) -> Option<Vec<Entry>> {
        let waiting = self.lock();
        let (mut waiting, _) = self
            .came
            .wait_timeout_while(waiting, idle, |waiting| waiting.entries.is_empty() && !waiting.closed)
            .unwrap_or_else(PoisonError::into_inner);
        if !waiting.entries.is_empty() {
            (waiting, _) = self
                .came
                .wait_timeout_while(waiting, gather, |waiting| {
                    !waiting.closed
                        && waiting.wanted <= waiting.done
                        && waiting.entries.len() < self.capacity / 2
                })
                .unwrap_or_else(PoisonError::into_inner);
        }
        if waiting.entries.is_empty() && waiting.closed {
            return None;
        }
        let length = waiting.entries.len();
        Some(std::mem::replace(&mut waiting.entries, Vec::with_capacity(length)))
    }

    /// Says that a group is in the file.
    pub(super) fn done(&self, entries: usize, records: u64) {
        self.records_written.fetch_add(records, Ordering::Relaxed);
        self.held.fetch_sub(entries, Ordering::Relaxed);
        self.lock().done += entries as u64;
        self.written.notify_all();
        if self.has_room() {
            self.room.notify_waiters();
        }
    }

    /// Counts a group that could not be written.
    pub(super) fn count_failure(&self) {
        self.failed_writes.fetch_add(1, Ordering::Relaxed);
    }

    /// The same, and waits before it is tried again, unless the queue is closed meanwhile.
    pub(super) fn failed(&self, wait: Duration) {
        self.count_failure();
        let waiting = self.lock();
        let _ = self.came.wait_timeout_while(waiting, wait, |waiting| !waiting.closed);
    }

    /// Gives up on what cannot be written any more, so that nobody waits for it.
    pub(super) fn abandon(&self) {
        let mut waiting = self.lock();
        waiting.done = u64::MAX;
        waiting.entries.clear();
        drop(waiting);
        self.held.store(0, Ordering::Relaxed);
        self.written.notify_all();
        self.room.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
