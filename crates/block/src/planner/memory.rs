//! What a planner knows as plain records, for a store that outlives the process.
//!
//! Invariant: a planner that starts from all records it ever gave out knows the same prefixes and beliefs.

use crate::{CacheEntry, PrefixHash, RequestTraits, Ttl};

use super::belief::{Layer, LayerKey, Place};
use super::nodes::Node;
use super::{Planner, PlannerSettings};

/// What is worth keeping of a planner: hashes, counts and times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlannerMemory {
    pub bytes_per_token: Option<f64>,
    pub nodes: Vec<NodeRecord>,
    pub layers: Vec<LayerRecord>,
}

/// A prefix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeRecord {
    pub prefix: PrefixHash,
    pub visits: u32,
    pub last_seen: f64,
    pub gaps: [f32; 3],
    pub child: PrefixHash,
    pub branched: bool,
    pub tail: bool,
    pub lineage: [f32; 2],
    pub entry: Option<CacheEntry>,
}

/// A belief.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerRecord {
    pub profile: u64,
    /// The place and the shape as one number.
    pub code: u32,
    pub last_seen: f64,
    pub counts: [f64; 5],
}

impl Planner {
    /// Keeps track of what changes from here on, for [`Planner::changes`].
    pub fn track_changes(&mut self) {
        self.nodes.track_changes();
        self.layers.track_changes();
    }

    /// What changed since the last call. Without [`Planner::track_changes`] it is nothing.
    pub fn changes(&mut self, now: f64) -> PlannerMemory {
        PlannerMemory {
            bytes_per_token: Some(self.bytes_per_token),
            nodes: self.nodes.take_changed().map(|(prefix, node)| node_record(prefix, node)).collect(),
            layers: self.layers.take_changed().map(|(key, layer)| layer_record(key, layer, now)).collect(),
        }
    }

    /// A planner that continues where another stopped. What is too old to matter is left out.
    #[must_use]
    pub fn with_memory(settings: PlannerSettings, memory: &PlannerMemory, now: f64) -> Self {
        let mut planner = Planner::new(settings);
        if let Some(bytes) = memory.bytes_per_token.filter(|bytes| (1.5..=8.0).contains(bytes)) {
            planner.bytes_per_token = bytes;
        }
        for record in &memory.nodes {
            if now - record.last_seen > settings.lifetime_seconds {
                continue;
            }
            let node = Node {
                visits: record.visits,
                last_seen: record.last_seen,
                gaps: record.gaps,
                entry: record.entry,
                sent: None,
                child: record.child,
                branched: record.branched,
                watch: None,
                tail: record.tail,
                lineage: record.lineage,
            };
            planner.nodes.entry(record.prefix, now, || node);
        }
        for record in &memory.layers {
            if let Some(key) = key(record.profile, record.code) {
                planner.layers.entry(key, now, || Layer::from_counts(record.counts));
            }
        }
        planner
    }
}

fn node_record(prefix: PrefixHash, node: &Node) -> NodeRecord {
    NodeRecord {
        prefix,
        visits: node.visits,
        last_seen: node.last_seen,
        gaps: node.gaps,
        child: node.child,
        branched: node.branched,
        tail: node.tail,
        lineage: node.lineage,
        entry: node.entry,
    }
}

fn layer_record(key: LayerKey, layer: &Layer, now: f64) -> LayerRecord {
    LayerRecord { profile: key.profile, code: code(key), last_seen: now, counts: layer.counts() }
}

const PLACES: [Place; 4] = [Place::Tools, Place::System, Place::History, Place::Tail];

fn code(key: LayerKey) -> u32 {
    let RequestTraits { tools, forced, turns, in_loop } = key.shape;
    let flags = [tools, forced, turns, in_loop];
    let shape = flags.iter().enumerate().map(|(bit, flag)| u32::from(*flag) << bit).sum::<u32>();
    let place = PLACES.iter().position(|place| *place == key.place).unwrap_or(0) as u32;
    place << 4 | shape
}

fn key(profile: u64, code: u32) -> Option<LayerKey> {
    let place = *PLACES.get((code >> 4) as usize)?;
    let bit = |bit: u32| code >> bit & 1 == 1;
    let shape = RequestTraits { tools: bit(0), forced: bit(1), turns: bit(2), in_loop: bit(3) };
    Some(LayerKey { profile, place, shape })
}

impl NodeRecord {
    /// The lifetime and the two times of its entry.
    #[must_use]
    pub fn entry_columns(&self) -> Option<(&'static str, f64, f64)> {
        self.entry.map(|entry| (entry.ttl.word(), entry.readable, entry.expires))
    }

    /// The entry from its columns.
    #[must_use]
    pub fn entry_from(ttl: &str, readable: f64, expires: f64) -> Option<CacheEntry> {
        Some(CacheEntry { ttl: Ttl::from_word(ttl)?, readable, expires })
    }
}
