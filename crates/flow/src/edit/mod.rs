//! Edits: typed commands applied to the text of a flow, with comments and layout kept.
//!
//! A command says what the flow is to be; the text is changed in the few places where it differs, read
//! again and compared with what was meant. Nothing is returned unless it is exactly that.
//!
//! Invariants: bytes that an edit is not about stay as they are; an edit that would add errors is refused
//! unless it says otherwise; the inverse of an edit restores the bytes.

mod apply;
mod blank;
mod catalogue;
mod change;
pub mod chat;
mod command;
#[cfg(test)]
mod laws;
mod lines;
mod matching;
mod reconcile;
mod render;
mod state;

use stave_diag::{Diagnostic, Span};

pub use apply::{Edited, apply};
pub use blank::blank_node;
pub use catalogue::{COMMANDS, CommandField, CommandShape, FieldKind, command_schema, request_schema};
pub use command::{Direction, EditRequest, FlowEdit};
pub(crate) use matching::{Step, identity, steps};
pub(crate) use state::{Donor, State, rewrite};

/// Why an edit was not made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EditError {
    #[error("the text is not YAML that holds a mapping")]
    NotAFlow { diagnostics: Vec<Diagnostic> },
    #[error("the flow is not the one that the edit was made for: its hash is {found}, not {expected}")]
    OtherBase { expected: String, found: String },
    #[error("there is no {what}")]
    Unknown { what: String, help: Option<String> },
    #[error("there is already {what}")]
    Exists { what: String },
    #[error("{message}")]
    Invalid { message: String },
    #[error("the text at byte {at} is not `{expected}`")]
    OtherText { at: usize, expected: String },
    #[error("the value comes from an anchor, and changing it here would change it elsewhere too")]
    Alias { span: Span },
    #[error("the text cannot be changed here without rewriting more of it")]
    Layout { span: Span },
    #[error("the edit would add errors to the flow")]
    AddsErrors {
        /// The errors that the flow did not have, with places in `text`.
        diagnostics: Vec<Diagnostic>,
        text: String,
    },
}

impl EditError {
    fn unknown<'name>(what: &str, name: &str, known: impl IntoIterator<Item = &'name str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let help = match stave_diag::did_you_mean(name, known.iter().copied()) {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None if known.is_empty() => None,
            None => Some(format!("there are {}", known.join(", "))),
        };
        EditError::Unknown { what: format!("{what} `{name}`"), help }
    }

    fn invalid(message: impl Into<String>) -> Self {
        EditError::Invalid { message: message.into() }
    }
}
