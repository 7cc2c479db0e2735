//! Edges between ports.

use stave_diag::Span;

use super::{Extra, Readable, Spanned, Text};

/// The pseudo-node whose outputs are the request's fields.
pub const INPUT: &str = "_input";
/// The pseudo-node whose inputs make up the response.
pub const OUTPUT: &str = "_output";

/// Carries a value from one port to another. [`crate::graph`] resolves its ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// The edge's mapping.
    pub span: Span,
    /// Its place in `edges`.
    pub index: usize,
    pub from: Option<Endpoint>,
    pub to: Option<Endpoint>,
    /// An expression over the source's value that decides whether the edge is active.
    pub condition: Readable<Text>,
    /// `else: true`: the edge is active when no edge with a condition from the same port is. Absent for `false`.
    pub otherwise: Option<Span>,
    /// An expression over the source's value whose result travels instead.
    pub transform: Readable<Text>,
    pub extra: Vec<Extra>,
}

/// `node.port`, or `node` alone for its default port.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// The whole scalar without quotes.
    pub span: Span,
    pub node: Spanned<String>,
    pub port: Option<Spanned<String>>,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.node.value)?;
        match &self.port {
            Some(port) => write!(out, ".{}", port.value),
            None => Ok(()),
        }
    }
}
