//! What can run: a flow, a workflow or an exec document from its file, let in, checked and lowered.
//!
//! Invariant: nothing comes out of here that admission did not let in, and the labels of the project hold for all of it.

use std::path::Path;

use stave_canon::Clock;
use stave_diag::{Diagnostic, SourceId, Sources};
use stave_exec::{Acceptance, Document};
use stave_flow::model::Flow;
use stave_lower::{ExecSettings, flow_to_exec, hold_to_project};

use crate::admission::{Entrant, admit};
use crate::contracts::Contracts;
use crate::exit::Stop;
use crate::ports::SystemClock;
use crate::project::Project;
use crate::source_kind::{SourceKind, is_exec_document};
use crate::{files, governance, services, workflow};

/// The extra property of a document's metadata with the hash of the flow's text.
pub const SOURCE_HASH: &str = "source_sha256";

/// Checks and lowers a flow or a workflow, or reads an exec document, and holds it to the project's labels and budget.
pub fn load(
    flow: &Path,
    strict: bool,
    project: &Project,
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Document>, Stop> {
    let mut document = read(flow, strict, project, sources, diagnostics)?;
    if let Some(document) = &mut document {
        hold_to_project(document, &services::policy(project)?);
        hold_to_bundle(document, project)?;
    }
    Ok(document)
}

/// Holds a document to the bundles of the project.
pub fn hold_to_bundle(document: &mut Document, project: &Project) -> Result<(), Stop> {
    Contracts::of(project)?.hold(document)
}

fn read(
    flow: &Path,
    strict: bool,
    project: &Project,
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Document>, Stop> {
    let text = files::read_text(flow)?;
    let source = sources.add(flow.display().to_string(), text.as_str());
    if is_exec_document(flow, &text) {
        admit(project, &Entrant::Compiled { file: flow, text: &text })?;
        return Ok(match stave_exec::check_text(source, &text, Acceptance::Additive) {
            Ok(document) => {
                diagnostics.extend(stave_exec::later_additions(source, &text, &document));
                Some(document)
            }
            Err(found) => {
                diagnostics.extend(found);
                None
            }
        });
    }
    admit(project, &Entrant::Source)?;
    match SourceKind::of(flow) {
        Some(SourceKind::Workflow) => {
            let now = SystemClock.now().to_string();
            let settings = &project.settings;
            let (scopes, kinds) = (&settings.accepts, settings.step_kinds.as_slice());
            let read = workflow::read(flow, source, &text, &now, scopes, kinds, sources)?;
            diagnostics.extend(read.diagnostics);
            diagnostics.extend(read.of_policy);
            return Ok(read.document.map(|document| with_hash(document, &text)));
        }
        Some(SourceKind::Policy) => {
            let stop = Stop::invalid(format!("{} is a policy, which does not run", flow.display()));
            return Err(stop.help("run the workflow of the same name, which applies it"));
        }
        Some(SourceKind::Flow) | None => {}
    }
    let lowered = lower(flow, source, &text, project, strict, sources, diagnostics)?;
    Ok(lowered.map(|(_, document)| document))
}

/// Checks a flow and lowers it; `None` when it has errors.
pub fn lower(
    file: &Path,
    source: SourceId,
    text: &str,
    project: &Project,
    strict: bool,
    sources: &Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<(Flow, Document)>, Stop> {
    let options = project.check_options(strict)?;
    let parsed = stave_flow::load(source, text, &options);
    let is_invalid = parsed.diagnostics.iter().any(Diagnostic::is_error);
    diagnostics.extend(parsed.diagnostics);
    let Some(flow) = parsed.flow.filter(|_| !is_invalid) else { return Ok(None) };
    let settings = exec_settings(project, file.display().to_string())?;
    let document = with_hash(flow_to_exec(&flow, sources, &settings), text);
    Ok(Some((flow, document)))
}

/// What the project adds to what is lowered from a file now.
pub(crate) fn exec_settings(project: &Project, source_file: String) -> Result<ExecSettings, Stop> {
    Ok(ExecSettings {
        policy_ref: project.policy_ref(),
        policy: services::policy(project)?,
        default_model: project.settings.default_model.clone(),
        templates: governance::templates(project)?,
        generated_at: SystemClock.now().to_string(),
        source_file,
    })
}

/// With the hash of its source `stave why` sees that the file has changed since.
fn with_hash(mut document: Document, text: &str) -> Document {
    document.metadata.extra.insert(SOURCE_HASH.into(), stave_canon::prefixed_sha256(text).into());
    document
}
