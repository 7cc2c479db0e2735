//! Prompts as addressable blocks, as plain data.

use std::fmt;

use stave_canon::Timestamp;
use stave_shape::Shape;
use stave_vocabulary::{Provenance, Sensitivity};
use uuid::Uuid;

use crate::codec::{blocks_have_their_own_ids, carries_its_index, id, time};

// The specification has the first five words.
/// What a block's content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Shape)]
#[shape(words)]
pub enum BlockContentType {
    Text,
    /// A tool definition.
    ToolSchema,
    /// What a tool call gave back.
    ToolResult,
    /// The schema of structured output, or such output.
    StructuredOutput,
    /// An image, by value or by reference.
    Image,
    /// A document or what a search found, by value or by reference.
    Document,
    /// A sound, by value or by reference.
    Audio,
    /// What a model thought before it answered.
    Thinking,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Shape)]
#[shape(words)]
pub enum PromptRole {
    System,
    User,
    Assistant,
    Tool,
}

/// The stable name of a block, made by [`crate::SpanIds`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Shape)]
pub struct SpanId(pub String);

/// How many tokens a block has, for which family of models.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct TokenizationMetadata {
    pub model_family: String,
    pub token_count: u32,
}

/// The fingerprint of a tool definition.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct ToolSchemaHash {
    pub tool_name: String,
    pub schema_hash: String,
}

/// One addressable piece of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open, check = carries_its_index)]
pub struct PromptBlock {
    pub span_id: SpanId,
    /// Its place in the prompt, from 0.
    pub sequence_index: u32,
    pub role: PromptRole,
    pub content: String,
    pub content_type: BlockContentType,
    pub provenance: Provenance,
    #[shape(default)]
    pub sensitivity: Sensitivity,
    pub token_metadata: Option<TokenizationMetadata>,
}

/// A whole prompt.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open, check = blocks_have_their_own_ids)]
pub struct BlockIr {
    #[shape(with = id)]
    pub ir_id: Uuid,
    pub blocks: Vec<PromptBlock>,
    /// `None` when tools play no part, empty when there could be some and there are none.
    pub tool_schema_hashes: Option<Vec<ToolSchemaHash>>,
    pub structured_output_schema_id: Option<String>,
    /// The hash of the request that the blocks were made from.
    pub source_request_hash: Option<String>,
    #[shape(with = time)]
    pub created_at: Timestamp,
}

impl BlockContentType {
    /// The type among those that the specification has, where everything else in a conversation is text.
    #[must_use]
    pub fn specified(self) -> Self {
        match self {
            Self::Document | Self::Audio | Self::Thinking => Self::Text,
            specified => specified,
        }
    }
}

impl SpanId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl BlockIr {
    /// The sum of the blocks' tokens; `None` when some block was not counted.
    #[must_use]
    pub fn token_count(&self) -> Option<u64> {
        self.blocks
            .iter()
            .map(|block| block.token_metadata.as_ref().map(|tokens| u64::from(tokens.token_count)))
            .sum()
    }

    /// The most closed label of any block.
    #[must_use]
    pub fn sensitivity(&self) -> Sensitivity {
        self.blocks.iter().map(|block| block.sensitivity).max().unwrap_or_default()
    }
}
