//! What earlier requests looked like, as hashes: enough to say where a later one parted from them.
//!
//! Invariant: no text is kept, and no more than a bounded number of positions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use stave_block::{Position, PrefixHash, WirePrompt};

/// How many conversations are remembered.
const SESSIONS: usize = 4096;
/// How many positions of each.
const POSITIONS: usize = 512;
/// How many prefixes are remembered as clean, in each of two generations.
const CLEAN: usize = 1 << 16;

/// The last request of each conversation.
#[derive(Debug, Default)]
pub(crate) struct SeenPrompts(Mutex<Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    last: HashMap<u64, Vec<PrefixHash>>,
    order: VecDeque<u64>,
}

/// Where a request parted from the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parting {
    /// `system[0]`, `tools[3]` or `messages[12]`, in the client's words for it.
    pub(crate) place: String,
    /// Bytes of what both begin with, about.
    pub(crate) common: u64,
    /// Bytes behind the difference, which the cache cannot serve.
    pub(crate) lost: u64,
}

impl SeenPrompts {
    /// Remembers a request, and says where it parts from the one before it; `None` when it only goes on.
    pub(crate) fn compare(&self, session: &str, wire: &WirePrompt) -> Option<Parting> {
        let session = number(session);
        let prefixes: Vec<PrefixHash> =
            wire.positions.iter().take(POSITIONS).map(|position| position.prefix).collect();
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = sessions.last.insert(session, prefixes);
        if before.is_none() {
            sessions.order.push_back(session);
            if sessions.order.len() > SESSIONS
                && let Some(oldest) = sessions.order.pop_front()
            {
                sessions.last.remove(&oldest);
            }
        }
        drop(sessions);
        let before = before?;
        let positions = &wire.positions;
        let common =
            before.iter().zip(positions).take_while(|(prefix, position)| **prefix == position.prefix).count();
        if common == before.len() || common >= positions.len() {
            return None;
        }
        let bytes =
            |positions: &[Position]| positions.iter().map(|position| u64::from(position.length)).sum();
        Some(Parting {
            place: place(positions, common),
            common: bytes(&positions[..common]),
            lost: bytes(&positions[common..]),
        })
    }
}

/// A number for a name.
fn number(name: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(name, &mut hasher);
    std::hash::Hasher::finish(&hasher)
}

/// The name of a position by its kind and number.
fn place(positions: &[Position], index: usize) -> String {
    let Some(position) = positions.get(index) else { return String::new() };
    if let Some(message) = position.message {
        return format!("messages[{message}]");
    }
    let kind = position.kind;
    let same =
        positions[..index].iter().filter(|other| other.message.is_none() && other.kind == kind).count();
    match kind {
        stave_block::PositionKind::Tool => format!("tools[{same}]"),
        stave_block::PositionKind::OutputSchema => "output_schema".to_owned(),
        _ => format!("system[{same}]"),
    }
}

/// Prefixes in which nothing was found that a rule minds. A conversation is judged at its end only.
#[derive(Debug, Default)]
pub(crate) struct CleanPrefixes(Mutex<[HashSet<PrefixHash>; 2]>);

impl CleanPrefixes {
    /// How many positions at the start of a request are known to be clean. `rules` stands for what they are
    /// judged by.
    pub(crate) fn known(&self, rules: PrefixHash, wire: &WirePrompt) -> usize {
        let sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |position: &Position| {
            let key = position.prefix ^ rules;
            sets.iter().any(|set| set.contains(&key))
        };
        wire.positions.iter().rposition(is_known).map_or(0, |last| last + 1)
    }

    /// Remembers that a request is clean.
    pub(crate) fn add(&self, rules: PrefixHash, wire: &WirePrompt, from: usize) {
        let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for position in wire.positions.iter().skip(from) {
            sets[0].insert(position.prefix ^ rules);
        }
        if sets[0].len() > CLEAN {
            sets.swap(0, 1);
            sets[0].clear();
        }
    }
}
