//! Values with their place.

use std::ops::Deref;

use stave_diag::{Embedded, Span};

/// A value and where it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Spanned<T> {
    #[must_use]
    pub fn new(value: T, span: Span) -> Self {
        Spanned { value, span }
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A string scalar: its decoded text, its place with quotes, and a map from the one to the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The whole scalar, quotes included.
    pub span: Span,
    pub embedded: Embedded,
}

impl Text {
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.embedded.text()
    }

    /// The place of a byte range of the decoded text.
    #[must_use]
    pub fn at(&self, range: std::ops::Range<usize>) -> Span {
        self.embedded.span(range)
    }
}
