//! `stave fmt`: flows, workflows and policies in their canonical layout.

use std::path::{Path, PathBuf};

use similar::TextDiff;
use stave_canon::Value;
use stave_diag::{Diagnostic, Sources, render};
use stave_exec::wdl;
use stave_flow::{FormatError, FormatOptions};

use crate::args::Fmt;
use crate::default_path::default_path;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::source_kind::SourceKind;
use crate::terminal::{self, Terminal};

/// What became of one file.
struct Outcome {
    file: PathBuf,
    before: String,
    result: Result<String, FormatError>,
}

impl Outcome {
    fn changed(&self) -> Option<&str> {
        self.result.as_deref().ok().filter(|after| *after != self.before)
    }
}

pub(crate) fn fmt(arguments: &Fmt, terminal: Terminal) -> Result<Exit, Stop> {
    let paths = if arguments.paths.is_empty() { vec![default_path()?] } else { arguments.paths.clone() };
    let from_stdin = paths.iter().any(|path| path.as_os_str() == "-");
    if from_stdin && paths.len() > 1 {
        return Err(Stop::invalid("`-` cannot be combined with other paths: stdin is formatted to stdout"));
    }
    let files = if from_stdin { paths } else { files::expand(&paths)? };
    let options = FormatOptions::default();
    let mut sources = Sources::new();
    let mut outcomes = Vec::new();
    for file in files {
        let before = files::read_text(&file)?;
        let source = sources.add(file.display().to_string(), before.as_str());
        let named = arguments.stdin_name.as_deref().filter(|_| from_stdin).unwrap_or(&file);
        let result = match SourceKind::of(named) {
            Some(SourceKind::Workflow | SourceKind::Policy) => {
                wdl::format(source, &before).map_err(|diagnostic| FormatError::Invalid(vec![*diagnostic]))
            }
            Some(SourceKind::Flow) | None => stave_flow::format(source, &before, options),
        };
        outcomes.push(Outcome { file, before, result });
    }
    let writes = !arguments.check && !arguments.diff;
    for outcome in &outcomes {
        if arguments.diff {
            print_diff(outcome);
        }
        match outcome.changed() {
            Some(after) if writes && !from_stdin => files::write_atomic(&outcome.file, after)?,
            _ => {}
        }
        if writes && from_stdin && !arguments.json {
            // What cannot be laid out goes through as it is, so that an editor loses nothing.
            terminal::out_file(outcome.result.as_deref().unwrap_or(&outcome.before).trim_end_matches('\n'));
        }
    }
    report(arguments, &outcomes, &sources, terminal);
    let refused = outcomes.iter().any(|outcome| outcome.result.is_err());
    let changes = outcomes.iter().any(|outcome| outcome.changed().is_some());
    Ok(if refused || (arguments.check && changes) { Exit::Invalid } else { Exit::Fine })
}

fn print_diff(outcome: &Outcome) {
    let Some(after) = outcome.changed() else { return };
    let name = outcome.file.display().to_string();
    let diff = TextDiff::from_lines(outcome.before.as_str(), after);
    terminal::out(diff.unified_diff().context_radius(3).header(&name, &name).to_string().trim_end());
}

fn report(arguments: &Fmt, outcomes: &[Outcome], sources: &Sources, terminal: Terminal) {
    let errors: Vec<Diagnostic> = outcomes
        .iter()
        .filter_map(|outcome| match &outcome.result {
            Err(FormatError::Invalid(diagnostics)) => Some(diagnostics),
            _ => None,
        })
        .flatten()
        .filter(|found| found.is_error())
        .cloned()
        .collect();
    if arguments.json {
        let files = outcomes.iter().map(answer).collect();
        terminal::out(&Value::from_iter([("files", Value::Array(files))]).to_string());
        return;
    }
    if !errors.is_empty() {
        terminal::error_styled(render::terminal::render(&errors, sources, terminal.stderr).trim_end());
        terminal::error("");
    }
    let would = if arguments.check || arguments.diff { "would change" } else { "changed" };
    for outcome in outcomes {
        let name = outcome.file.display();
        match &outcome.result {
            Err(error) => terminal::error(&format!("left {name} as it is: {error}")),
            Ok(_) if outcome.changed().is_some() && outcome.file != Path::new("-") => {
                terminal::error(&format!("{would} {name}"));
            }
            Ok(_) => {}
        }
    }
    let count = outcomes.len();
    let changed = outcomes.iter().filter(|outcome| outcome.changed().is_some()).count();
    let counted = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    if outcomes.iter().all(|outcome| outcome.file != Path::new("-")) {
        terminal::error(&format!("formatted {counted}: {changed} {would}"));
    }
}

fn answer(outcome: &Outcome) -> Value {
    let status = match &outcome.result {
        Ok(_) if outcome.changed().is_some() => "changed",
        Ok(_) => "unchanged",
        Err(FormatError::Invalid(_)) => "invalid",
        Err(FormatError::Unfaithful) => "left",
    };
    Value::from_iter([
        ("file", Value::from(outcome.file.display().to_string())),
        ("status", status.into()),
        ("text", outcome.changed().map(str::to_owned).into()),
    ])
}
