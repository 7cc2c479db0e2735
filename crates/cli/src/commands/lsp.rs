//! `stave lsp`: the language server, on stdin and stdout.

use std::path::Path;

use percent_encoding::percent_decode_str;
use stave_diag::{Diagnostic, SourceId, Sources};
use stave_exec::wdl::{self, Dialect};
use stave_flow::CheckOptions;
use stave_lsp::{CheckOptionsSource, serve_stdio};

use crate::exec_document::ANY_TIME;
use crate::exit::{Exit, Stop};
use crate::project::Project;
use crate::source_kind::SourceKind;
use crate::workflow;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An editor starts it by itself; docs/lsp.md shows the settings for several editors.")]
pub(crate) struct Lsp {
    /// Treat leniencies as errors
    #[arg(long)]
    strict: bool,
    /// For editors that pass it; there is no other way to speak
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(crate) fn lsp(arguments: &Lsp) -> Result<Exit, Stop> {
    serve_stdio(&Projects { strict: arguments.strict })
        .map_err(|error| Stop::internal(format!("the language server stopped: {error}")))?;
    Ok(Exit::Fine)
}

/// The findings of `stave check` about a workflow. One whose project or policy cannot be read is judged by itself.
fn workflow_findings(file: &Path, text: &str) -> Vec<Diagnostic> {
    let mut sources = Sources::new();
    // Its places are those of the first source.
    let source = sources.add(file.display().to_string(), text);
    let project = Project::of(file, &mut sources, &mut Vec::new());
    let read = project.and_then(|project| {
        let settings = &project.settings;
        let (scopes, kinds) = (&settings.accepts, settings.step_kinds.as_slice());
        workflow::read(file, source, text, ANY_TIME, scopes, kinds, &mut sources)
    });
    match read {
        Ok(read) => read.diagnostics,
        Err(_) => wdl::check_workflow(source, text, Dialect::Extended).diagnostics,
    }
}

/// Finds the project of each document.
struct Projects {
    strict: bool,
}

impl CheckOptionsSource for Projects {
    /// A document without a file, or with a project that cannot be read, is judged by the defaults.
    fn options(&self, uri: &str) -> CheckOptions {
        let default = CheckOptions { strict: self.strict, ..CheckOptions::default() };
        let Some(path) = uri.strip_prefix("file://") else { return default };
        let path = percent_decode_str(path).decode_utf8_lossy();
        let project = Project::of(Path::new(&*path), &mut Sources::new(), &mut Vec::new());
        project.and_then(|project| project.check_options(self.strict)).unwrap_or(default)
    }

    /// Workflows and policies have checkers of their own.
    fn other_findings(&self, uri: &str, text: &str) -> Option<Vec<Diagnostic>> {
        let path = percent_decode_str(uri.strip_prefix("file://")?).decode_utf8_lossy();
        let file = Path::new(&*path);
        match SourceKind::of(file)? {
            SourceKind::Workflow => Some(workflow_findings(file, text)),
            SourceKind::Policy => Some(wdl::check_policy(SourceId(0), text, Dialect::Extended).diagnostics),
            SourceKind::Flow => None,
        }
    }
}
