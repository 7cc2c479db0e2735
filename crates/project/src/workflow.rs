//! A workflow read from its file, with the policy beside it.

use std::path::Path;

use stave_diag::{Diagnostic, SourceId, Sources, Span};
use stave_exec::Document;
use stave_exec::wdl::{self, Dialect};
use stave_flow::Scopes;
use stave_lower::workflow_leaks;

use crate::exit::Stop;
use crate::files;
use crate::source_kind;

/// The result of reading a workflow, and everything that is wrong with it. Without errors there is a document.
#[derive(Debug, Default)]
pub struct CompiledWorkflow {
    pub document: Option<Document>,
    /// The name that it is served under, with its place.
    pub name: Option<(String, Span)>,
    pub diagnostics: Vec<Diagnostic>,
    /// What is wrong with the policy itself.
    pub of_policy: Vec<Diagnostic>,
}

/// Checks and lowers a workflow. `step_kinds` are those of other runtimes that it may be meant for.
pub fn read(
    file: &Path,
    source: SourceId,
    text: &str,
    generated_at: &str,
    scopes: &Scopes,
    step_kinds: &[String],
    sources: &mut Sources,
) -> Result<CompiledWorkflow, Stop> {
    let checked = wdl::check_workflow(source, text, Dialect::Extended);
    let mut read = CompiledWorkflow { diagnostics: checked.diagnostics, ..CompiledWorkflow::default() };
    let Some(workflow) = checked.value.filter(|_| !read.diagnostics.iter().any(Diagnostic::is_error)) else {
        return Ok(read);
    };
    let unknown = wdl::unknown_step_kinds(&workflow, step_kinds);
    let has_unknown = !unknown.is_empty();
    read.diagnostics.extend(unknown);
    let paired = source_kind::paired_policies(file).into_iter().next();
    let policy = match &paired {
        Some(path) => {
            let text = files::read_text(path)?;
            let source = sources.add(path.display().to_string(), text.as_str());
            let checked = wdl::check_policy(source, &text, Dialect::Extended);
            let is_invalid = checked.diagnostics.iter().any(Diagnostic::is_error);
            read.of_policy = checked.diagnostics;
            match checked.value.filter(|_| !is_invalid) {
                Some(policy) => Some((policy, source_kind::stem(path), path.display().to_string())),
                None => return Ok(read),
            }
        }
        None => None,
    };
    let settings = wdl::LoweringOptions {
        policy: policy.as_ref().map(|(policy, name, source_file)| wdl::PairedPolicy {
            policy,
            name,
            source_file,
        }),
        generated_at,
        source_file: &file.display().to_string(),
        dialect: Dialect::Extended,
    };
    let (document, found) = wdl::lower(&workflow, &settings);
    read.diagnostics.extend(found);
    let place = workflow.name.place;
    let name_span = Span::new(source, place.start, place.end);
    read.name = document.as_ref().map(|document| (document.flow.name.clone(), name_span));
    let leaks = document.as_ref().map(|document| workflow_leaks(document, source, text, scopes));
    let leaks = leaks.unwrap_or_default();
    read.document = document.filter(|_| leaks.is_empty() && !has_unknown);
    read.diagnostics.extend(leaks);
    Ok(read)
}
