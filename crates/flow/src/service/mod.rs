//! What an editor asks about a flow, as pure functions over its text: where things are named and defined,
//! what is under the cursor, what could be written there.
//!
//! Invariants: places are byte offsets of the text that was given; no text and no offset makes any of them
//! fail.

mod completion;
mod cursor;
mod definition;
mod hover;
mod occurrences;
mod properties;
mod rename;
mod symbols;
mod words;

use stave_diag::{Diagnostic, Fix, SourceId};

use crate::check::CheckOptions;
use crate::model::Flow;
use crate::yaml::Tree;

pub use completion::{Completion, CompletionKind, completions};
pub use definition::{definitions, references};
pub use hover::{Hover, hover};
pub use occurrences::{Occurrence, Symbol, default_port, occurrences};
pub use rename::{renamable_at, rename_at, rename_edits, valid_name};
pub use symbols::{DocumentSymbol, SymbolKind, symbols};

/// A text with everything that is known about it.
#[derive(Debug, Clone)]
pub struct Analysis {
    pub text: String,
    pub tree: Option<Tree>,
    pub flow: Option<Flow>,
    pub diagnostics: Vec<Diagnostic>,
    pub occurrences: Vec<Occurrence>,
}

impl Analysis {
    /// Reads and checks a text.
    #[must_use]
    pub fn new(text: String, options: &CheckOptions) -> Self {
        let parsed = crate::load(SourceId(0), &text, options);
        let occurrences = parsed.flow.as_ref().map(|flow| occurrences(flow, &text)).unwrap_or_default();
        Analysis { tree: parsed.tree, flow: parsed.flow, diagnostics: parsed.diagnostics, occurrences, text }
    }

    /// A text of another language, with what its own checker found.
    #[must_use]
    pub fn of_findings(text: String, diagnostics: Vec<Diagnostic>) -> Self {
        Analysis { text, tree: None, flow: None, diagnostics, occurrences: Vec::new() }
    }

    /// The name under an offset. The end of a name belongs to it, as a cursor is there after typing.
    #[must_use]
    pub fn occurrence_at(&self, offset: usize) -> Option<&Occurrence> {
        let touches = |occurrence: &&Occurrence| {
            (occurrence.span.start as usize..=occurrence.span.end as usize).contains(&offset)
        };
        self.occurrences.iter().filter(touches).max_by_key(|occurrence| occurrence.span.start)
    }

    /// The cures of the findings that touch a range, each with its finding.
    pub fn fixes_in(&self, start: usize, end: usize) -> impl Iterator<Item = (&Diagnostic, &Fix)> {
        let touches = move |found: &&Diagnostic| {
            found.primary.start as usize <= end && found.primary.end as usize >= start
        };
        self.diagnostics.iter().filter(touches).filter_map(|found| Some((found, found.fix.as_ref()?)))
    }
}
