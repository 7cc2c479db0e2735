//! The `auth` of requests whose runs have not ended.
//!
//! Invariant: it is in memory only, for as long as the process lives, and no message and no trace shows it. What does not
//! fit is given up, the oldest first: such a run waits for its requester, as it does after a restart.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use stave_canon::Value;

/// How many are kept for one project.
const MOST: usize = 10_000;
/// How many bytes all of them may take.
const MOST_BYTES: usize = 16 * 1024 * 1024;

#[derive(Default)]
pub(crate) struct KeptAuth(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_run: HashMap<String, Entry>,
    /// The runs in the order in which they came.
    order: BTreeMap<u64, String>,
    next: u64,
    bytes: usize,
}

struct Entry {
    number: u64,
    auth: Value,
    bytes: usize,
}

impl KeptAuth {
    pub(crate) fn keep(&self, run: &str, auth: Value) {
        let bytes = auth.to_string().len() + run.len();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.forget(run);
        if bytes > MOST_BYTES {
            return;
        }
        while kept.by_run.len() >= MOST || kept.bytes + bytes > MOST_BYTES {
            let Some(oldest) = kept.order.values().next().cloned() else { break };
            kept.forget(&oldest);
        }
        let number = kept.next;
        kept.next += 1;
        kept.bytes += bytes;
        kept.order.insert(number, run.to_owned());
        kept.by_run.insert(run.to_owned(), Entry { number, auth, bytes });
    }

    pub(crate) fn of(&self, run: &str) -> Option<Value> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.by_run.get(run).map(|entry| entry.auth.clone())
    }

    pub(crate) fn forget(&self, run: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).forget(run);
    }
}

impl Kept {
    fn forget(&mut self, run: &str) {
        if let Some(entry) = self.by_run.remove(run) {
            self.order.remove(&entry.number);
            self.bytes -= entry.bytes;
        }
    }
}

impl fmt::Debug for KeptAuth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("KeptAuth")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_given_up_when_there_is_no_room() {
        let kept = KeptAuth::default();
        let auth = Value::from("x".repeat(MOST_BYTES / 4));
        for run in ["a", "b", "c", "d"] {
            kept.keep(run, auth.clone());
        }
        assert_eq!(kept.of("a"), None);
        assert!(kept.of("b").is_some() && kept.of("d").is_some());
        kept.keep("e", "x".repeat(MOST_BYTES).into());
        assert_eq!(kept.of("e"), None, "one that is too large takes nobody's room");
        assert!(kept.of("b").is_some());
        kept.forget("b");
        assert_eq!(kept.of("b"), None);
        assert!(!format!("{kept:?}").contains('x'));
    }
}
