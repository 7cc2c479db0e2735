//! The blocks of a body without their contents: what a record may keep of a request.

use stave_block::{
    BlockContentType, PrefixHash, PromptRole, Provenance, SpanDigest, SpanId, SpanIds, WirePrompt,
};

use super::RequestFault;
use super::sections::read_spans;

/// A block of a body without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSpan {
    pub digests: SpanDigests,
    pub role: PromptRole,
    pub content_type: BlockContentType,
    pub provenance: Provenance,
    /// How many bytes the model is shown of it, about.
    pub length: u32,
    /// The positions of the wire that it is made of.
    pub positions: Vec<usize>,
}

/// What distinguishes a block from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanDigests {
    pub span: SpanDigest,
    /// The SHA-256 of a tool's definition or of an output schema. Such a block keeps its span when its content changes.
    pub schema: Option<[u8; 32]>,
}

/// Remembers the digests of blocks by the hash of everything up to their end, so that the beginning of a conversation is
/// read once.
pub trait SpanMemory {
    fn get(&mut self, prefix: PrefixHash) -> Option<SpanDigests>;

    fn keep(&mut self, prefix: PrefixHash, digests: SpanDigests);
}

/// Remembers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSpanMemory;

impl SpanMemory for NoSpanMemory {
    fn get(&mut self, _: PrefixHash) -> Option<SpanDigests> {
        None
    }

    fn keep(&mut self, _: PrefixHash, _: SpanDigests) {}
}

/// The blocks of a body whose positions are known, in the order of its block document and with its span ids.
pub fn block_spans(
    body: &str,
    wire: &WirePrompt,
    known: &mut dyn SpanMemory,
) -> Result<Vec<BlockSpan>, RequestFault> {
    read_spans(body, wire, known)
}

/// The span id of the block that a position of the wire belongs to.
#[must_use]
pub fn span_id_at(spans: &[BlockSpan], position: usize) -> Option<SpanId> {
    let mut ids = SpanIds::new();
    spans.iter().find_map(|span| {
        // Every block before it counts, because equal ones are numbered.
        let id = ids.next_of(span.role, span.digests.span);
        span.positions.contains(&position).then_some(id)
    })
}
