//! The only place two lines of the stave meet.
//!
//! - [`flow_to_exec`]: what the author wrote becomes what runs.
//! - [`flow_to_system`]: what the author wrote becomes what the system is and may touch.
//! - [`hold_to_contracts`]: what the system promises becomes what a run is held to.
//! - [`hold_to_labels`]: what the project says about its data becomes what a run is held to.
//! - [`hold_to_project`]: the same with its budget, for documents that were made earlier or elsewhere.
//! - [`workflow_leaks`]: what the project says about its data becomes what a workflow may send.
//! - [`prompt_to_exec`]: a prompt by itself becomes a document with one model step.
//! - [`prompt_to_block`]: a compiled prompt becomes addressable blocks.
//! - [`request_to_block`]: a client's body becomes blocks, each with its bytes in the body.
//! - [`block_to_request`]: blocks become a model request, or splices into the body they came from.
//!
//! Invariant: a lowering is a pure function of its arguments, and what it makes carries the origin of
//! what it was made from.

mod block_to_request;
mod flow_to_exec;
mod flow_to_system;
mod hold_to_contracts;
mod hold_to_labels;
mod hold_to_project;
mod prompt_to_block;
mod prompt_to_exec;
mod request_to_block;
mod step_effects;
mod workflow_leaks;

pub use block_to_request::{
    GatedBody, Governed, JudgedTooLong, PlacedText, RequestShape, RewritePolicy, Splice, Spliced,
    block_to_request, gate_body, gate_body_until, govern_body, outside_texts, placed_texts, plan_splices,
    position_texts, rewrite_body, splice_plan,
};
pub use flow_to_exec::{DefaultModel, ExecSettings, flow_to_exec};
pub use flow_to_system::{
    Knowledge, KnowledgeFile, SystemFlow, SystemSettings, SystemSource, SystemWorkflow, flow_to_system,
    read_knowledge, system_intent,
};
pub use hold_to_contracts::{NoContract, hold_to_contracts};
pub use hold_to_labels::hold_to_labels;
pub use hold_to_project::hold_to_project;
pub use prompt_to_block::{PromptBlocks, prompt_to_block, sent_sections};
pub use prompt_to_exec::{ANSWER, ASK, prompt_to_exec};
pub use request_to_block::{
    BlockPlace, BlockSpan, BodyValue, NoSpanMemory, RequestBlocks, RequestBody, RequestFault, SpanDigests,
    SpanMemory, TapeFault, block_spans, detect_surface, read_wire, request_to_block, span_id_at,
};
pub use workflow_leaks::workflow_leaks;
