//! Prompt templates: static analysis and rendering.
//!
//! The language is Jinja as `minijinja` has it, alone in one text: no loader, no include, no import, no
//! inheritance, no automatic escaping, an undefined value is an error wherever it would be printed or
//! looked into (it may still be tested, as in `{% if x %}`). Values print as in Jinja2 (`True`, `None`,
//! `1.0`, `1e-07`), except that objects and arrays print as JSON rather than as Python would show them.

mod check;
mod filters;
mod in_process;
mod known;
mod pieces;
mod plain;
mod reads;
mod render;
mod scope;
mod syntax;
mod value;

use stave_diag::{Diagnostic, Embedded, Span};

pub use in_process::InProcess;
pub use pieces::RenderedPiece;
pub use render::{RenderError, RenderLimits, Renderer, render};

use crate::UsedPath;
use crate::reads::Read;

/// Everything that can be said about a template without rendering it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateCheck {
    pub diagnostics: Vec<Diagnostic>,
    /// Paths from names of the scope: `customer_data.age`.
    pub paths: Vec<UsedPath>,
    /// Every value that the template reads, each with its place: a literal field of the context as that field,
    /// any other use of the context as all of its fields.
    pub reads: Vec<(Read, Span)>,
}

/// Checks a template against the names it may use.
#[must_use]
pub fn check_template(text: &Embedded, scope: &[&str]) -> TemplateCheck {
    check::check(text, scope, false)
}

/// Checks a template for which only a part of the scope is known: a name outside it is not reported.
#[must_use]
pub fn check_template_in_open_scope(text: &Embedded, scope: &[&str]) -> TemplateCheck {
    check::check(text, scope, true)
}
