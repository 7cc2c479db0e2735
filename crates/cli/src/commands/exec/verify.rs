//! `stave exec verify`: a manifest compared with the documents that it lists.

use std::fs;
use std::path::{Path, PathBuf};

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources, render};
use stave_exec::{ManifestFiles, check_manifest};

use crate::args::exec::Verify;
use crate::exec_document;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::terminal::{self, Terminal};

/// The manifest of an output folder, and the folder of its documents.
const MANIFEST: &str = "manifest.json";
const FLOWS: &str = "flows";

pub(super) fn verify(arguments: &Verify, terminal: Terminal) -> Result<Exit, Stop> {
    let path = &arguments.manifest;
    let path = if path.is_dir() { path.join(MANIFEST) } else { path.clone() };
    let text = files::read_text(&path)?;
    let mut beside = Beside { folder: path.parent().map_or_else(PathBuf::new, Path::to_path_buf), read: 0 };
    let mut sources = Sources::new();
    let source = sources.add(path.display().to_string(), text.as_str());
    let found = check_manifest(source, &text, &mut beside);
    let is_valid = !found.iter().any(Diagnostic::is_error);
    if arguments.json {
        let report = [
            ("valid", Value::from(is_valid)),
            ("documents", beside.read.into()),
            ("diagnostics", exec_document::diagnostics(&found, &sources)),
        ];
        terminal::out(&Value::from_iter(report).to_string());
    } else {
        let shown = render::terminal::render(&found, &sources, terminal.stderr);
        if !shown.is_empty() {
            terminal::error_styled(shown.trim_end());
            terminal::error("");
        }
        let counted =
            if beside.read == 1 { "1 document".to_owned() } else { format!("{} documents", beside.read) };
        terminal::error(&format!("verified {counted}: {}", render::summary(&found)));
    }
    Ok(if is_valid { Exit::Fine } else { Exit::Invalid })
}

/// The folder of a manifest.
struct Beside {
    folder: PathBuf,
    /// How many documents were read.
    read: usize,
}

impl ManifestFiles for Beside {
    fn text(&mut self, ir_path: &str) -> Result<String, String> {
        let text = files::read_text(&self.folder.join(ir_path)).map_err(|stop| stop.message)?;
        self.read += 1;
        Ok(text)
    }

    fn present(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.folder.join(FLOWS)) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut paths: Vec<String> =
            names.filter(|name| name.ends_with(".ir.json")).map(|name| format!("{FLOWS}/{name}")).collect();
        paths.sort_unstable();
        paths
    }
}
