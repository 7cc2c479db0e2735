//! Where content came from.

use stave_shape::Shape;

/// Where content came from, from most to least trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Shape)]
#[shape(words)]
pub enum Provenance {
    System,
    /// A text that the author of the flow or template wrote.
    Developer,
    /// Agent memory or the history of a conversation.
    Memory,
    /// The answer of a tool or of another model.
    Tool,
    /// A retrieved document.
    Retrieval,
    User,
}
