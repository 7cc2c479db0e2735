//! The neutral model: what is asked of a model and what it answers, in no provider's words.
//!
//! Invariant: nothing a wire carried is lost. What the neutral types have no name for stays in the `extra`
//! object of the level it was found on, and the codec of the same wire writes it back to the same place.

mod accumulator;
mod request;
mod response;

pub use accumulator::Accumulator;
pub use request::{
    CacheMark, CacheTtl, FunctionTool, Media, MediaSource, Message, Part, PartKind, Request, ResponseSchema,
    Role, Thinking, Tool, ToolChoice, ToolResult, ToolUse,
};
pub use response::{Response, StopReason, StreamEvent, Usage};
