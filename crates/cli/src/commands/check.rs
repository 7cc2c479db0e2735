//! `stave check`: everything that is wrong with flows and exec documents, at its line and column.

use std::path::{Path, PathBuf};

use stave_diag::{Diagnostic, Fix, Sources, apply_fixes, render, sort};
use stave_exec::Acceptance;
use stave_flow::Options;

use crate::args::{Check, Format};
use crate::exit::{Exit, Stop};
use crate::files;
use crate::project::{self, Project};
use crate::terminal::{self, Terminal};

/// How often fixes are applied before what is left is reported: a fix may make room for another one.
const FIX_ROUNDS: usize = 5;

pub(crate) fn check(arguments: &Check, terminal: Terminal) -> Result<Exit, Stop> {
    let paths = if arguments.paths.is_empty() { vec![default_path()?] } else { arguments.paths.clone() };
    let files = files::expand(&paths)?;
    let mut fixed = 0;
    if arguments.fix {
        for _ in 0..FIX_ROUNDS {
            let applied = apply(&files, arguments.strict)?;
            fixed += applied;
            if applied == 0 {
                break;
            }
        }
    }
    let mut sources = Sources::new();
    let diagnostics = diagnose_all(&files, arguments.strict, &mut sources)?;
    let format = if arguments.json { Format::Json } else { arguments.format };
    print(&diagnostics, &sources, format, terminal, files.len(), fixed);
    Ok(if diagnostics.iter().any(Diagnostic::is_error) { Exit::Invalid } else { Exit::Fine })
}

fn default_path() -> Result<PathBuf, Stop> {
    let flows = PathBuf::from("flows");
    if flows.is_dir() {
        return Ok(flows);
    }
    Err(Stop::invalid("there is no folder `flows` here").help("name the flow to check: stave check FILE"))
}

fn diagnose_all(files: &[PathBuf], strict: bool, sources: &mut Sources) -> Result<Vec<Diagnostic>, Stop> {
    let mut diagnostics = Vec::new();
    let mut roots = Vec::new();
    for file in files {
        // The project file is a source of the first flow that belongs to it, and reported once.
        let mut from_project = Vec::new();
        let project = Project::of(file, sources, &mut from_project)?;
        if !roots.contains(&project.root) {
            roots.push(project.root.clone());
            diagnostics.append(&mut from_project);
        }
        diagnostics.extend(diagnose(file, strict, sources)?);
    }
    sort(&mut diagnostics);
    Ok(diagnostics)
}

/// The findings of one file, whatever it holds.
fn diagnose(file: &Path, strict: bool, sources: &mut Sources) -> Result<Vec<Diagnostic>, Stop> {
    let text = files::read_text(file)?;
    let source = sources.add(file.display().to_string(), text.as_str());
    let mut diagnostics = Vec::new();
    if file.file_name().is_some_and(|name| name == project::FILE) {
        project::read(source, &text, &mut diagnostics);
    } else if is_exec_document(file, &text) {
        diagnostics = stave_exec::check_text(source, &text, Acceptance::Exact).err().unwrap_or_default();
    } else {
        let options = Options { strict, ..Options::default() };
        diagnostics = stave_flow::load(source, &text, &options).diagnostics;
    }
    Ok(diagnostics)
}

/// Flows may be JSON too; an exec document is one that has a graph, or a `.ir.json` file.
pub(crate) fn is_exec_document(file: &Path, text: &str) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(".ir.json") {
        return true;
    }
    name.ends_with(".json") && stave_canon::parse(text).is_ok_and(|value| value.get("graph").is_some())
}

/// Applies the fixes of every file once; gives how many there were.
fn apply(files: &[PathBuf], strict: bool) -> Result<usize, Stop> {
    let mut count = 0;
    for file in files {
        let mut sources = Sources::new();
        let diagnostics = diagnose(file, strict, &mut sources)?;
        let fixes: Vec<&Fix> = diagnostics.iter().filter_map(|diagnostic| diagnostic.fix.as_ref()).collect();
        if fixes.is_empty() {
            continue;
        }
        let applied = apply_fixes(&sources, &fixes);
        for text in applied.texts.values() {
            files::write_atomic(file, text)?;
        }
        count += applied.applied.len();
    }
    Ok(count)
}

fn print(
    diagnostics: &[Diagnostic],
    sources: &Sources,
    format: Format,
    terminal: Terminal,
    files: usize,
    fixed: usize,
) {
    match format {
        Format::Json => terminal::out(render::json::render(diagnostics, sources).trim_end()),
        Format::Sarif => terminal::out(render::sarif::render(diagnostics, sources).trim_end()),
        Format::Short => {
            let text = render::short::render(diagnostics, sources);
            if !text.is_empty() {
                terminal::out(text.trim_end());
            }
        }
        Format::Human => {
            let text = render::terminal::render(diagnostics, sources, terminal.stderr);
            if !text.is_empty() {
                terminal::error(text.trim_end());
                terminal::error("");
            }
            let counted = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            let fixes = if fixed == 0 { String::new() } else { format!(", {fixed} fixed") };
            terminal::error(&format!("checked {counted}{fixes}: {}", render::summary(diagnostics)));
            if let Some(first) = diagnostics.first() {
                terminal::error(&format!("`stave explain {}` says more", first.code));
            }
        }
    }
}
