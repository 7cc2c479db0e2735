//! What a compile tells: progress while it works, then a summary for people or machines.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources, render};

use super::compilation::Compilation;
use super::emit::Emitter;
use super::publish::Published;
use crate::exit::Exit;
use crate::terminal::{self, Terminal};

/// What a compile came to.
#[derive(Debug)]
pub(super) struct Report {
    out: PathBuf,
    emitted: Vec<&'static str>,
    flows: Vec<Value>,
    run_id: Option<String>,
    published: Published,
    diagnostics: Vec<Diagnostic>,
    sources: Arc<Sources>,
}

impl Report {
    /// Nothing was written: the sources have errors.
    pub(super) fn invalid(out: &Path, diagnostics: Vec<Diagnostic>, sources: Arc<Sources>) -> Report {
        Report {
            out: out.to_path_buf(),
            emitted: Vec::new(),
            flows: Vec::new(),
            run_id: None,
            published: Published::default(),
            diagnostics,
            sources,
        }
    }

    pub(super) fn compiled(
        out: &Path,
        emitters: &[&'static dyn Emitter],
        compilation: &Compilation,
        published: Published,
        diagnostics: Vec<Diagnostic>,
        sources: Arc<Sources>,
    ) -> Report {
        let flows = compilation.flows.iter().map(|flow| {
            Value::from_iter([
                ("name", Value::from(flow.entry.name.as_str())),
                ("source_file", flow.entry.source_file.as_str().into()),
                ("file_name", flow.file_name.as_str().into()),
            ])
        });
        Report {
            out: out.to_path_buf(),
            emitted: emitters.iter().map(|emitter| emitter.word()).collect(),
            flows: flows.collect(),
            run_id: Some(compilation.run_id()),
            published,
            diagnostics,
            sources,
        }
    }

    fn is_invalid(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
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
        if self.is_invalid() {
            terminal::error(&format!("nothing was written: {}", render::summary(&self.diagnostics)));
            return;
        }
        let Published { written, removed, unchanged } = &self.published;
        let mut parts = vec![format!("{} written", written.len())];
        if *unchanged > 0 {
            parts.push(format!("{unchanged} unchanged"));
        }
        if !removed.is_empty() {
            parts.push(format!("{} removed", removed.len()));
        }
        let flows = counted(self.flows.len(), "flow");
        terminal::error(&format!("compiled {flows} to {}: {}", self.out.display(), parts.join(", ")));
    }

    fn to_value(&self) -> Value {
        let report =
            stave_canon::parse(&render::json::render(&self.diagnostics, &self.sources)).unwrap_or_default();
        Value::from_iter([
            ("status", Value::from(if self.is_invalid() { "error" } else { "ok" })),
            ("out", self.out.display().to_string().into()),
            ("run_id", self.run_id.as_deref().map_or(Value::Null, Value::from)),
            ("emitted", self.emitted.clone().into()),
            ("flows", Value::Array(self.flows.clone())),
            ("written", self.published.written.clone().into()),
            ("removed", self.published.removed.clone().into()),
            ("unchanged", self.published.unchanged.into()),
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
    pub(super) fn new(_: Terminal, json: bool) -> Self {
        Progress { is_shown: !json && std::io::stderr().is_terminal(), shown: AtomicUsize::new(0) }
    }

    pub(super) fn show(&self, done: usize, all: usize) {
        if !self.is_shown || all < MANY {
            return;
        }
        let percent = done * 100 / all;
        if self.shown.fetch_max(percent, Ordering::Relaxed) < percent {
            terminal::overwrite_line(&format!("compiling {done} of {all} ({percent} %)"));
        }
    }

    pub(super) fn end(&self) {
        if self.shown.load(Ordering::Relaxed) > 0 {
            terminal::overwrite_line("");
        }
    }
}
