//! The system document or runtime bundle that runs are held to: `--contracts` of a run, `[runtime] bundle` of a project.
//!
//! Invariant: a document leaves [`Contracts::hold`] only when every effect of its steps is declared and allowed.

use std::path::{Path, PathBuf};

use stave_exec::Document;
use stave_lower::{NoContract, hold_to_contracts};
use stave_system::SystemDocument;
use stave_system::bundle::PolicyEnvelope;

use crate::exit::Stop;
use crate::project::Project;
use crate::system_documents::{self as documents, Artefact};

/// What a system promises of its steps.
#[derive(Debug)]
pub struct Contracts {
    file: PathBuf,
    system: SystemDocument,
    /// Of a bundle.
    envelope: Option<PolicyEnvelope>,
}

impl Contracts {
    /// Reads a system document or a bundle that the project lets in.
    pub fn open(file: &Path) -> Result<Contracts, Stop> {
        let artefact = documents::open(file)?;
        let envelope = match &artefact {
            Artefact::Bundle(bundle) => Some(bundle.envelope()),
            Artefact::Document(_) => None,
        };
        Ok(Contracts { file: file.to_owned(), system: documents::system_of(artefact, file)?, envelope })
    }

    /// Those of `[runtime] bundle`, when the project sets it.
    pub fn of(project: &Project) -> Result<Option<Contracts>, Stop> {
        let bundle = project.settings.bundle.as_deref();
        bundle.map(|bundle| Contracts::open(&project.root.join(bundle))).transpose()
    }

    /// Holds a document to the contracts of its steps, and refuses it when a step has an effect that it may not have.
    pub fn hold(&self, document: &mut Document) -> Result<(), Stop> {
        let shown = self.file.display();
        match hold_to_contracts(document, &self.system, self.envelope.as_ref()) {
            Ok(_) => Ok(()),
            Err(reason @ NoContract::NotAllowed { .. }) => {
                let stop = Stop::refused(format!("{}: {reason} ({shown})", document.flow.name));
                Err(stop.help(
                    "nothing was run; compile the system again after its declarations allow the effect",
                ))
            }
            Err(reason) => Err(Stop::invalid(format!("{shown}: {reason}"))),
        }
    }
}
