//! What is remembered of prefixes: hashes, counts and times, never text.
//!
//! Two generations bound the memory. The young one takes what is seen; when it is full or old it becomes
//! the old one, and what was old and not seen since is forgotten.
//!
//! Invariant: there are never more than twice as many records as a generation may hold.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::{CacheEntry, Entries, PrefixHash};

use super::belief::Watch;

/// What is known of a prefix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    pub(crate) visits: u32,
    pub(crate) last_seen: f64,
    /// Gaps between visits: within the short lifetime, within the long one, beyond both.
    pub(crate) gaps: [f32; 3],
    pub(crate) entry: Option<CacheEntry>,
    /// The entry that there would be if requests went as their clients marked them.
    pub(crate) sent: Option<CacheEntry>,
    /// The prefix one position longer that was seen last; zero before there was one.
    pub(crate) child: PrefixHash,
    /// Whether different positions have followed.
    pub(crate) branched: bool,
    /// Whose guess is settled when this is seen again.
    pub(crate) watch: Option<Watch>,
    /// Whether a request ended here.
    pub(crate) tail: bool,
    /// Short and medium gaps of the conversation that ends here.
    pub(crate) lineage: [f32; 2],
}

#[derive(Debug)]
pub(crate) struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    capacity: usize,
    began: f64,
    lifetime: f64,
    /// The keys of records that were handed out to be changed, when someone keeps track.
    changed: Option<HashSet<K>>,
}

impl<K: Hash + Eq + Copy, V> Generations<K, V> {
    /// Holds at most `capacity` records; those that are not seen for `lifetime` seconds go.
    pub(crate) fn new(capacity: usize, lifetime: f64) -> Self {
        let capacity = (capacity / 2).max(1);
        Generations {
            young: HashMap::new(),
            old: HashMap::new(),
            capacity,
            began: f64::NEG_INFINITY,
            lifetime,
            changed: None,
        }
    }

    /// Keeps track of changes from here on.
    pub(crate) fn track_changes(&mut self) {
        self.changed.get_or_insert_default();
    }

    /// The records that changed since the last call; those that were forgotten since are left out.
    pub(crate) fn take_changed(&mut self) -> impl Iterator<Item = (K, &V)> {
        let changed = self.changed.as_mut().map(std::mem::take).unwrap_or_default();
        changed.into_iter().filter_map(|key| Some((key, self.get(key)?)))
    }

    fn note_change(&mut self, key: K) {
        let Some(changed) = &mut self.changed else { return };
        changed.insert(key);
        // Nobody asked for a long time: nodes forgotten meanwhile need not be reported.
        if changed.len() > 4 * self.capacity {
            changed.retain(|key| self.young.contains_key(key) || self.old.contains_key(key));
        }
    }

    pub(crate) fn get(&self, key: K) -> Option<&V> {
        self.young.get(&key).or_else(|| self.old.get(&key))
    }

    /// The record of a key, made when it is not there.
    pub(crate) fn entry(&mut self, key: K, now: f64, make: impl FnOnce() -> V) -> &mut V {
        self.note_change(key);
        let is_full = self.young.len() >= self.capacity && !self.young.contains_key(&key);
        if is_full || now - self.began > self.lifetime {
            self.old = std::mem::take(&mut self.young);
            self.began = now;
        }
        let old = &mut self.old;
        self.young.entry(key).or_insert_with(|| old.remove(&key).unwrap_or_else(make))
    }

    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.note_change(key);
        match self.young.get_mut(&key) {
            Some(value) => Some(value),
            None => self.old.get_mut(&key),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

impl Node {
    pub(crate) fn new(now: f64) -> Self {
        Node {
            visits: 0,
            last_seen: now,
            gaps: [0.0; 3],
            entry: None,
            sent: None,
            child: 0,
            branched: false,
            watch: None,
            tail: false,
            lineage: [0.0; 2],
        }
    }
}

/// The entries of the modelled cache are on their nodes.
#[derive(Debug)]
pub(crate) struct NodeEntries<'n> {
    pub(crate) nodes: &'n mut Generations<PrefixHash, Node>,
    pub(crate) now: f64,
}

impl Entries for NodeEntries<'_> {
    fn entry(&self, prefix: PrefixHash) -> Option<CacheEntry> {
        self.nodes.get(prefix).and_then(|node| node.entry)
    }

    fn put(&mut self, prefix: PrefixHash, entry: CacheEntry) {
        self.nodes.entry(prefix, self.now, || Node::new(self.now)).entry = Some(entry);
    }
}

/// The entries of the cache as it would be without plans.
#[derive(Debug)]
pub(crate) struct SentEntries<'n>(pub(crate) NodeEntries<'n>);

impl Entries for SentEntries<'_> {
    fn entry(&self, prefix: PrefixHash) -> Option<CacheEntry> {
        self.0.nodes.get(prefix).and_then(|node| node.sent)
    }

    fn put(&mut self, prefix: PrefixHash, entry: CacheEntry) {
        let now = self.0.now;
        self.0.nodes.entry(prefix, now, || Node::new(now)).sent = Some(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_is_bounded_and_what_is_used_stays() {
        let mut generations: Generations<u64, u64> = Generations::new(8, 1e9);
        for key in 0..1000 {
            *generations.entry(key, 0.0, || 0) += key;
            *generations.entry(7_000, 0.0, || 5) += 1;
            assert!(generations.len() <= 8);
        }
        assert_eq!(generations.get(7_000), Some(&1005));
        assert_eq!(generations.get(1), None);
    }

    #[test]
    fn changes_are_told_once_and_forgotten_records_never() {
        let mut generations: Generations<u64, u64> = Generations::new(4, 1e9);
        generations.entry(1, 0.0, || 1);
        assert_eq!(generations.take_changed().count(), 0);
        generations.track_changes();
        for key in 2..100 {
            generations.entry(key, 0.0, || key);
        }
        assert!(generations.take_changed().count() <= 4);
        assert_eq!(generations.take_changed().count(), 0);
        if let Some(value) = generations.get_mut(99) {
            *value = 7;
        }
        assert_eq!(generations.take_changed().collect::<Vec<_>>(), [(99, &7)]);
    }

    #[test]
    fn what_is_not_seen_for_long_goes() {
        let mut generations: Generations<u64, u64> = Generations::new(1000, 10.0);
        generations.entry(1, 0.0, || 1);
        generations.entry(2, 11.0, || 1);
        assert!(generations.get(1).is_some());
        generations.entry(3, 22.0, || 1);
        assert!(generations.get(1).is_none());
        assert!(generations.get_mut(2).is_some());
    }
}
