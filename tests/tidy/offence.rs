//! What a rule reports.

use std::fmt;

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offence {
    /// The file, from the root of the repository.
    pub(crate) path: String,
    /// The line, counted from 1; none when the file as a whole offends.
    pub(crate) line: Option<usize>,
    pub(crate) what: String,
    pub(crate) cure: String,
}

impl Offence {
    pub(crate) fn new(
        path: &str,
        line: Option<usize>,
        what: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Offence { path: path.to_owned(), line, what: what.into(), cure: cure.into() }
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        write!(out, ": {}; {}", self.what, self.cure)
    }
}

/// Fails with all offences, when there are any.
#[track_caller]
pub(crate) fn assert_none(offences: &[Offence]) {
    let lines: Vec<String> = offences.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n{} in all\n", lines.join("\n"), lines.len());
}
