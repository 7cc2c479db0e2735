//! The prompt line (specification 000): what a model is asked, within which budget and rules.
//!
//! A [`PromptIr`] is read with [`from_dict`] or made with [`PromptIrBuilder`], judged by a
//! [`governance::PolicySet`], changed by [`plugins`], both together in a [`Pipeline`], and turned into
//! the [sections](compile) of a model call that fit its token budget.
//!
//! Invariant: a [`PromptIr`] always holds values the specification allows, so everything after reading
//! may rely on them; and nothing here draws a time or an id other than through the ports it is given.

mod builder;
mod codec;
pub mod compile;
mod context_ref;
mod counts;
mod created_at;
mod digest;
mod fault_text;
pub mod governance;
mod hash;
mod model;
pub mod output;
mod parse;
mod pipeline;
pub mod plugins;
mod quantity;
pub mod resolve;

pub use builder::{DEFAULT_TOKEN_BUDGET, PromptBuildError, PromptIrBuilder};
pub use codec::{InvalidPrompt, PromptFault, PromptFaultKind, from_dict, schema, to_dict};
pub use context_ref::{CONTEXT_DIGEST_MARKER, ContextRef, FileSelection};
pub use counts::{CutCount, GateCount, PolicyCount, PromptCounts};
pub use created_at::{CreatedAt, NotATime};
pub use digest::{digest_bytes, extract};
pub use hash::{HASH_LENGTH, ShortHash, canonical, sha256, short_hash};
pub use model::{IR_VERSION, PromptIr};
pub use parse::{diagnose, diagnose_requirements, diagnose_verdict, parse};
pub use pipeline::{LogEntry, Pipeline, PipelineResult, PluginFailure, Stage, Statistics};
pub use quantity::{Priority, Temperature, TokenBudget};
pub use stave_vocabulary::PhaseType;
