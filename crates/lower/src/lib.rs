//! The only place two lines of the stave meet.
//!
//! - [`flow_to_exec`]: what the author wrote becomes what runs.
//! - [`prompt_to_block`]: a compiled prompt becomes addressable blocks.
//! - [`block_to_request`]: blocks become a model request.
//!
//! Invariant: a lowering is a pure function of its arguments, and what it makes carries the origin of
//! what it was made from.

mod block_to_request;
mod flow_to_exec;
mod prompt_to_block;

pub use block_to_request::{RequestShape, block_to_request};
pub use flow_to_exec::{DefaultModel, ExecSettings, flow_to_exec};
pub use prompt_to_block::{PromptBlocks, prompt_to_block};
