//! What makes a text no YAML at all.

use granit_parser::{ErrorKind, ScanError, StructureStyle};
use stave_diag::codes::yaml as codes;
use stave_diag::{Diagnostic, Span};

use crate::MAX_DEPTH;
use crate::read::{Content, Reader};

impl Reader<'_> {
    /// Reports the fault that ends the reading, with the bracket that is still open.
    pub(crate) fn syntax_error(&mut self, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or(self.text.len());
        let next = self.text.get(at..).and_then(|rest| rest.chars().next());
        let width = next.filter(|next| !matches!(next, '\n' | '\r')).map_or(0, char::len_utf8);
        let span = self.span(at..at + width);
        if *error.kind() == ErrorKind::RecursionLimitExceeded {
            return self.report(too_deep(span));
        }
        let message = format!("the text is not YAML: {}", error.info());
        let mut diagnostic = Diagnostic::new(codes::YAML_SYNTAX, span, message);
        let open = self.frames.iter().rev().find(|frame| frame.style == StructureStyle::Flow);
        if let Some(open) = open.filter(|open| open.start != at) {
            let bracket = if matches!(open.content, Content::Sequence(_)) { "[" } else { "{" };
            let span = self.span(open.start..open.start + 1);
            diagnostic = diagnostic.label(span, format!("this `{bracket}` is still open"));
        }
        let help = match error.kind() {
            ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabNotAllowed
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInPlainScalar => Some("indent with spaces; YAML allows no tabs there"),
            ErrorKind::MismatchedFlowCollectionEnd { .. } | ErrorKind::UnclosedFlowCollection { .. } => {
                Some("close every `[` with `]` and every `{` with `}`")
            }
            ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
                Some("close the quoted text with the quote it began with")
            }
            ErrorKind::InvalidColonPlacement | ErrorKind::MappingValueNotAllowed => {
                Some("put text that holds `: ` in quotes, and check the brackets ahead of it")
            }
            _ => None,
        };
        self.report(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
    }
}

pub(crate) fn too_deep(span: Span) -> Diagnostic {
    let message = format!("containers nest deeper than {MAX_DEPTH} levels");
    Diagnostic::new(codes::YAML_TOO_LARGE, span, message)
}
