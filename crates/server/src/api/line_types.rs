//! A flow as a document of each line, with the text ranges of each element in them.

use stave_canon::Value;
use stave_shape::{Nullable, Shape};

use super::text_types::Range;

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Lines {
    pub(crate) flow: LineText,
    pub(crate) exec: LineText,
    pub(crate) system: LineText,
    pub(crate) bundle: LineText,
    pub(crate) manifest: LineText,
    pub(crate) parts: Vec<Part>,
    pub(crate) facts: LineFacts,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct LineText {
    pub(crate) text: String,
}

/// An element of the flow with its text ranges in each document.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Part {
    pub(crate) id: String,
    pub(crate) kind: PartKind,
    pub(crate) title: String,
    pub(crate) flow: Vec<Range>,
    pub(crate) exec: Vec<Range>,
    pub(crate) system: Vec<Range>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum PartKind {
    Flow,
    Node,
    Edge,
    Policy,
    Deployment,
    Integration,
    Entity,
    Other,
}

/// Ownership, effects and contracts of the flow.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct LineFacts {
    pub(crate) tenant: Nullable<String>,
    pub(crate) repo: Nullable<String>,
    pub(crate) policy: Nullable<String>,
    pub(crate) fingerprints: Fingerprints,
    pub(crate) effects: Vec<LineEffect>,
    pub(crate) contracts: Vec<LineContract>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Fingerprints {
    pub(crate) exec: String,
    pub(crate) system: String,
    pub(crate) bundle: String,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct LineEffect {
    pub(crate) kind: LineEffectKind,
    pub(crate) what: String,
    pub(crate) nodes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(words)]
pub(crate) enum LineEffectKind {
    Network,
    Secret,
    Tool,
    State,
    Other,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct LineContract {
    pub(crate) node: String,
    pub(crate) kind: String,
    /// Inputs, outputs and budget in one line.
    pub(crate) summary: String,
    pub(crate) contract: Value,
}
