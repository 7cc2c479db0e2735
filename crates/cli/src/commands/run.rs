//! `stave run`: a flow on one or several requests.

mod once;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stave_canon::{Clock, Value};
use stave_diag::{Diagnostic, SourceId, Sources, render};
use stave_exec::{Acceptance, Document};
use stave_flow::model::Flow;
use stave_lower::{ExecSettings, flow_to_exec, hold_to_contracts, hold_to_labels};
use stave_runtime::journal::JournalError;
use stave_runtime::{EmbeddedEngine, Engine, Kind, RunReport, Status};

use self::once::Once;
use super::check::is_exec_document;
use crate::admission::{Entrant, admit};
use crate::args::Run;
use crate::exit::{Exit, Stop};
use crate::ports::SystemClock;
use crate::progress::{EventLines, Progress};
use crate::project::Project;
use crate::services::{self, Models};
use crate::source_kind::SourceKind;
use crate::storage;
use crate::system_documents as documents;
use crate::terminal::{self, Terminal};
use crate::tracing::Tracing;
use crate::{files, table, workflow};

/// The extra property of a document's metadata with the hash of the flow's text.
pub(super) const SOURCE_HASH: &str = "source_sha256";

pub(crate) fn run(arguments: &Run, terminal: Terminal) -> Result<Exit, Stop> {
    let mut sources = Sources::new();
    let mut diagnostics = Vec::new();
    let project = Project::of(&arguments.flow, &mut sources, &mut diagnostics)?;
    let document = load(&arguments.flow, arguments.strict, &project, &mut sources, &mut diagnostics)?;
    let is_invalid = diagnostics.iter().any(Diagnostic::is_error);
    if !arguments.json && !diagnostics.is_empty() {
        let shown: Vec<Diagnostic> =
            diagnostics.iter().filter(|found| found.is_error() == is_invalid).cloned().collect();
        terminal::error_styled(render::terminal::render(&shown, &sources, terminal.stderr).trim_end());
        terminal::error("");
    }
    let document = match document {
        Some(document) if !is_invalid => Arc::new(held(document, arguments.contracts.as_deref())?),
        _ => return Ok(invalid(arguments, &diagnostics, &sources)),
    };
    let requests = requests(&arguments.input)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    runtime.block_on(run_all(arguments, &project, document, &requests, terminal))
}

/// The document, held to the contracts in a file when there is one.
fn held(mut document: Document, contracts: Option<&Path>) -> Result<Document, Stop> {
    let Some(file) = contracts else { return Ok(document) };
    let system = documents::load(file)?;
    hold_to_contracts(&mut document, &system)
        .map_err(|reason| Stop::invalid(format!("{}: {reason}", file.display())))?;
    Ok(document)
}

