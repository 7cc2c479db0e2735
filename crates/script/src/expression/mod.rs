//! The one-line subset of Python for conditions, edge transforms and list operations.

use stave_diag::{Diagnostic, Embedded};

use crate::{Used, UsedPath};

/// Everything that can be said about an expression without evaluating it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpressionCheck {
    pub diagnostics: Vec<Diagnostic>,
    /// The names of the scope it uses, in order of appearance.
    pub names: Vec<Used>,
    /// The literal paths it follows from those names.
    pub paths: Vec<UsedPath>,
    pub result: ExpressionType,
}

/// What kind of value an expression gives, as far as its text tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpressionType {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
    #[default]
    Unknown,
}

/// Checks one expression against the names it may use.
#[must_use]
pub fn check_expression(text: &Embedded, scope: &[&str]) -> ExpressionCheck {
    let _ = (text, scope);
    ExpressionCheck::default()
}

/// [`check_expression`] for a condition, with a warning when its value is plainly not a boolean.
#[must_use]
pub fn check_condition(text: &Embedded, scope: &[&str]) -> ExpressionCheck {
    check_expression(text, scope)
}
