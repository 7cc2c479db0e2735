//! A single prompt as a document that can run, held to everything that holds for the flows of the project.

use stave_exec::Document;
use stave_lower::{DefaultModel, hold_to_project, prompt_to_exec};
use stave_prompt::PromptIr;

use crate::admission::{Entrant, admit};
use crate::exit::Stop;
use crate::project::Project;
use crate::runnable::{exec_settings, hold_to_bundle};

/// The document that asks a model a prompt from this file.
pub fn load(project: &Project, ir: &PromptIr, model: &DefaultModel, file: &str) -> Result<Document, Stop> {
    admit(project, &Entrant::Source)?;
    let settings = exec_settings(project, file.to_owned())?;
    let mut document = prompt_to_exec(ir, model, &settings);
    hold_to_project(&mut document, &settings.policy);
    hold_to_bundle(&mut document, project)?;
    Ok(document)
}
