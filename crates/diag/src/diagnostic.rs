//! A user's mistake, located and explained.

use std::fmt;

use crate::{Code, Fix, Span};

/// How much a finding matters. The order is from worst to least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
    /// A hint about style or a leniency that was used.
    Note,
}

impl Severity {
    /// The word in output: `error`, `warning`, `note`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A second place that explains the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    pub message: String,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// One terse sentence without a final stop that names the thing at fault.
    pub message: String,
    pub primary: Span,
    /// What to say right at the primary span, when it adds something.
    pub primary_label: Option<String>,
    pub labels: Vec<Label>,
    /// The concrete edit a person should make.
    pub help: Option<String>,
    pub fix: Option<Fix>,
    /// The JSON Pointer of the innermost value or entry around the primary span, where the source is a
    /// document that has such places.
    pub pointer: Option<String>,
}

impl Diagnostic {
    /// A diagnostic of `code` with the severity its table row gives.
    #[must_use]
    pub fn new(code: Code, primary: Span, message: impl Into<String>) -> Self {
        let severity = crate::lookup(code.0).map_or(Severity::Error, |info| info.severity);
        Diagnostic {
            code,
            severity,
            message: message.into(),
            primary,
            primary_label: None,
            labels: Vec::new(),
            help: None,
            fix: None,
            pointer: None,
        }
    }

    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    #[must_use]
    pub fn at_primary(mut self, message: impl Into<String>) -> Self {
        self.primary_label = Some(message.into());
        self
    }

    #[must_use]
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Puts findings in the order in which a reader meets them: by source, place, severity, code.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|left, right| {
        (left.primary, left.severity, left.code, &left.message).cmp(&(
            right.primary,
            right.severity,
            right.code,
            &right.message,
        ))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceId;

    #[test]
    fn findings_are_read_from_the_first_file_and_its_top() {
        let found = |source, start, severity, name| {
            Diagnostic::new(Code(name), Span::new(SourceId(source), start, start + 1), "m").severity(severity)
        };
        let mut findings = [
            found(1, 0, Severity::Error, "a"),
            found(0, 7, Severity::Note, "b"),
            found(0, 7, Severity::Error, "d"),
            found(0, 7, Severity::Error, "c"),
            found(0, 3, Severity::Warning, "e"),
        ];
        sort(&mut findings);
        let names: Vec<&str> = findings.iter().map(|finding| finding.code.0).collect();
        assert_eq!(names, ["e", "c", "d", "b", "a"]);
    }

    #[test]
    fn the_table_gives_a_finding_its_severity() {
        for row in crate::CODES.iter().copied().flatten() {
            let finding = Diagnostic::new(row.code, Span::at(SourceId(0), 0), "m");
            assert_eq!(finding.severity, row.severity, "{}", row.code);
            assert_eq!(finding.is_error(), row.severity == Severity::Error);
        }
    }
}