/// Checks and lowers a flow or a workflow, or reads an exec document, and holds it to the project's labels.
pub(super) fn load(
    flow: &Path,
    strict: bool,
    project: &Project,
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Document>, Stop> {
    let mut document = read(flow, strict, project, sources, diagnostics)?;
    if let Some(document) = &mut document {
        hold_to_labels(document, &project.settings.sensitivity());
    }
    Ok(document)
}

fn read(
    flow: &Path,
    strict: bool,
    project: &Project,
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Document>, Stop> {
    let text = files::read_text(flow)?;
    let source = sources.add(flow.display().to_string(), text.as_str());
    if is_exec_document(flow, &text) {
        admit(project, &Entrant::Compiled { file: flow, text: &text })?;
        return Ok(match stave_exec::check_text(source, &text, Acceptance::Additive) {
            Ok(document) => Some(document),
            Err(found) => {
                diagnostics.extend(found);
                None
            }
        });
    }
    admit(project, &Entrant::Source)?;
    match SourceKind::of(flow) {
        Some(SourceKind::Workflow) => {
            let now = SystemClock.now().to_string();
            let read = workflow::read(flow, source, &text, &now, &project.settings.accepts, sources)?;
            diagnostics.extend(read.diagnostics);
            diagnostics.extend(read.of_policy);
            return Ok(read.document.map(|document| with_hash(document, &text)));
        }
        Some(SourceKind::Policy) => {
            let stop = Stop::invalid(format!("{} is a policy, which does not run", flow.display()));
            return Err(stop.help("run the workflow of the same name, which applies it"));
        }
        Some(SourceKind::Flow) | None => {}
    }
    let lowered = lower(flow, source, &text, project, strict, sources, diagnostics)?;
    Ok(lowered.map(|(_, document)| document))
}

/// Checks a flow and lowers it; `None` when it has errors.
pub(super) fn lower(
    file: &Path,
    source: SourceId,
    text: &str,
    project: &Project,
    strict: bool,
    sources: &Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<(Flow, Document)>, Stop> {
    let options = project.settings.check_options(strict);
    let parsed = stave_flow::load(source, text, &options);
    let is_invalid = parsed.diagnostics.iter().any(Diagnostic::is_error);
    diagnostics.extend(parsed.diagnostics);
    let Some(flow) = parsed.flow.filter(|_| !is_invalid) else { return Ok(None) };
    let settings = ExecSettings {
        policy_ref: project.policy_ref(),
        policy: services::policy(project)?,
        default_model: project.settings.default_model.clone(),
        generated_at: SystemClock.now().to_string(),
        source_file: file.display().to_string(),
    };
    let document = with_hash(flow_to_exec(&flow, sources, &settings), text);
    Ok(Some((flow, document)))
}

/// With the hash of its source `stave why` sees that the file has changed since.
fn with_hash(mut document: Document, text: &str) -> Document {
    document.metadata.extra.insert(SOURCE_HASH.into(), stave_canon::prefixed_sha256(text).into());
    document
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
    let state_dir = arguments.state_dir.clone().unwrap_or_else(|| project.root.join(".stave"));
    let models = models(arguments, project);
    // Nobody is asked for replies that could not be kept.
    if let Some(path) = &arguments.record {
        files::check_recording_target(path)?;
    }
    let name = once::name(arguments, requests.len())?;
    let storage = storage::storage(project, &document, &state_dir, arguments.ephemeral)?;
    retain(project, &state_dir, arguments.ephemeral).await?;
    let kept = storage.database.as_ref().map(|database| storage::journal(project, database));
    let once = name.zip(kept).map(|(name, journal)| Once::new(name, project, &document, requests, journal));
    let (mut services, recorder) = services::build(project, &document, storage, &models)?;
    let tracing = Tracing::of(project);
    services.tracer = tracing.tracer();
    let mut progress = None;
    if arguments.events {
        services.observer = Arc::new(EventLines);
    } else if !arguments.json && terminal.is_live {
        let (drawn, watcher) = Progress::start(&document);
        services.observer = watcher;
        progress = Some(drawn);
    }
    let python = Arc::clone(&services.python);
    let engine = EmbeddedEngine::new(services);
    let draining = drain_on_signal(&engine);
    let quiet = arguments.json || arguments.events;
    let mut exit = Exit::Fine;
    let mut reports = Vec::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        let run_id = once.as_ref().map_or_else(|| engine.new_run_id(), |once| once.id(index));
        if !quiet && !arguments.ephemeral {
            terminal::error(&format!("run {run_id}"));
        }
        let report = match &once {
            Some(once) => once.run(&engine, &run_id, Arc::clone(&document), request).await?,
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
            matches!(&report.result, Err(failed) if failed.failure.kind == Kind::Interrupted);
        reports.push(report);
        if is_interrupted {
            break;
        }
    }
    drop(progress);
    draining.abort();
    python.shutdown().await;
    if let (Some(path), Some(recorder)) = (&arguments.record, recorder) {
        files::write_private(path, &recorder.recording().to_yaml())?;
    }
    if arguments.json {
        terminal::out(&json(&reports, exit).to_string());
    }
    // The answer is out; the collector has what is left of the time.
    tracing.finish().await;
    Ok(exit)
}

/// Lets runs come to rest when the process is asked to end; a second request ends it at once.
pub(super) fn drain_on_signal(engine: &EmbeddedEngine) -> tokio::task::JoinHandle<()> {
    let engine = engine.clone();
    tokio::spawn(async move {
        asked_to_end().await;
        engine.shut_down();
        asked_to_end().await;
        std::process::exit(Exit::Failed as i32);
    })
}

#[cfg(unix)]
pub(super) async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        }
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

/// Waits for the second request to end since this was first awaited.
#[cfg(unix)]
pub(super) async fn asked_to_end_twice() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    for _ in 0..2 {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
pub(super) async fn asked_to_end() {
    let _ = tokio::signal::ctrl_c().await;
}

#[cfg(not(unix))]
pub(super) async fn asked_to_end_twice() {
    for _ in 0..2 {
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// Takes away ended runs that the project does not keep.
async fn retain(project: &Project, state_dir: &Path, ephemeral: bool) -> Result<(), Stop> {
    let Some(retention) = project.settings.journal.retention().filter(|_| !ephemeral) else { return Ok(()) };
    let journal = storage::journal(project, &storage::database(state_dir)?);
    let retained = journal.retain(retention, SystemClock.now()).await;
    retained.map(drop).map_err(|error| Stop::internal(error.to_string()))
}

/// What happened could not be written down. Nothing was done that is not in the journal, except the steps
/// that were under way.
pub(super) fn unwritten(run_id: &str, error: &JournalError) -> Stop {
    if matches!(error, JournalError::RequestTooLarge { .. }) {
        return super::runs::too_large(error);
    }
    Stop::internal(format!("run {run_id}: {error}"))
        .help(format!("`stave runs resume {run_id}` goes on with it"))
}

fn models(arguments: &Run, project: &Project) -> Models {
    if let Some(path) = &arguments.replay {
        return Models::Replay(path.clone());
    }
    match &project.settings.replay {
        Some(path) if !arguments.live && arguments.record.is_none() => {
            Models::Replay(project.root.join(path))
        }
        _ if arguments.record.is_some() => Models::Record,
        _ => Models::Live,
    }
}

pub(super) fn exit_of(report: &RunReport) -> Exit {
    match &report.result {
        Ok(_) => Exit::Fine,
        Err(_) if report.is_refused() => Exit::Refused,
        Err(_) => Exit::Failed,
    }
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

/// The answer on stdout; the table of nodes, and what went wrong where, on stderr.
pub(super) fn print(report: &RunReport, terminal: Terminal) {
    terminal::error_styled(&table::nodes(report, terminal.stderr));
    match &report.result {
        Ok(output) => terminal::out(&stave_canon::pretty_insertion_utf8(output)),
        Err(failed) => {
            let place = failed
                .failure
                .origin
                .map(|origin| format!(" (line {}, column {})", origin.line, origin.column));
            let node = failed.node.as_ref().map_or_else(String::new, |node| format!("node `{node}`: "));
            if failed.failure.kind == Kind::Interrupted {
                terminal.stop(
                    &Stop::invalid(&failed.failure.message)
                        .help(format!("`stave runs resume {}` goes on with it", report.run_id)),
                );
                return;
            }
            if failed.failure.kind == Kind::Waiting {
                let node = failed.node.as_deref().unwrap_or("NODE");
                terminal.stop(&Stop::invalid(&failed.failure.message).help(format!(
                    "`stave runs approve {} {node}` lets it go on, with --deny it does not",
                    report.run_id
                )));
                return;
            }
            let message = format!("{node}{}{}", failed.failure.message.trim_end(), place.unwrap_or_default());
            terminal.stop(
                &Stop::invalid(message).help(format!("`stave explain {}` says more", failed.failure.code)),
            );
        }
    }
    for node in report.nodes.iter().filter(|node| node.status == Status::Error) {
        if let (Some(failure), Ok(_)) = (&node.failure, &report.result) {
            terminal::error(&format!("note: `{}` failed and was handled: {}", node.id, failure.message));
        }
    }
}
