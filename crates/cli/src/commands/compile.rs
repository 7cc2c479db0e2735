//! `stave compile`: flows and workflows to exec documents, a manifest, and whatever else is emitted.

mod report;
mod watch;

use std::path::{Path, PathBuf};

use stave_canon::Value;
use stave_compile::{Cleaned, CompileOutput, Emitters, Job};

use self::report::{Progress, Report, counted};
use crate::args::{self, Compile};
use crate::exit::{Exit, Stop};
use crate::terminal::{self, Terminal};

pub(crate) fn compile(arguments: &Compile, terminal: Terminal) -> Result<Exit, Stop> {
    let emitters = Emitters::named(&arguments.emit)?;
    let out = stave_compile::output_folder(&arguments.out)?;
    if let Some(cleaned) = cleaned(arguments).filter(|_| arguments.paths.is_empty()) {
        return clean(arguments, &out, cleaned);
    }
    if arguments.watch {
        return watch::watch(arguments, &emitters, &out, terminal);
    }
    let report = once(arguments, &emitters, &out)?;
    report.print(arguments.json, terminal);
    Ok(report.exit())
}

fn once(arguments: &Compile, emitters: &Emitters, out: &Path) -> Result<Report, Stop> {
    let paths = paths(arguments)?;
    let job = Job {
        paths: &paths,
        out,
        emitters,
        source_paths: match arguments.source_paths {
            args::SourcePaths::Relative => stave_compile::SourcePaths::Relative,
            args::SourcePaths::Absolute => stave_compile::SourcePaths::Absolute,
        },
        strict: arguments.strict,
        uses_cache: !arguments.no_cache,
        cleaned: cleaned(arguments),
    };
    let outcome: CompileOutput = stave_compile::compile(&job, &Progress::new(arguments.json))?;
    Ok(Report::new(out, emitters, outcome))
}

fn cleaned(arguments: &Compile) -> Option<Cleaned> {
    match (arguments.clean, arguments.clean_all) {
        (_, true) => Some(Cleaned::Everything),
        (true, false) => Some(Cleaned::Documents),
        (false, false) => None,
    }
}

/// Cleans without compiling.
fn clean(arguments: &Compile, out: &Path, cleaned: Cleaned) -> Result<Exit, Stop> {
    let removed = stave_compile::clean(out, cleaned)?;
    if arguments.json {
        let report = [
            ("status", Value::from("ok")),
            ("out", out.display().to_string().into()),
            ("removed", removed.into()),
        ];
        terminal::out(&Value::from_iter(report).to_string());
    } else {
        terminal::error(&format!("removed {} from {}", counted(removed.len(), "file"), out.display()));
    }
    Ok(Exit::Fine)
}

fn paths(arguments: &Compile) -> Result<Vec<PathBuf>, Stop> {
    if !arguments.paths.is_empty() {
        return Ok(arguments.paths.clone());
    }
    let flows = PathBuf::from("flows");
    if flows.is_dir() {
        return Ok(vec![flows]);
    }
    Err(Stop::invalid("there is no folder `flows` here")
        .help("name what to compile: stave compile FILE --out DIR"))
}
