//! The block line (specification 001): what exactly goes on the wire, who may see it, what is cached.
//!
//! A [`PromptIr`] is a sequence of addressable [`PromptBlock`]s, each with its role, origin, sensitivity
//! and token count. [`build`] makes one from neutral sections; [`to_value`] and [`from_value`] are its
//! wire form; [`gate`] decides where a block may go.
//!
//! Invariant: the blocks of an IR are numbered from 0 without a gap and no two share a span id.

mod build;
mod codec;
mod economics;
mod model;
mod normalize;
mod sensitivity;
mod span_id;

pub use build::{BlockSection, BuildError, Tokenizer, ToolSchema, Wire, build};
pub use codec::{Fault, InvalidBlocks, from_value, to_value};
pub use economics::CachePricing;
pub use model::{
    BlockContentType, PromptBlock, PromptIr, PromptRole, ProvenanceLabel, SensitivityLabel, SpanId,
    TokenizationMetadata, ToolSchemaHash,
};
pub use normalize::{canonicalize_json, normalize_whitespace};
pub use sensitivity::{Destination, Leak, Scope, gate};
pub use span_id::SpanIds;
