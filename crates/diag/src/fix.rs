//! Cures that a machine can apply.

use crate::Span;

/// Replaces the text of a span; an empty span inserts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub span: Span,
    pub replacement: String,
}

/// A set of edits that belong together and cure one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What it does, as an imperative: "rename `foo` to `bar`".
    pub title: String,
    pub edits: Vec<Edit>,
}

impl Fix {
    #[must_use]
    pub fn replace(title: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        Fix { title: title.into(), edits: vec![Edit { span, replacement: replacement.into() }] }
    }
}

/// Two edits want the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConflictingEdits {
    pub first: Span,
    pub second: Span,
}

/// Applies edits of one source to its text. Nothing is applied when two of them overlap.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, ConflictingEdits> {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.span.start, edit.span.end));
    for pair in ordered.windows(2) {
        if let [first, second] = pair
            && second.span.start < first.span.end
        {
            return Err(ConflictingEdits { first: first.span, second: second.span });
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for edit in ordered {
        let range = edit.span.range();
        out.push_str(text.get(done..range.start).unwrap_or_default());
        out.push_str(&edit.replacement);
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Ok(out)
}
