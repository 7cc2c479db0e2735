//! What a diagnostic code is.

use std::fmt;

use crate::Severity;

/// The name of one kind of mistake, such as `dangling-edge`. Names are stable: a retired one is never
/// given a new meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub &'static str);

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

/// Which line of the stave, or which part of the tool, raises a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Line {
    Flow,
    System,
    Exec,
    Prompt,
    Block,
    Run,
    Project,
}

/// A row of the code table.
#[derive(Debug, Clone, Copy)]
pub struct CodeInfo {
    pub code: Code,
    pub line: Line,
    /// The severity it has unless a dialect or a setting says otherwise.
    pub severity: Severity,
    /// One sentence: the bad pattern, not the cure.
    pub summary: &'static str,
    /// The page under `docs/codes/`, as `stave explain` prints it.
    pub page: &'static str,
}

/// The row of a code by its name.
#[must_use]
pub fn lookup(name: &str) -> Option<&'static CodeInfo> {
    crate::CODES.iter().copied().flatten().find(|info| info.code.0 == name)
}
