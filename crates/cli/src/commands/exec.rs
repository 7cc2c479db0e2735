//! `stave exec`: looking at exec documents. One file per action.

mod diff;
mod graph;
mod show;
mod validate;

use std::path::Path;

use stave_diag::{Diagnostic, Sources, render};
use stave_exec::{Acceptance, Document};

use crate::args::exec::{Exec, ExecAction};
use crate::exit::{Exit, Stop};
use crate::files;
use crate::terminal::{self, Terminal};

pub(crate) fn exec(arguments: &Exec, terminal: Terminal) -> Result<Exit, Stop> {
    match &arguments.action {
        ExecAction::Show(arguments) => show::show(arguments, terminal),
        ExecAction::Validate(arguments) => validate::validate(arguments, terminal),
        ExecAction::Graph(arguments) => graph::graph(arguments, terminal),
        ExecAction::Diff(arguments) => diff::diff(arguments, terminal),
    }
}

/// Reads a document as a runtime does. What is wrong with it is shown, and is no reason to go on.
fn load(file: &Path, terminal: Terminal, json: bool) -> Result<Document, Stop> {
    let text = files::read_text(file)?;
    let mut sources = Sources::new();
    let source = sources.add(file.display().to_string(), text.as_str());
    stave_exec::check_text(source, &text, Acceptance::Additive)
        .map_err(|found| refused(file, &found, &sources, terminal, json))
}

fn refused(file: &Path, found: &[Diagnostic], sources: &Sources, terminal: Terminal, json: bool) -> Stop {
    if !json {
        terminal::error(render::terminal::render(found, sources, terminal.stderr).trim_end());
        terminal::error("");
    }
    let first = found.first().map(|first| first.message.clone()).unwrap_or_default();
    Stop::invalid(format!("{} is not a valid exec document: {first}", file.display()))
        .help("`stave exec validate` lists everything that is wrong with it")
}
