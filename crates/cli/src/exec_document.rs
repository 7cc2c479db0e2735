//! Exec documents from files, with their faults shown to the user.

use std::path::Path;

use stave_canon::Value;
use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, Sources, Span, render};
use stave_exec::{Acceptance, Document};

use crate::exit::Stop;
use crate::files;
use crate::project::Project;
use crate::terminal::{self, Terminal};
use crate::workflow;

/// The time of a document that nobody keeps.
pub(crate) const ANY_TIME: &str = "1970-01-01T00:00:00Z";

/// A file that was read, and what it holds or everything that is wrong with it.
pub(crate) struct Read {
    pub(crate) text: String,
    pub(crate) result: Result<Document, Vec<Diagnostic>>,
    /// What a document of a later version adds, which has no effect.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Reads a document. Bytes that are no text are a mistake in the document, at the place of the first.
pub(crate) fn read(file: &Path, acceptance: Acceptance, sources: &mut Sources) -> Result<Read, Stop> {
    let bytes = files::read_bytes(file)?;
    let name = file.display().to_string();
    match String::from_utf8(bytes) {
        Ok(text) => {
            let source = sources.add(name, text.as_str());
            let result = stave_exec::check_text(source, &text, acceptance);
            let warnings = match &result {
                Ok(document) => stave_exec::later_additions(source, &text, document),
                Err(_) => Vec::new(),
            };
            Ok(Read { text, result, warnings })
        }
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let source = sources.add(name, text.as_str());
            // The first byte that is not part of a character is shown as one replacement character.
            let span = Span::new(source, offset, offset + char::REPLACEMENT_CHARACTER.len_utf8());
            let message = format!("byte {offset} does not belong to a character, so this is not text");
            let result = Err(vec![Diagnostic::new(codes::EXEC_NOT_JSON, span, message)]);
            Ok(Read { text, result, warnings: Vec::new() })
        }
    }
}

/// Reads a document as a runtime does. What is wrong with it is reported, and there is nothing then.
pub(crate) fn load(file: &Path, terminal: Terminal, json: bool) -> Result<Option<Document>, Stop> {
    let mut sources = Sources::new();
    let Read { result, warnings, .. } = read(file, Acceptance::Additive, &mut sources)?;
    let found = match result {
        Ok(document) => {
            // Machines find the version in the report itself.
            if !json && !warnings.is_empty() {
                let shown = render::terminal::render(&warnings, &sources, terminal.stderr);
                terminal::error_styled(shown.trim_end());
                terminal::error("");
            }
            return Ok(Some(document));
        }
        Err(found) => found,
    };
    let message = format!("{} is not a valid exec document: {}", file.display(), render::summary(&found));
    if json {
        let error = [("message", Value::from(message)), ("kind", "invalid".into())];
        let report = [
            ("status", Value::from("error")),
            ("error", Value::from_iter(error)),
            ("diagnostics", diagnostics(&found, &sources)),
        ];
        terminal::out(&Value::from_iter(report).to_string());
    } else {
        terminal::error_styled(render::terminal::render(&found, &sources, terminal.stderr).trim_end());
        terminal::error("");
        terminal.stop(&Stop::invalid(message));
    }
    Ok(None)
}

/// What a workflow compiles to, with the policy beside it. What is wrong with either is reported, and there is nothing then.
pub(crate) fn workflow_document(
    file: &Path,
    terminal: Terminal,
    json: bool,
) -> Result<Option<Document>, Stop> {
    let text = files::read_text(file)?;
    let mut sources = Sources::new();
    let project = Project::of(file, &mut sources, &mut Vec::new())?;
    let source = sources.add(file.display().to_string(), text.as_str());
    let settings = &project.settings;
    let (scopes, kinds) = (&settings.accepts, settings.step_kinds.as_slice());
    let read = workflow::read(file, source, &text, ANY_TIME, scopes, kinds, &mut sources)?;
    if read.document.is_none() {
        let found = read.diagnostics.into_iter().chain(read.of_policy);
        let errors: Vec<Diagnostic> = found.filter(Diagnostic::is_error).collect();
        report(&errors, &sources, terminal, json);
    }
    Ok(read.document)
}

/// Shows errors to whoever asked for a document.
pub(crate) fn report(errors: &[Diagnostic], sources: &Sources, terminal: Terminal, json: bool) {
    if json {
        terminal::out(render::json::render(errors, sources).trim_end());
    } else {
        terminal::error_styled(render::terminal::render(errors, sources, terminal.stderr).trim_end());
    }
}

/// Findings for machines.
pub(crate) fn diagnostics(found: &[Diagnostic], sources: &Sources) -> Value {
    let shown = stave_canon::parse(&render::json::render(found, sources)).unwrap_or_default();
    shown.get("diagnostics").cloned().unwrap_or_default()
}
