//! The block line (specification 001): what exactly is sent, who may see it, what is cached.
//!
//! A [`BlockIr`] is a sequence of addressable [`PromptBlock`]s, each with its role, origin, sensitivity
//! and token count. [`build`] makes one from neutral sections; [`to_value`] and [`from_value`] are its
//! wire form; [`gate`] decides where a block may go.
//!
//! A [`WirePrompt`] is the same request as positions in the order in which its provider caches it.
//! [`Planner`] decides what to mark, [`simulate()`] replays traces by the rules in `data/`.
//!
//! Invariant: the blocks of an IR are numbered from 0 without a gap and no two share a span id.

mod as_seen;
mod build;
mod check_digits;
mod codec;
mod difference;
mod economics;
mod escaped;
mod find_sensitive;
mod govern;
mod joined_parts;
mod labels;
mod marked_cache;
mod model;
mod normalize;
mod planner;
mod rules;
mod sensitive_rules;
mod sensitivity;
mod simulate;
mod span_id;
mod store;
mod variables;
mod wire;

pub use build::{BlockBuildError, BlockSection, Tokenizer, ToolSchema, Wire, build};
pub use codec::{InvalidBlocks, from_value, schema, to_value};
pub use difference::{RequestDifference, first_difference};
pub use economics::CachePricing;
pub use escaped::Escaped;
pub use find_sensitive::{JoinedText, SensitiveMatch, find_sensitive};
pub use govern::{Gate, GateVerdict, GovernedBlocks, govern_blocks, redaction};
pub use labels::{GateAction, GateRecord, SensitivityPolicy};
pub use marked_cache::{CacheEntry, Entries, Measured, Served, serve};
pub use model::{
    BlockContentType, BlockIr, PromptBlock, PromptRole, SpanId, TokenizationMetadata, ToolSchemaHash,
};
pub use normalize::{canonicalize_json, normalize_whitespace};
pub use planner::{
    CachePlan, Counters, LayerRecord, NodeRecord, PlanRequest, Planner, PlannerMemory, PlannerSettings,
};
pub use rules::{AutomaticFamily, AutomaticRules, CacheRules, MarkedRules};
pub use sensitive_rules::{
    BadGateRule, GateRules, LONGEST_GATE_REGEX, MOST_GATE_RULES, OwnRule, check_rule_name, gate_regex,
};
pub use sensitivity::{DataScope, Destination, Leak, gate};
pub use simulate::{
    ProviderRefusal, Replay, Strategy, Totals, TracedRequest, refusal, simulate, tokens_by_bytes,
};
pub use span_id::{SpanDigest, SpanIds};
pub use stave_vocabulary::{Provenance, Sensitivity};
pub use store::{PlannerStore, StoreError, StoreLimits};
pub use variables::{Variable, VariableKind, find_variables, template};
pub use wire::{Mark, Position, PositionKind, PrefixHash, RequestTraits, Surface, Ttl, WirePrompt};
