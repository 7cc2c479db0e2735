//! What a person should know although nothing stops: a file that others can read, a database that lost commits.
//!
//! Invariant: this crate does not print. A warning goes to the listener that the program has set, once in a process, and to
//! nothing while there is no listener.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

static LISTENER: OnceLock<fn(&str)> = OnceLock::new();

/// Sets the listener for warnings. The first one stays.
pub fn listen(listener: fn(&str)) {
    let _ = LISTENER.set(listener);
}

/// Warns of something, once in a process.
pub(crate) fn warn_once(text: &str) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_new = TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned());
    if let Some(listener) = LISTENER.get().filter(|_| is_new) {
        listener(text);
    }
}
