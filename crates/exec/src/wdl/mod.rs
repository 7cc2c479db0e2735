//! The WDL and PDL front end: workflows and policies to exec documents.
//!
//! Both languages are lines with indentation. They look like YAML and are not: every scalar is the raw text
//! after the key, and only PDL has statements. [`tree`] reads lines into a tree, [`workflow`] and
//! [`policy`] give the tree a meaning, [`lint`] finds what a document says wrongly, [`lower`] makes the exec
//! document and [`bake`] puts the policy into it.
//!
//! Invariant: nothing here evaluates anything. Expressions of a policy are parsed to be checked and are
//! evaluated by [`crate::policy`] at run time only.

mod arguments;
mod bake;
mod condition;
mod file_kind;
mod format;
mod lines;
pub mod lint;
mod lower;
pub mod policy;
mod reference;
pub mod tree;
mod triggers;
mod unknown_step_kind;
mod wdl_step_cycle;
pub mod workflow;

use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, SourceId, Span};

pub use arguments::typed_arguments;
pub use bake::bake;
pub use file_kind::{FileKind, stem};
pub use format::format;
pub use lines::line_number;
pub use lower::{LoweringOptions, NO_POLICY, PairedPolicy, lower};
pub use policy::WdlPolicy;
pub use triggers::{check_triggers, triggers, triggers_text};
pub use unknown_step_kind::unknown_step_kinds;
pub use workflow::Workflow;

use tree::WdlLocation;

/// Which language is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// What the reference implementation reads, no more.
    Reference,
    /// With timeouts, retries, workflows without a policy, names made safe, and more checks.
    Extended,
}

/// The result of reading a text, and everything that is wrong with it. Without errors there is a value.
#[derive(Debug, Clone)]
pub struct Checked<T> {
    pub value: Option<T>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads and checks a workflow. Diagnostics come in the order in which the reference finds them.
#[must_use]
pub fn check_workflow(source: SourceId, text: &str, dialect: Dialect) -> Checked<Workflow> {
    let mut faults = Faults { source, diagnostics: Vec::new() };
    let root = match tree::parse(source, text) {
        Ok(root) => root,
        Err(diagnostic) => return Checked { value: None, diagnostics: vec![*diagnostic] },
    };
    let workflow = workflow::read(&root, dialect, &mut faults);
    if let Some(workflow) = &workflow {
        lint::lint(workflow, dialect, &mut faults);
    }
    Checked { value: workflow, diagnostics: faults.diagnostics }
}

/// Reads and checks a policy.
#[must_use]
pub fn check_policy(source: SourceId, text: &str, dialect: Dialect) -> Checked<WdlPolicy> {
    let mut faults = Faults { source, diagnostics: Vec::new() };
    let root = match tree::parse(source, text) {
        Ok(root) => root,
        Err(diagnostic) => return Checked { value: None, diagnostics: vec![*diagnostic] },
    };
    let policy = policy::read(&root, &mut faults);
    if let (Some(policy), Dialect::Extended) = (&policy, dialect) {
        lint::pdl_faults::lint(policy, &mut faults);
    }
    Checked { value: policy, diagnostics: faults.diagnostics }
}

/// Where diagnostics of one text are collected.
#[derive(Debug)]
pub(crate) struct Faults {
    pub(crate) source: SourceId,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Faults {
    pub(crate) fn span(&self, place: WdlLocation) -> Span {
        Span::new(self.source, place.start, place.end)
    }

    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// A text that does not have the form its place asks for.
    pub(crate) fn malformed(&mut self, place: WdlLocation, message: impl Into<String>) {
        let span = self.span(place);
        self.push(Diagnostic::new(codes::WDL_PARSE_ERROR, span, message));
    }
}
