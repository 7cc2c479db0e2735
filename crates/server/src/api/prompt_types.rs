//! Prompts as the studio shows them, block by block. `stave_runtime::evidence` is the form in which they are kept.

use stave_block::{BlockContentType, PromptRole, Provenance, Sensitivity};
use stave_runtime::evidence::{CalledTool, GateEntry, PolicyHit, PromptChange, SectionCut, ToolAnswer};
use stave_shape::{Nullable, Shape};

use super::run_types::Usage;
use super::run_view_types::FilePlace;

/// A prompt that was put to a model, or refused.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct AskedPrompt {
    /// The step that asked.
    pub(crate) path: String,
    pub(crate) provider: String,
    pub(crate) model: String,
    /// The tokens of the prompt, where they are known.
    pub(crate) tokens: Nullable<u64>,
    /// The most tokens that it may have.
    pub(crate) budget: Nullable<u64>,
    pub(crate) verdict: PromptVerdict,
    pub(crate) transformations: Vec<PromptChange>,
    pub(crate) cuts: Vec<SectionCut>,
    /// What the sensitivity gate did.
    pub(crate) gate: Vec<GateEntry>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) turns: Vec<Turn>,
}

/// What the policies said.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct PromptVerdict {
    pub(crate) approved: bool,
    /// Where it was refused.
    pub(crate) stage: Nullable<String>,
    pub(crate) violations: Vec<PolicyHit>,
}

/// A block of a prompt, as the gate left it.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Block {
    pub(crate) index: u64,
    /// The section that it was made from.
    pub(crate) name: Nullable<String>,
    pub(crate) role: PromptRole,
    #[shape(rename = "type")]
    pub(crate) content_type: BlockContentType,
    pub(crate) provenance: Provenance,
    pub(crate) sensitivity: Sensitivity,
    pub(crate) tokens: Nullable<u32>,
    pub(crate) content: String,
    /// Whether the content is only the beginning of it.
    pub(crate) truncated: bool,
    /// Whether the content is not kept.
    pub(crate) withheld: bool,
    /// Whether the provider's cache had it.
    pub(crate) cache: BlockCache,
    /// Whether it is the same for every request.
    pub(crate) stable: bool,
    pub(crate) origin: Nullable<FilePlace>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum BlockCache {
    Read,
    Written,
    None,
}

/// What a model said, and what tools answered.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Turn {
    pub(crate) number: u64,
    pub(crate) text: Nullable<String>,
    pub(crate) tool_calls: Vec<CalledTool>,
    pub(crate) tool_results: Vec<ToolAnswer>,
    pub(crate) usage: Nullable<Usage>,
    /// Why the model stopped.
    pub(crate) stop: Nullable<String>,
}
