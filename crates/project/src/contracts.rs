//! The system documents and runtime bundles that runs are held to: `[runtime] bundle` of a project, and `--bundle` of a
//! command.
//!
//! Invariant: a document leaves [`Contracts::hold`] only when every effect of its steps is declared and allowed by each of
//! them.

use std::path::{Path, PathBuf};

use stave_canon::sha256_hex;
use stave_diag::codes::run::EFFECT_NOT_ALLOWED;
use stave_exec::Document;
use stave_lower::{NoContract, hold_to_contracts};
use stave_system::SystemDocument;
use stave_system::bundle::PolicyEnvelope;

use crate::exit::Stop;
use crate::project::Project;
use crate::system_documents::{self as documents, Artefact};

/// What systems promise of their steps. A project without any holds its runs to nothing.
#[derive(Debug, Default)]
pub struct Contracts(Vec<Contract>);

/// What one system promises of its steps.
#[derive(Debug)]
struct Contract {
    file: PathBuf,
    system: SystemDocument,
    /// Of a bundle.
    envelope: Option<PolicyEnvelope>,
}

impl Contracts {
    /// Reads everything that the runs of a project are held to.
    pub fn of(project: &Project) -> Result<Contracts, Stop> {
        let files = project.bundle_files();
        files.iter().map(|file| Contract::open(file, project)).collect::<Result<_, _>>().map(Contracts)
    }

    /// Holds a document to the contracts of its steps, and refuses it when a step has an effect that it may not have.
    pub fn hold(&self, document: &mut Document) -> Result<(), Stop> {
        self.0.iter().try_for_each(|contract| contract.hold(document))
    }

    /// Refuses what [`Contracts::hold`] refuses. For a document that was held when its run began.
    pub fn admit(&self, document: &Document) -> Result<(), Stop> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.hold(&mut document.clone())
    }
}

impl Contract {
    /// Reads a system document or a bundle that the project lets in.
    fn open(file: &Path, project: &Project) -> Result<Contract, Stop> {
        let artefact = documents::open_in(file, project)?;
        let envelope = match &artefact {
            Artefact::Bundle(bundle) => Some(bundle.envelope()),
            Artefact::Document(_) => None,
        };
        let system = documents::system_of(artefact, file, project)?;
        Ok(Contract { file: file.to_owned(), system, envelope })
    }

    fn hold(&self, document: &mut Document) -> Result<(), Stop> {
        let shown = self.file.display();
        match hold_to_contracts(document, &self.system, self.envelope.as_ref()) {
            Ok(_) => Ok(()),
            Err(reason @ NoContract::NotAllowed { .. }) => {
                let stop = Stop::refused(format!("{}: {reason} ({shown})", document.flow.name));
                Err(stop.code(EFFECT_NOT_ALLOWED.0).help(
                    "nothing was run; compile the system again after its declarations allow the effect",
                ))
            }
            Err(reason) => Err(Stop::invalid(format!("{shown}: {reason}"))),
        }
    }
}

impl Project {
    /// The files that hold the runs of the project. What a command names comes beside what the project names, so it can
    /// only take away.
    pub fn bundle_files(&self) -> Vec<PathBuf> {
        let own = self.settings.bundle.as_deref().map(|bundle| self.root.join(bundle));
        own.into_iter().chain(self.also_held_to.clone()).collect()
    }

    /// Changes when one of these files does.
    pub fn bundle_digest(&self) -> String {
        let texts = self.bundle_files().into_iter().map(|file| documents::read(&file).unwrap_or_default());
        texts.map(sha256_hex).collect()
    }
}
