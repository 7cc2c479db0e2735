//! The canonical layout of a flow file.
//!
//! Two spaces for each level, keys in the order of the specification, one blank line between sections and
//! between nodes, at most one elsewhere. What the author chose is kept: quotes, block or flow style as long
//! as the flow style fits on a line, the words of every comment. JSON stays JSON.
//!
//! Invariants: the formatted text means the same, has the same comments, and is its own formatted text. The
//! first two are looked at before a text is given out.

mod arrange;
mod attach;
mod build;
mod json;
mod print;
mod scalar;
mod tree;

use stave_diag::{Diagnostic, SourceId};

use crate::yaml;

/// How a file is to be laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FormatOptions {
    /// Whether `id` fields that repeat their keys are taken out. The specification and the strict dialect want them.
    pub drops_ids: bool,
}

/// Why a text was not formatted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// The text is no YAML that can be read without doubt.
    #[error("the text cannot be read")]
    Invalid(Vec<Diagnostic>),
    /// The layout would have changed the meaning or lost a comment, so it was thrown away.
    #[error("this text uses YAML in a way that cannot be laid out anew without changing it")]
    Unfaithful,
}

/// The text in its canonical layout.
pub fn format(source: SourceId, text: &str, options: FormatOptions) -> Result<String, FormatError> {
    let mut formatted = lay_out(source, text, options)?;
    // A comment in an odd place may find its home only in the printed text.
    for _ in 0..ROUNDS {
        let again = lay_out(source, &formatted, options)?;
        if again == formatted {
            return Ok(formatted);
        }
        formatted = again;
    }
    Err(FormatError::Unfaithful)
}

/// How often a text is laid out until it stays as it is. Ordinary texts stay after the first time.
const ROUNDS: usize = 4;

fn lay_out(source: SourceId, text: &str, options: FormatOptions) -> Result<String, FormatError> {
    let document = yaml::read(source, text);
    if document.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(FormatError::Invalid(document.diagnostics));
    }
    let Some(root) = document.root.as_ref().filter(|root| root.entries().is_some()) else {
        return Err(FormatError::Invalid(crate::parse(source, text).diagnostics));
    };
    if document.comments.is_empty()
        && let Ok(value) = stave_canon::parse(text)
    {
        return Ok(json::format(value, options));
    }
    let mut tree = build::build(text).ok_or(FormatError::Unfaithful)?;
    let comments: Vec<_> = document.comments.iter().map(|comment| comment.span.range()).collect();
    attach::attach(text, &mut tree, &comments);
    arrange::arrange(&mut tree, options, document.aliases.is_empty());
    let mut formatted = print::print(text, &tree);
    let directives = build::directives(text);
    if !directives.is_empty() {
        formatted.insert_str(0, &format!("{}\n---\n", directives.join("\n")));
    }
    let words = |text: &str, document: &yaml::YamlDocument| {
        let mut words: Vec<String> = document
            .comments
            .iter()
            .filter_map(|comment| text.get(comment.span.range()))
            .map(|comment| comment.trim_end().to_owned())
            .collect();
        words.sort_unstable();
        words
    };
    let again = yaml::read(source, &formatted);
    let meaning = |tree: &yaml::Tree| json::meaning(tree.to_value(), options);
    let faithful = again.diagnostics.is_empty()
        && again.root.as_ref().map(meaning) == Some(meaning(root))
        && words(&formatted, &again) == words(text, &document);
    if faithful { Ok(formatted) } else { Err(FormatError::Unfaithful) }
}
