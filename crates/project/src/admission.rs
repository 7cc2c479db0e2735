//! Whether something may run for a project. Every entry point asks here before it runs anything: `run`, `test`, `serve`
//! with its tools and its studio, `mcp` and `rep`.
//!
//! Invariant: with `[signing] required`, nothing runs but sources in files of the project and documents that a trusted key
//! vouches for. The settings are those of the project that the command was started for.

pub mod artefacts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stave_exec::{Acceptance, Document};

use self::artefacts::admit_exec;
use crate::exit::Stop;
use crate::files;
use crate::project::Project;

/// What asks to run.
#[derive(Debug)]
pub enum Entrant<'e> {
    /// A flow or workflow in a file. Sources are not signed: the people who write the project's files are trusted.
    Source,
    /// A compiled flow in a file.
    Compiled { file: &'e Path, text: &'e str },
    /// The text of a flow that a client sent, for this file.
    Text { file: &'e Path, text: &'e str },
    /// A document that another program sent, and the documents that were verified before.
    Sent { document: &'e Document, verified: &'e Verified },
}

/// Lets something in, or says why not.
pub fn admit(project: &Project, entrant: &Entrant<'_>) -> Result<(), Stop> {
    if !project.settings.signing.required {
        return Ok(());
    }
    match entrant {
        Entrant::Source => Ok(()),
        Entrant::Compiled { file, text } => admit_exec(file, text, project),
        Entrant::Text { file, text } if files::read_text(file).is_ok_and(|saved| saved == *text) => Ok(()),
        Entrant::Text { .. } => {
            let stop =
                Stop::refused("the text is not what its file holds, and the project requires signatures");
            Err(stop.help("save it first, or run it in a project without `[signing] required`"))
        }
        Entrant::Sent { document, verified } if verified.has(document) => Ok(()),
        Entrant::Sent { .. } => {
            let stop = Stop::refused("the document is not signed, and the project requires signatures");
            Err(stop.help("name the folder of the signed compile: stave rep --compiled DIR"))
        }
    }
}

/// Documents whose files were verified, by fingerprint: everything but the time they were made at.
#[derive(Debug, Default)]
pub struct Verified(BTreeSet<String>);

impl Verified {
    /// The compiled flows in `flows` of a folder that a compile wrote. One that is refused stops the command.
    pub fn read(folder: &Path, project: &Project) -> Result<Verified, Stop> {
        let flows = folder.join("flows");
        let failed =
            |error: std::io::Error| Stop::invalid(format!("{} can't be read: {error}", flows.display()));
        let mut verified = Verified::default();
        for entry in std::fs::read_dir(&flows).map_err(failed)? {
            let file: PathBuf = entry.map_err(failed)?.path();
            if !file.to_string_lossy().ends_with(".ir.json") {
                continue;
            }
            let text = files::read_text(&file)?;
            admit(project, &Entrant::Compiled { file: &file, text: &text })?;
            let document = stave_exec::check_text(stave_diag::SourceId(0), &text, Acceptance::Additive)
                .map_err(|_| Stop::invalid(format!("{} is not a valid document", file.display())))?;
            verified.0.insert(document.fingerprint());
        }
        Ok(verified)
    }

    fn has(&self, document: &Document) -> bool {
        self.0.contains(&document.fingerprint())
    }
}
