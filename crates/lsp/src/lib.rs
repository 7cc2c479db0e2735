//! The language server: messages in, answers out. What the answers say is decided in
//! [`stave_flow::service`]; here are the protocol, the open documents and their places in UTF-16.
//!
//! Invariant: the text of an open document is what the editor shows, and every place that leaves this
//! crate is a place of that text.

mod answers;
mod documents;
mod line_index;
mod server;

pub use documents::CheckOptionsSource;
pub use line_index::LineIndex;
pub use server::{LanguageServerError, serve, serve_stdio};
