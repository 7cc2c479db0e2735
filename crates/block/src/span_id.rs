//! Stable span ids.
//!
//! An id is made from what a block is, never from its place: its role, content type, provenance
//! and sensitivity, and its name or else its content with normalised white space. So inserting, removing
//! or moving a block renames no other. A block with a name (a tool, a reference, a template) keeps its
//! id when its content changes, which is what makes two requests comparable block by block.
//!
//! Blocks that are the same in all of this are told apart by their order among themselves: the second
//! gets `-2`, the third `-3`. They are interchangeable, so inserting one more of them in front adds the
//! next number and leaves the set of the others as it was.
//!
//! The id of a block without a name shows whether two contents are equal, and nothing else about them.
//!
//! Invariant: one allocator never gives out the same id twice.

use std::collections::HashMap;

use stave_canon::Sha256;

use crate::{BlockSection, PromptRole, SpanId, normalize_whitespace};

/// What an id is made of beside the role and the number: the beginning of a hash, 16 hexadecimal digits of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanDigest(pub u64);

/// Gives the blocks of one IR their ids, in order.
#[derive(Debug, Default)]
pub struct SpanIds {
    used: HashMap<String, u32>,
}

impl SpanIds {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The id of the next block.
    pub fn next(&mut self, section: &BlockSection) -> SpanId {
        self.next_of(section.role, SpanDigest::of(section))
    }

    /// The id of the next block, whose content is not at hand any more.
    pub fn next_of(&mut self, role: PromptRole, digest: SpanDigest) -> SpanId {
        let base = format!("{}-{:016x}", role.word(), digest.0);
        let count = self.used.entry(base.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { SpanId(base) } else { SpanId(format!("{base}-{count}")) }
    }
}

impl SpanDigest {
    #[must_use]
    pub fn of(section: &BlockSection) -> SpanDigest {
        let mut hash = Sha256::new();
        let (mark, identity) = match &section.name {
            Some(name) => ("name", name.clone()),
            None => ("content", normalize_whitespace(&section.content)),
        };
        let words = [
            section.role.word(),
            section.content_type.word(),
            section.provenance.word(),
            section.sensitivity.word(),
            mark,
        ];
        for part in words.into_iter().chain([identity.as_str()]) {
            // The length in front keeps two different lists of parts from reading as the same bytes.
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let mut first = [0; 8];
        first.copy_from_slice(&hash.finish()[..8]);
        SpanDigest(u64::from_be_bytes(first))
    }
}
