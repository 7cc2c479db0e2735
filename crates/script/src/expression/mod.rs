//! The one-line subset of Python for conditions, edge transforms and list operations.
//!
//! An expression is pure by construction: it reads the names of its scope, calls only a short list of
//! functions and methods, binds nothing and waits for nothing. Every loop in it walks over data it was given, so
//! its work is bounded by the size of that data.

mod allowed;
mod check;
mod reads;
mod types;

use std::collections::BTreeSet;

use ruff_python_ast::visitor::Visitor;
use stave_diag::codes::script::{INVALID_EXPRESSION, MISMATCHED_COMPARISON, NON_BOOLEAN_CONDITION};
use stave_diag::{Diagnostic, Embedded};

use crate::python::parse;
use crate::reads::Read;
use crate::{Used, UsedPath};

/// Everything that can be said about an expression without evaluating it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpressionCheck {
    pub diagnostics: Vec<Diagnostic>,
    /// The names of the scope it uses, in order of appearance.
    pub names: Vec<Used>,
    /// The literal paths it follows from those names.
    pub paths: Vec<UsedPath>,
    /// Every value that it reads, named too much rather than too little.
    pub reads: BTreeSet<Read>,
    pub result: ExpressionType,
}

/// What kind of value an expression gives, as far as its text shows.
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

impl ExpressionType {
    /// The type as a message names it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ExpressionType::Null => "null",
            ExpressionType::Boolean => "boolean",
            ExpressionType::Number => "number",
            ExpressionType::String => "string",
            ExpressionType::Array => "array",
            ExpressionType::Object => "object",
            ExpressionType::Unknown => "unknown",
        }
    }

    /// The word with its article, for messages.
    #[must_use]
    pub fn described(self) -> String {
        let word = self.word();
        let article = if word.starts_with(['a', 'o']) { "an" } else { "a" };
        if self == ExpressionType::Null { word.to_owned() } else { format!("{article} {word}") }
    }
}

/// The longest expression that is accepted, in bytes.
pub const MAX_EXPRESSION: usize = 8 * 1024;

/// Checks one expression against the names it may use.
#[must_use]
pub fn check_expression(text: &Embedded, scope: &[&str]) -> ExpressionCheck {
    check_typed(text, scope, &[])
}

/// [`check_expression`] where the types of some names are known.
#[must_use]
pub fn check_typed(text: &Embedded, scope: &[&str], known: &[(&str, ExpressionType)]) -> ExpressionCheck {
    let invalid = |message: String, range| {
        let diagnostic = Diagnostic::new(INVALID_EXPRESSION, text.span(range), message);
        ExpressionCheck { diagnostics: vec![diagnostic], ..ExpressionCheck::default() }
    };
    if text.text().len() > MAX_EXPRESSION {
        return invalid(
            format!("the expression is longer than {MAX_EXPRESSION} bytes"),
            0..text.text().len(),
        );
    }
    let (offset, trimmed) = trim(text.text());
    if trimmed.is_empty() {
        return invalid("the expression is empty".to_owned(), 0..text.text().len());
    }
    match parse::expression(trimmed) {
        Err(fault) => {
            let range = offset + fault.range.start..offset + fault.range.end;
            invalid(format!("invalid expression: {}", fault.message), range)
        }
        Ok(tree) => {
            let mut checker = check::Checker::new(text, offset, scope);
            checker.visit_expr(&tree);
            let mut check = checker.finish();
            check.reads = reads::of(&tree, scope);
            check.result = types::of(&tree, known);
            for mismatch in types::mismatches(&tree, known) {
                let range = parse::bytes(mismatch.range);
                let span = text.span(offset + range.start..offset + range.end);
                let diagnostic = Diagnostic::new(MISMATCHED_COMPARISON, span, mismatch.message);
                check.diagnostics.push(diagnostic.help("compare values of one type"));
            }
            check
        }
    }
}

/// [`check_expression`] for a condition, with a warning when its value is plainly not a boolean.
#[must_use]
pub fn check_condition(text: &Embedded, scope: &[&str]) -> ExpressionCheck {
    check_typed_condition(text, scope, &[])
}

/// [`check_condition`] where the types of some names are known.
#[must_use]
pub fn check_typed_condition(
    text: &Embedded,
    scope: &[&str],
    known: &[(&str, ExpressionType)],
) -> ExpressionCheck {
    let mut check = check_typed(text, scope, known);
    if !matches!(check.result, ExpressionType::Boolean | ExpressionType::Unknown) {
        let (offset, trimmed) = trim(text.text());
        let message = format!("the condition gives {}, not true or false", check.result.described());
        check.diagnostics.push(
            Diagnostic::new(NON_BOOLEAN_CONDITION, text.span(offset..offset + trimmed.len()), message)
                .help("write the comparison out"),
        );
    }
    check
}

/// The free names of an expression, each once; empty when it does not parse. This is what an evaluator
/// has to bind.
#[must_use]
pub fn free_names(text: &str) -> Vec<String> {
    let (_, trimmed) = trim(text);
    let mut names = Vec::new();
    if let Ok(tree) = parse::expression(trimmed) {
        let mut finder = check::FreeNames::default();
        finder.visit_expr(&tree);
        names = finder.names;
    }
    names
}

/// The text without the white space around it, and where it starts.
fn trim(text: &str) -> (usize, &str) {
    (text.len() - text.trim_start().len(), text.trim())
}
