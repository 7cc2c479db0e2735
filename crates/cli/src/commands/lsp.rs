//! `stave lsp`: the language server, on stdin and stdout.

use std::path::Path;

use percent_encoding::percent_decode_str;
use stave_diag::Sources;
use stave_flow::CheckOptions;
use stave_lsp::{CheckOptionsSource, serve_stdio};

use crate::exit::{Exit, Stop};
use crate::project::Project;

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
}
