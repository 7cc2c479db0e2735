//! What earlier requests looked like, as hashes: enough to say where a later one parted from them.
//!
//! Invariant: no text is kept, and no more than a bounded number of positions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use stave_block::{Position, PrefixHash, PromptRole, SpanDigest, SpanIds, WirePrompt};
use stave_lower::{BlockSpan, SpanDigests, SpanMemory};

/// How many conversations are remembered.
const SESSIONS: usize = 4096;
/// How many positions of each.
const POSITIONS: usize = 512;
/// How many prefixes are remembered as clean, in each of two generations.
const CLEAN: usize = 1 << 16;
/// How many blocks are remembered by what is before them, in each of two generations.
const SPANS: usize = 1 << 15;

/// The last request of each conversation.
#[derive(Debug, Default)]
pub(crate) struct SeenPrompts(Mutex<Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    last: HashMap<u64, SeenRequest>,
    order: VecDeque<u64>,
}

/// What is remembered of a request.
#[derive(Debug)]
struct SeenRequest {
    prefixes: Vec<PrefixHash>,
    /// In the order of the block document.
    blocks: Vec<SeenBlock>,
}

/// A block by what its span id is made of, with its first and last position.
#[derive(Debug, Clone, Copy)]
struct SeenBlock {
    role: PromptRole,
    span: SpanDigest,
    first: u32,
    last: u32,
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
    /// The span id of the block at the difference, and of the block that was there before.
    pub(crate) block: Option<String>,
    pub(crate) block_before: Option<String>,
}

impl SeenPrompts {
    /// Remembers a request, and says where it parts from the one before it; `None` when it only continues.
    pub(crate) fn compare(
        &self,
        session: &str,
        wire: &WirePrompt,
        spans: Option<&[BlockSpan]>,
    ) -> Option<Parting> {
        let session = number(session);
        let prefixes: Vec<PrefixHash> =
            wire.positions.iter().take(POSITIONS).map(|position| position.prefix).collect();
        let blocks = spans.unwrap_or_default().iter().filter_map(SeenBlock::of).collect();
        let request = SeenRequest { prefixes, blocks };
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = sessions.last.insert(session, request);
        if before.is_none() {
            sessions.order.push_back(session);
            if sessions.order.len() > SESSIONS
                && let Some(oldest) = sessions.order.pop_front()
            {
                sessions.last.remove(&oldest);
            }
        }
        drop(sessions);
        let SeenRequest { prefixes: before, blocks: blocks_before } = before?;
        let positions = &wire.positions;
        let common =
            before.iter().zip(positions).take_while(|(prefix, position)| **prefix == position.prefix).count();
        if common == before.len() || common >= positions.len() {
            return None;
        }
        let bytes = |positions: &[Position]| positions.iter().map(Position::shown_bytes).sum();
        let blocks: Vec<SeenBlock> = spans.unwrap_or_default().iter().filter_map(SeenBlock::of).collect();
        Some(Parting {
            place: place(positions, common),
            common: bytes(&positions[..common]),
            lost: bytes(&positions[common..]),
            block: block_at(&blocks, common),
            block_before: block_at(&blocks_before, common),
        })
    }
}

impl SeenBlock {
    /// A block among the positions that are remembered.
    fn of(span: &BlockSpan) -> Option<SeenBlock> {
        let (first, last) = (*span.positions.first()?, *span.positions.last()?);
        let number = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
        (first < POSITIONS).then(|| SeenBlock {
            role: span.role,
            span: span.digests.span,
            first: number(first),
            last: number(last),
        })
    }
}

/// The span id of the block that a position belongs to.
fn block_at(blocks: &[SeenBlock], position: usize) -> Option<String> {
    let position = u32::try_from(position).ok()?;
    let mut ids = SpanIds::new();
    blocks.iter().find_map(|block| {
        // Every block before it counts, because equal ones are numbered.
        let id = ids.next_of(block.role, block.span);
        (block.first..=block.last).contains(&position).then_some(id.0)
    })
}

/// The digests of blocks that were read before.
#[derive(Debug, Default)]
pub(crate) struct KnownSpans(Mutex<[HashMap<PrefixHash, SpanDigests>; 2]>);

impl SpanMemory for &KnownSpans {
    fn get(&mut self, prefix: PrefixHash) -> Option<SpanDigests> {
        let maps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        maps.iter().find_map(|map| map.get(&prefix).copied())
    }

    fn keep(&mut self, prefix: PrefixHash, digests: SpanDigests) {
        let mut maps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        maps[0].insert(prefix, digests);
        if maps[0].len() > SPANS {
            maps.swap(0, 1);
            maps[0].clear();
        }
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
    /// How many positions at the start of a request are known to be clean. `rules` identifies what they are
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
