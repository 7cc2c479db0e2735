//! Two flows or workflows of one project do not share a name: a server serves one of them only.

use std::collections::HashMap;
use std::path::PathBuf;

use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, Severity, Span};

use super::Checked;

/// The names that were met, by project, and the file that had each first.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<(PathBuf, String), PathBuf>);

impl Names {
    /// A warning when another flow of the project has this name. Flows without a project file are not served together.
    pub(super) fn add(&mut self, checked: &Checked, name: Option<(String, Span)>) -> Option<Diagnostic> {
        let (project, (name, span)) = (checked.project.clone()?, name?);
        let file = checked.file.clone();
        let first = self.0.entry((project, name.clone())).or_insert_with(|| file.clone());
        if *first == file {
            return None;
        }
        let message = format!("{} is named `{name}` too, and one of them is not served", first.display());
        let found = Diagnostic::new(codes::SHARED_FLOW_NAME, span, message).severity(Severity::Warning);
        Some(found.help("give one of them another name"))
    }
}
