//! A flow that is read, checked and lowered, before anything of the server is touched for it.
//!
//! Invariant: this work takes as long as a text makes it take, so nobody does it while they hold what others wait for.

use std::path::Path;

use stave_diag::{Diagnostic, Sources};
use stave_exec::Document;

use super::named_projects::NamedProjects;
use super::not_served::NotServed;
use crate::admission::{Entrant, admit};
use crate::exit::Stop;
use crate::project::Project;
use crate::runnable;

/// A document that can be served, with its project.
#[derive(Debug)]
pub(super) struct LoweredFlow {
    pub(super) project: Project,
    pub(super) document: Document,
    /// What its author says that it is for.
    pub(super) about: Option<String>,
}

/// What came of a text.
#[derive(Debug)]
pub(super) enum LoweredText {
    Flow(Box<LoweredFlow>),
    /// What is wrong with it.
    Invalid(Vec<Diagnostic>),
}

/// What came of a file.
#[derive(Debug)]
pub(super) struct LoweredFile {
    pub(super) project: Project,
    pub(super) sources: Sources,
    /// `None` when there are errors.
    pub(super) document: Option<Document>,
    pub(super) errors: Vec<Diagnostic>,
}

impl NamedProjects {
    /// The flow in a text that is in a file or is to be written there.
    pub(super) fn lowered(&self, file: &Path, text: &str) -> Result<LoweredText, Stop> {
        let mut sources = Sources::new();
        let mut diagnostics = Vec::new();
        let project = self.project(file, &mut sources, &mut diagnostics)?;
        admit(&project, &Entrant::Text { file, text })?;
        let source = sources.add(file.display().to_string(), text);
        let lowered = runnable::lower(file, source, text, &project, false, &sources, &mut diagnostics)?;
        diagnostics.retain(Diagnostic::is_error);
        match lowered.filter(|_| diagnostics.is_empty()) {
            Some((flow, mut document)) => {
                runnable::hold_to_bundle(&mut document, &project)?;
                let about = flow.metadata.description.map(|about| about.as_str().to_owned());
                Ok(LoweredText::Flow(Box::new(LoweredFlow { project, document, about })))
            }
            None => Ok(LoweredText::Invalid(diagnostics)),
        }
    }

    /// The flow, workflow or document in a file.
    pub(super) fn lowered_file(&self, file: &Path) -> Result<LoweredFile, NotServed> {
        let mut sources = Sources::new();
        let mut diagnostics = Vec::new();
        let project = self.project(file, &mut sources, &mut diagnostics)?;
        let document = runnable::load(file, false, &project, &mut sources, &mut diagnostics)?;
        let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
        let document = document.filter(|_| errors.is_empty());
        Ok(LoweredFile { project, sources, document, errors })
    }
}
