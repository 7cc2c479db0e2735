//! Prompts as the studio shows them, block by block. `stave_runtime::evidence` is the form in which they are kept.

use stave_block::{BlockContentType, PromptRole, Provenance, Sensitivity};
use stave_runtime::evidence::{
    AskedIr, CalledTool, GateEntry, PolicyHit, PromptChange, SectionCut, ToolAnswer,
};
use stave_runtime::report_document::TokenUsage;
use stave_shape::{Nullable, Shape};

use super::run_view_types::FilePlace;

/// A prompt that was sent to a model, or rejected.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct AskedPrompt {
    /// The step that sent the prompt.
    pub(crate) path: String,
    pub(crate) provider: String,
    pub(crate) model: String,
    /// Time at which the prompt was ready.
    pub(crate) asked_at: Nullable<String>,
    /// Prompt IR that was sent.
    pub(crate) prompt_ir: Nullable<AskedIr>,
    /// Number of tokens in the prompt, if known.
    pub(crate) tokens: Nullable<u64>,
    /// Token limit of the prompt.
    pub(crate) budget: Nullable<u64>,
    pub(crate) verdict: PromptVerdict,
    pub(crate) transformations: Vec<PromptChange>,
    pub(crate) cuts: Vec<SectionCut>,
    /// Actions of the sensitivity gate.
    pub(crate) gate: Vec<GateEntry>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) turns: Vec<Turn>,
}

/// Result of the policy check.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct PromptVerdict {
    pub(crate) approved: bool,
    /// Stage that rejected the prompt.
    pub(crate) stage: Nullable<String>,
    pub(crate) violations: Vec<PolicyHit>,
}

/// A block of a prompt after the sensitivity gate.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Block {
    pub(crate) index: u64,
    /// Source section of the block.
    pub(crate) name: Nullable<String>,
    /// Stable name of the block.
    pub(crate) span_id: Nullable<String>,
    pub(crate) role: PromptRole,
    #[shape(rename = "type")]
    pub(crate) content_type: BlockContentType,
    pub(crate) provenance: Provenance,
    pub(crate) sensitivity: Sensitivity,
    pub(crate) tokens: Nullable<u32>,
    pub(crate) content: String,
    /// Whether the content is truncated.
    pub(crate) truncated: bool,
    /// Whether the content was not stored.
    pub(crate) withheld: bool,
    /// Whether the provider read the block from its cache or wrote it there.
    pub(crate) cache: BlockCache,
    /// Whether the block is the same in every request.
    pub(crate) stable: bool,
    pub(crate) origin: Nullable<FilePlace>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum BlockCache {
    Read,
    Written,
    None,
}

/// One turn: the model's reply and the results of its tool calls.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Turn {
    pub(crate) number: u64,
    pub(crate) text: Nullable<String>,
    pub(crate) tool_calls: Vec<CalledTool>,
    pub(crate) tool_results: Vec<ToolAnswer>,
    pub(crate) usage: Nullable<TokenUsage>,
    /// Why the model stopped.
    pub(crate) stop: Nullable<String>,
}
