//! Prompts as addressable blocks, as plain data.

use std::fmt;

use stave_canon::Timestamp;
use stave_shape::Shape;
use uuid::Uuid;

use crate::codec::{blocks_have_their_own_ids, carries_its_index, id, time};

/// Declares an enum of plain words together with its wire names.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(stave_shape::Shape)]
        pub enum $name {
            $($(#[$variant_meta])* #[shape(rename = $word)] $variant,)*
        }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The word on the wire.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }

            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some($name::$variant),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(self.word())
            }
        }
    };
}

pub(crate) use words;

words! {
    /// What a block's content is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    BlockContentType {
        Text = "text",
        /// A tool definition.
        ToolSchema = "tool_schema",
        /// What a tool call gave back.
        ToolResult = "tool_result",
        /// The schema of structured output, or such output.
        StructuredOutput = "structured_output",
        /// An image, by value or by reference.
        Image = "image",
    }
}

words! {
    /// Who speaks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    PromptRole {
        System = "system",
        User = "user",
        Assistant = "assistant",
        Tool = "tool",
    }
}

words! {
    /// Where content came from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    ProvenanceLabel {
        System = "system",
        /// A template the developer wrote.
        Developer = "developer",
        User = "user",
        Tool = "tool",
        /// A retrieved document.
        Retrieval = "retrieval",
        /// Agent memory or conversation history.
        Memory = "memory",
    }
}

words! {
    /// Who may see content. The order is from open to closed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    SensitivityLabel {
        #[default]
        Public = "public",
        Private = "private",
        /// Must not leave the scope it came from.
        Restricted = "restricted",
    }
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
    pub provenance: ProvenanceLabel,
    #[shape(default)]
    pub sensitivity: SensitivityLabel,
    pub token_metadata: Option<TokenizationMetadata>,
}

/// A whole prompt.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open, check = blocks_have_their_own_ids)]
pub struct PromptIr {
    #[shape(with = id)]
    pub ir_id: Uuid,
    pub blocks: Vec<PromptBlock>,
    /// `None` when tools play no part, empty when there could be some and are none.
    pub tool_schema_hashes: Option<Vec<ToolSchemaHash>>,
    pub structured_output_schema_id: Option<String>,
    /// The hash of the request that the blocks were made from.
    pub source_request_hash: Option<String>,
    #[shape(with = time)]
    pub created_at: Timestamp,
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

impl PromptIr {
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
    pub fn sensitivity(&self) -> SensitivityLabel {
        self.blocks.iter().map(|block| block.sensitivity).max().unwrap_or_default()
    }
}
