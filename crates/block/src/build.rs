//! From neutral sections to blocks.

use std::fmt;

use stave_canon::{Clock, Ids, Value, prefixed_sha256, rfc8785};
use thiserror::Error;
use uuid::Uuid;

use crate::{
    BlockContentType, BlockIr, PromptBlock, PromptRole, Provenance, Sensitivity, SpanIds,
    TokenizationMetadata, ToolSchemaHash,
};

/// One section of a prompt, from whatever line it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSection {
    pub role: PromptRole,
    pub content: String,
    pub content_type: BlockContentType,
    pub provenance: Provenance,
    pub sensitivity: Sensitivity,
    /// What the section is called where it comes from. A named block keeps its span id when its content
    /// changes; see [`SpanIds`].
    pub name: Option<String>,
}

/// A tool definition whose change must be noticed.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    pub name: String,
    pub schema: Value,
}

/// Counts tokens for one family of models.
#[derive(Clone, Copy)]
pub struct Tokenizer<'t> {
    pub model_family: &'t str,
    pub count: &'t dyn Fn(&str) -> u32,
}

/// What surrounds the sections of a prompt on the wire.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wire<'w> {
    pub tools: Option<&'w [ToolSchema]>,
    pub structured_output_schema: Option<&'w Value>,
    /// The request that the sections were made from.
    pub source_request: Option<&'w Value>,
    pub tokenizer: Option<Tokenizer<'w>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BlockBuildError {
    #[error("a prompt cannot have {0} blocks")]
    TooManyBlocks(usize),
    #[error("the id port gave {0:?}, which is not a UUID")]
    BadId(String),
}

impl BlockSection {
    /// A public text section.
    #[must_use]
    pub fn text(role: PromptRole, provenance: Provenance, content: impl Into<String>) -> Self {
        BlockSection {
            role,
            content: content.into(),
            content_type: BlockContentType::Text,
            provenance,
            sensitivity: Sensitivity::Public,
            name: None,
        }
    }

    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    #[must_use]
    pub fn sensitivity(mut self, sensitivity: Sensitivity) -> Self {
        self.sensitivity = sensitivity;
        self
    }

    #[must_use]
    pub fn content_type(mut self, content_type: BlockContentType) -> Self {
        self.content_type = content_type;
        self
    }
}

/// Makes a prompt of sections, in their order and with their content as it is.
pub fn build(
    sections: Vec<BlockSection>,
    wire: &Wire<'_>,
    ids: &dyn Ids,
    clock: &dyn Clock,
) -> Result<BlockIr, BlockBuildError> {
    let count = sections.len();
    let mut span_ids = SpanIds::new();
    let mut blocks = Vec::with_capacity(count);
    for (index, section) in sections.into_iter().enumerate() {
        blocks.push(PromptBlock {
            span_id: span_ids.next(&section),
            sequence_index: u32::try_from(index).map_err(|_| BlockBuildError::TooManyBlocks(count))?,
            role: section.role,
            content_type: section.content_type,
            provenance: section.provenance,
            sensitivity: section.sensitivity,
            token_metadata: wire.tokenizer.map(|tokenizer| TokenizationMetadata {
                model_family: tokenizer.model_family.to_owned(),
                token_count: (tokenizer.count)(&section.content),
            }),
            content: section.content,
        });
    }
    let id = ids.uuid();
    Ok(BlockIr {
        ir_id: Uuid::parse_str(&id).map_err(|_| BlockBuildError::BadId(id))?,
        blocks,
        tool_schema_hashes: wire.tools.map(|tools| tools.iter().map(ToolSchema::fingerprint).collect()),
        structured_output_schema_id: wire.structured_output_schema.map(hash),
        source_request_hash: wire.source_request.map(hash),
        created_at: clock.now(),
    })
}

impl ToolSchema {
    #[must_use]
    pub fn fingerprint(&self) -> ToolSchemaHash {
        ToolSchemaHash { tool_name: self.name.clone(), schema_hash: hash(&self.schema) }
    }
}

impl fmt::Debug for Tokenizer<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tokenizer").field("model_family", &self.model_family).finish_non_exhaustive()
    }
}

fn hash(value: &Value) -> String {
    prefixed_sha256(rfc8785(value))
}
