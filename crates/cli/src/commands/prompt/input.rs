//! The prompts that a command was given, each with the text it was read from.

use std::path::PathBuf;
use std::sync::Arc;

use stave_diag::{Diagnostic, SourceId, Sources};
use stave_prompt::{PromptIr, parse};

use crate::exit::Stop;
use crate::files;
use crate::ports::{RandomIds, SystemClock};

/// One document, or what is wrong with it.
pub(super) struct Document {
    pub(super) source: SourceId,
    pub(super) text: String,
    pub(super) prompt: Result<Arc<PromptIr>, Vec<Diagnostic>>,
}

/// Everything that was given, in order.
pub(super) struct Documents {
    pub(super) sources: Sources,
    pub(super) documents: Vec<Document>,
}

/// Reads the documents of all files; without a file, those on stdin.
pub(super) fn read(paths: &[PathBuf]) -> Result<Documents, Stop> {
    let stdin = [PathBuf::from("-")];
    let paths = if paths.is_empty() { &stdin } else { paths };
    let mut out = Documents { sources: Sources::new(), documents: Vec::new() };
    for path in paths {
        let text = files::read_text(path)?;
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin { "<stdin>".to_owned() } else { path.display().to_string() };
        let is_lines = path.extension().is_some_and(|extension| extension == "jsonl")
            || (is_stdin && stave_canon::parse(&text).is_err());
        if is_lines {
            out.add_lines(&name, &text);
        } else {
            out.add(&name, text);
        }
    }
    if out.documents.is_empty() {
        return Err(Stop::invalid("there is no prompt to read")
            .help("name a .json or .jsonl file, or write to stdin"));
    }
    Ok(out)
}

impl Documents {
    fn add(&mut self, name: &str, text: String) {
        let source = self.sources.add(name, text.as_str());
        let prompt = parse(source, &text, &RandomIds, &SystemClock).map(Arc::new);
        self.documents.push(Document { source, text, prompt });
    }

    /// One document a line. A line is a source of its own, named with its number, so that a fault in a
    /// long file is shown with its line only.
    fn add_lines(&mut self, name: &str, text: &str) {
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            self.add(&format!("{name}:{}", index + 1), line.to_owned());
        }
    }

    /// What is wrong with the documents that could not be read.
    pub(super) fn faults(&self) -> Vec<Diagnostic> {
        self.documents
            .iter()
            .filter_map(|document| document.prompt.as_ref().err())
            .flatten()
            .cloned()
            .collect()
    }
}
