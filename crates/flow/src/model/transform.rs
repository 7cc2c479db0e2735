//! What a node does: a declarative operation or code.

use stave_diag::Span;

use super::{Extra, Spanned, Text};
use crate::yaml::Tree;

/// The implementation of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Transform {
    /// The `transform` key, at which what is missing is reported.
    pub key: Span,
    pub span: Span,
    pub mode: Option<Spanned<TransformMode>>,
    pub spec: Option<TransformSpec>,
    pub extra: Vec<Extra>,
}

impl Transform {
    /// The name of the declarative operation.
    #[must_use]
    pub fn op(&self) -> Option<&str> {
        self.operation().and_then(|operation| operation.op.as_ref()).map(Text::as_str)
    }

    #[must_use]
    pub fn operation(&self) -> Option<&Operation> {
        match &self.spec {
            Some(TransformSpec::Operation(operation)) => Some(operation),
            _ => None,
        }
    }

    #[must_use]
    pub fn code(&self) -> Option<&Text> {
        match &self.spec {
            Some(TransformSpec::Code(code)) => Some(code),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransformMode {
    Declarative,
    Code,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TransformSpec {
    Operation(Operation),
    /// Python that defines `transform`.
    Code(Text),
}

/// A declarative operation with its arguments, in which `${…}` stands for values.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub key: Span,
    pub span: Span,
    pub op: Option<Text>,
    /// A mapping; [`Tree::to_value`] gives it as JSON.
    pub args: Option<Tree>,
    pub extra: Vec<Extra>,
}
