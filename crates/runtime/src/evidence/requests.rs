//! The wire requests of the prompts that were kept, one after the other, each with all of its blocks.

use stave_block::{BlockIr, PromptBlock, SpanId, TokenizationMetadata};
use stave_canon::Timestamp;

use super::{AskedBlock, AskedPrompt, ModelTurn};

/// One wire request of a prompt.
#[derive(Debug, Clone)]
pub struct AskedRequest<'p> {
    pub prompt: &'p AskedPrompt,
    /// Its number among the requests of the prompt, from 0.
    pub index: usize,
    pub asked_at: Option<&'p str>,
    pub blocks: Vec<&'p AskedBlock>,
    /// How many of the blocks the request before it begins with, too; none for the first request of a prompt.
    pub shared_blocks: usize,
    /// What the model replied.
    pub turn: Option<&'p ModelTurn>,
}

/// The wire requests of a step, in the order in which they were sent.
#[must_use]
pub fn asked_requests(prompts: &[AskedPrompt]) -> Vec<AskedRequest<'_>> {
    prompts.iter().flat_map(AskedPrompt::requests).collect()
}

impl AskedPrompt {
    /// The wire requests of the prompt. One that was refused has a single request, which was never sent.
    pub fn requests(&self) -> impl Iterator<Item = AskedRequest<'_>> {
        let first = AskedRequest {
            prompt: self,
            index: 0,
            asked_at: self.asked_at.as_deref(),
            blocks: self.blocks.iter().collect(),
            shared_blocks: 0,
            turn: self.turns.first(),
        };
        std::iter::successors(Some(first), |before| {
            let later = self.later_requests.get(before.index)?;
            let shared = usize::try_from(later.shared_blocks).unwrap_or(usize::MAX).min(before.blocks.len());
            let common = before.blocks.iter().take(shared).copied();
            Some(AskedRequest {
                prompt: self,
                index: before.index + 1,
                asked_at: Some(&later.asked_at),
                blocks: common.chain(&later.blocks).collect(),
                shared_blocks: shared,
                turn: self.turns.get(before.index + 1),
            })
        })
    }

    /// How many of its wire requests are kept.
    #[must_use]
    pub fn request_count(&self) -> usize {
        1 + self.later_requests.len()
    }
}

impl AskedRequest<'_> {
    /// The sum of its blocks' tokens, where all are counted.
    #[must_use]
    pub fn tokens(&self) -> Option<u64> {
        let counts = self.blocks.iter().map(|block| block.tokens.map(u64::from));
        counts.sum::<Option<u64>>().filter(|_| !self.blocks.is_empty())
    }

    /// The block document of the request, with as much of the contents as is kept. `None` for a prompt that was refused
    /// before it had blocks, and for records of earlier versions.
    #[must_use]
    pub fn block_document(&self) -> Option<BlockIr> {
        let around = self.prompt.block_ir.as_ref()?;
        let later = self.index.checked_sub(1).and_then(|index| self.prompt.later_requests.get(index));
        let blocks = self.blocks.iter().enumerate().map(|(index, block)| {
            Some(PromptBlock {
                span_id: SpanId(block.span_id.clone()?),
                sequence_index: u32::try_from(index).ok()?,
                role: block.role,
                content: block.content.clone(),
                content_type: block.content_type,
                provenance: block.provenance,
                sensitivity: block.sensitivity,
                token_metadata: block.tokens.map(|token_count| TokenizationMetadata {
                    model_family: stave_llm::tokens::family_of(&self.prompt.model).to_owned(),
                    token_count,
                }),
            })
        });
        let ir_id = later.map_or(&around.ir_id, |later| &later.ir_id);
        let created_at = later.map_or(&around.created_at, |later| &later.asked_at);
        Some(BlockIr {
            ir_id: ir_id.parse().ok()?,
            blocks: blocks.collect::<Option<_>>()?,
            tool_schema_hashes: around.tool_schema_hashes.clone(),
            structured_output_schema_id: around.structured_output_schema_id.clone(),
            source_request_hash: around.source_request_hash.clone(),
            created_at: created_at.parse::<Timestamp>().ok()?,
        })
    }
}
