//! `stave run`: a flow on one or several requests.

mod once;

use std::path::PathBuf;
use std::sync::Arc;

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources, render};
use stave_exec::Document;
use stave_runtime::{Engine, FailureKind, RunReport};

use self::once::Once;
use crate::archive::unwritten;
use crate::args::Run;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::outcome::{exit_of, print};
use crate::project::Project;
use crate::run_session::{self, RunSession, Watch};
use crate::runnable::load;
use crate::terminal::{self, Terminal};

pub(crate) fn run(arguments: &Run, terminal: Terminal) -> Result<Exit, Stop> {
    let mut sources = Sources::new();
    let mut diagnostics = Vec::new();
    let mut project = Project::of(&arguments.flow, &mut sources, &mut diagnostics)?;
    project.also_held_to.clone_from(&arguments.bundle);
    let document = load(&arguments.flow, arguments.strict, &project, &mut sources, &mut diagnostics)?;
    let is_invalid = diagnostics.iter().any(Diagnostic::is_error);
    if !arguments.json && !diagnostics.is_empty() {
        let shown: Vec<Diagnostic> =
            diagnostics.iter().filter(|found| found.is_error() == is_invalid).cloned().collect();
        terminal::error_styled(render::terminal::render(&shown, &sources, terminal.stderr).trim_end());
        terminal::error("");
    }
    let document = match document {
        Some(document) if !is_invalid => Arc::new(document),
        _ => return Ok(invalid(arguments, &diagnostics, &sources)),
    };
    let requests = requests(&arguments.input)?;
    run_session::runtime()?.block_on(run_all(arguments, &project, document, &requests, terminal))
}

fn invalid(arguments: &Run, diagnostics: &[Diagnostic], sources: &Sources) -> Exit {
    if arguments.json {
        let report = stave_canon::parse(&render::json::render(diagnostics, sources)).unwrap_or_default();
        let message = format!("{}: {}", arguments.flow.display(), render::summary(diagnostics));
        let error = Value::from_iter([("message", Value::from(message)), ("kind", "invalid".into())]);
        let object = Value::from_iter([
            ("run_id", Value::Null),
            ("status", "error".into()),
            ("output", Value::Null),
            ("error", error),
            ("nodes", Value::Object(Default::default())),
            ("usage", Value::Null),
            ("diagnostics", report.get("diagnostics").cloned().unwrap_or_default()),
        ]);
        terminal::out(&object.to_string());
    } else {
        terminal::error(&format!("nothing was run: {}", render::summary(diagnostics)));
    }
    Exit::Invalid
}

/// The requests of all input files, in order. Without a file there is one empty request.
fn requests(inputs: &[PathBuf]) -> Result<Vec<Value>, Stop> {
    if inputs.is_empty() {
        return Ok(vec![Value::Object(Default::default())]);
    }
    let mut requests = Vec::new();
    for path in inputs {
        let text = files::read_text(path)?;
        let fail = |line: usize, error: &stave_canon::ParseError| {
            let place = format!("{}:{}:{}", path.display(), error.line + line, error.column);
            Stop::invalid(format!("{place}: the request is not JSON: {}", error.message))
        };
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                requests.push(stave_canon::parse_untrusted(line).map_err(|error| fail(index, &error))?);
            }
        } else {
            requests.push(stave_canon::parse_untrusted(&text).map_err(|error| fail(0, &error))?);
        }
    }
    Ok(requests)
}

async fn run_all(
    arguments: &Run,
    project: &Project,
    document: Arc<Document>,
    requests: &[Value],
    terminal: Terminal,
) -> Result<Exit, Stop> {
    let name = once::name(arguments, requests.len())?;
    let watch = match (arguments.events, !arguments.json && terminal.is_live) {
        (true, _) => Watch::Events,
        (false, true) => Watch::Progress,
        (false, false) => Watch::Nothing,
    };
    let session = RunSession::open(project, &document, &arguments.flags, watch).await?;
    let kept = session.journal.clone();
    let once = name.zip(kept).map(|(name, journal)| {
        Once::new(name, project, &document, requests, journal).recording(arguments.flags.record.is_some())
    });
    let engine = &session.engine;
    let quiet = arguments.json || arguments.events;
    let mut exit = Exit::Fine;
    let mut reports = Vec::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        let run_id = once.as_ref().map_or_else(|| engine.new_run_id(), |once| once.id(index));
        if !quiet && !arguments.flags.ephemeral {
            terminal::error(&format!("run {run_id}"));
        }
        let report = match &once {
            Some(once) => once.run(engine, &run_id, Arc::clone(&document), request).await?,
            None => {
                let report = engine.start(&run_id, Arc::clone(&document), request).await;
                report.map_err(|error| unwritten(&run_id, &error))?
            }
        };
        exit = exit.max(exit_of(&report));
        if !quiet {
            print(&report, terminal);
        }
        let is_interrupted =
            matches!(&report.result, Err(failed) if failed.failure.kind == FailureKind::Interrupted);
        reports.push(report);
        if is_interrupted {
            break;
        }
    }
    let printed = || {
        if arguments.json {
            terminal::out(&json(&reports, exit).to_string());
        }
    };
    session.end(&reports, requests.len(), printed).await?;
    Ok(exit)
}

/// One object: the report of a sole request, or all reports.
fn json(reports: &[RunReport], exit: Exit) -> Value {
    match reports {
        [report] => report.to_value(),
        reports => Value::from_iter([
            ("status", Value::from(if exit == Exit::Fine { "ok" } else { "error" })),
            ("runs", Value::Array(reports.iter().map(RunReport::to_value).collect())),
        ]),
    }
}
