//! `stave lsp`: the language server, on stdin and stdout.

use std::path::PathBuf;

use stave_diag::Sources;
use stave_flow::Options;
use stave_lsp::{Settings, serve_stdio};

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

impl Settings for Projects {
    /// A document without a file, or with a project file that can not be read, is judged by the defaults.
    fn options(&self, uri: &str) -> Options {
        let default = Options { strict: self.strict, ..Options::default() };
        let Some(path) = uri.strip_prefix("file://").map(decoded) else { return default };
        let project = Project::of(&path, &mut Sources::new(), &mut Vec::new());
        project.map_or(default, |project| project.settings.check_options(self.strict))
    }
}

/// The path of a file URI, with `%20` and the like read as the bytes they stand for.
fn decoded(uri_path: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(uri_path.len());
    let mut rest = uri_path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = (*first == b'%').then(|| tail.get(..2)).flatten();
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}
