//! What a compile reports: progress while it works, then a summary for people or machines.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stave_canon::Value;
use stave_compile::{CompileOutput, Compiled, Emitters, Listener, Published};
use stave_diag::{Diagnostic, Sources, render};

use crate::exit::Exit;
use crate::terminal::{self, Terminal};

/// The result of a compile.
#[derive(Debug)]
pub(super) struct Report {
    out: PathBuf,
    emitted: Vec<&'static str>,
    diagnostics: Vec<Diagnostic>,
    sources: Arc<Sources>,
    /// Nothing was written when there is none: the sources have errors.
    compiled: Option<Compiled>,
}

impl Report {
    pub(super) fn new(out: &Path, emitters: &Emitters, outcome: CompileOutput) -> Report {
        let CompileOutput { diagnostics, sources, compiled } = outcome;
        let emitted = if compiled.is_some() { emitters.words() } else { Vec::new() };
        Report { out: out.to_path_buf(), emitted, diagnostics, sources, compiled }
    }

    fn is_invalid(&self) -> bool {
        self.compiled.is_none()
    }

    pub(super) fn exit(&self) -> Exit {
        if self.is_invalid() { Exit::Invalid } else { Exit::Fine }
    }

    pub(super) fn print(&self, json: bool, terminal: Terminal) {
        if json {
            terminal::out(&self.to_value().to_string());
            return;
        }
        let text = render::terminal::render(&self.diagnostics, &self.sources, terminal.stderr);
        if !text.is_empty() {
            terminal::error_styled(text.trim_end());
            terminal::error("");
        }
        let Some(compiled) = &self.compiled else {
            terminal::error(&format!("nothing was written: {}", render::summary(&self.diagnostics)));
            return;
        };
        let Published { written, removed, unchanged } = &compiled.published;
        let mut parts = vec![format!("{} written", written.len())];
        if *unchanged > 0 {
            parts.push(format!("{unchanged} unchanged"));
        }
        if !removed.is_empty() {
            parts.push(format!("{} removed", removed.len()));
        }
        let flows = counted(compiled.flows.len(), "flow");
        terminal::error(&format!("compiled {flows} to {}: {}", self.out.display(), parts.join(", ")));
    }

    fn to_value(&self) -> Value {
        let report =
            stave_canon::parse(&render::json::render(&self.diagnostics, &self.sources)).unwrap_or_default();
        let compiled = self.compiled.as_ref();
        let flows = compiled.map(|compiled| compiled.flows.as_slice()).unwrap_or_default();
        let flows = flows.iter().map(|flow| {
            Value::from_iter([
                ("name", flow.name.as_str()),
                ("source_file", flow.source_file.as_str()),
                ("file_name", flow.file_name.as_str()),
            ])
        });
        let published = compiled.map(|compiled| compiled.published.clone()).unwrap_or_default();
        Value::from_iter([
            ("status", Value::from(if self.is_invalid() { "error" } else { "ok" })),
            ("out", self.out.display().to_string().into()),
            ("run_id", compiled.map(|compiled| compiled.run_id.clone()).into()),
            ("emitted", self.emitted.clone().into()),
            ("flows", Value::Array(flows.collect())),
            ("written", published.written.into()),
            ("removed", published.removed.into()),
            ("unchanged", published.unchanged.into()),
            ("diagnostics", report.get("diagnostics").cloned().unwrap_or_default()),
        ])
    }
}

/// A count with its noun.
pub(super) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// How far a compile of many files is, on one line of a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    is_shown: bool,
    shown: AtomicUsize,
}

/// Fewer files than this are done before anybody could read it.
const MANY: usize = 50;

impl Progress {
    pub(super) fn new(json: bool) -> Self {
        Progress { is_shown: !json && std::io::stderr().is_terminal(), shown: AtomicUsize::new(0) }
    }
}

impl Listener for Progress {
    fn lowered(&self, done: usize, all: usize) {
        if !self.is_shown || all < MANY {
            return;
        }
        let percent = done * 100 / all;
        if self.shown.fetch_max(percent, Ordering::Relaxed) < percent {
            terminal::overwrite_line(&format!("compiling {done} of {all} ({percent} %)"));
        }
    }

    fn all_lowered(&self) {
        if self.shown.load(Ordering::Relaxed) > 0 {
            terminal::overwrite_line("");
        }
    }

    fn warn(&self, text: &str) {
        terminal::warn(text);
    }
}
