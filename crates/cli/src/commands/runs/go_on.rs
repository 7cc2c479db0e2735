//! `stave runs resume`, `replay` and `approve`: a run that was kept, driven on.

use std::path::PathBuf;
use std::sync::Arc;

use stave_canon::{Clock, Value};
use stave_diag::{Diagnostic, Sources};
use stave_runtime::journal::{Decision, JournalError, Question, RunStatus, StoredRun, questions};
use stave_runtime::{EmbeddedEngine, Engine, RunReport};

use super::arguments::{Approve, GoOn, Replay, With};
use super::{Archive, Keeper, stop};
use crate::contracts::Contracts;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::outcome::{exit_of, print};
use crate::ports::SystemClock;
use crate::project::Project;
use crate::runnable::load;
use crate::services::{self, Models};
use crate::terminal::{self, Terminal};
use crate::tracing::Tracing;
use crate::{restate, storage};

pub(super) async fn resume(arguments: &GoOn, terminal: Terminal) -> Result<Exit, Stop> {
    let archive = Archive::existing(&arguments.with.place.runs())?;
    let run = archive.run(&arguments.run).await?;
    let id = run.summary.id.clone();
    if arguments.force {
        archive.runs.unquarantine(&id).await.map_err(|error| stop(&error))?;
    }
    drive(
        &archive,
        &run,
        &arguments.with,
        terminal,
        |engine, auth| async move { engine.resume(&id, auth).await },
    )
    .await
}

pub(super) async fn replay(arguments: &Replay, terminal: Terminal) -> Result<Exit, Stop> {
    let archive = Archive::existing(&arguments.with.place.runs())?;
    let run = archive.run(&arguments.run).await?;
    if !run.summary.status.is_terminal() {
        let message = format!("run {} has not ended: {}", run.summary.id, run.summary.status);
        let help = format!("`stave runs resume {}` continues it", run.summary.id);
        return Err(Stop::invalid(message).help(help));
    }
    let run = held_to_present_budget(&archive.project, run);
    let stored = run.clone();
    drive(&archive, &run, &arguments.with, terminal, |engine, auth| async move {
        let run_id = engine.new_run_id();
        if !arguments.with.place.json {
            terminal::error(&format!("run {run_id}"));
        }
        engine.replay(&run_id, stored, arguments.node.as_deref(), auth).await
    })
    .await
}

/// The run with the budget that its flow has now, when the flow's file is still there and has no mistakes.
fn held_to_present_budget(project: &Project, run: StoredRun) -> StoredRun {
    let source = run.document.metadata.source_file.clone();
    let places = [PathBuf::from(&source), project.root.join(&source)];
    let now = places.iter().find(|place| place.is_file()).and_then(|file| {
        let mut diagnostics = Vec::new();
        let document = load(file, false, project, &mut Sources::new(), &mut diagnostics).ok().flatten();
        document.filter(|_| !diagnostics.iter().any(Diagnostic::is_error))
    });
    match now {
        Some(now) => run.held_to_budget_of(&now),
        None => {
            let id = &run.summary.id;
            terminal::error(&format!("warning: {source} cannot be read, so the budget of run {id} holds"));
            run
        }
    }
}

pub(super) async fn approve(arguments: &Approve, terminal: Terminal) -> Result<Exit, Stop> {
    let decided_by = user(arguments.by.as_deref())?;
    let archive = Archive::existing(&arguments.with.place.runs())?;
    let run = archive.run(&arguments.run).await?;
    let path = questions::path_of(&arguments.node);
    let is_known = run.questions.iter().any(|question| question.path == path)
        || run.decisions.iter().any(|(decided, _)| *decided == path);
    if !is_known && !run.summary.status.is_terminal() {
        let open: Vec<String> = run.open_questions().map(Question::address).collect();
        let message = format!("`{}` does not ask a person now", arguments.node);
        return Err(Stop::invalid(message).help(match open.as_slice() {
            [] => "no step of this run waits for a decision".to_owned(),
            open => format!("the run waits at {}", open.join(", ")),
        }));
    }
    let decision = Decision {
        approved: !arguments.deny,
        comment: arguments.comment.clone(),
        decided_at: SystemClock.now(),
        digest: arguments.digest.clone(),
        decided_by: Some(decided_by),
    };
    let decided = archive.runs.decide(&run.summary.id, &path, decision.clone()).await;
    let decided = decided.map_err(|error| stop(&error))?;
    if decided.approved != decision.approved {
        let word = if decided.approved { "approved" } else { "denied" };
        let message = format!("`{}` was {word} before, at {}", arguments.node, decided.decided_at);
        return Err(Stop::invalid(message));
    }
    if (&decided.decided_by, decided.decided_at) != (&decision.decided_by, decision.decided_at) {
        terminal::error(&format!(
            "{}, before this decision",
            super::show::decided(&arguments.node, &decided)
        ));
    }
    // The process that drives a run takes its decisions up before it lets the run wait.
    if arguments.no_resume || run.summary.status == RunStatus::Running {
        if arguments.with.place.json {
            let value = Value::from_iter([
                ("run_id", run.summary.id.as_str()),
                ("node", arguments.node.as_str()),
                ("decision", if decided.approved { "approved" } else { "denied" }),
            ]);
            terminal::out(&value.to_string());
        } else {
            terminal::error(&format!("`stave runs resume {}` continues it", run.summary.id));
        }
        return Ok(Exit::Fine);
    }
    let (id, runs, node) = (run.summary.id.clone(), Arc::clone(&archive.runs), arguments.node.clone());
    let exit = drive(&archive, &run, &arguments.with, terminal, |engine, auth| async move {
        match engine.resume(&id, auth).await {
            // An engine that drives runs by itself may have reached the end already.
            Err(JournalError::Ended { .. }) if engine.drives_itself() => {
                runs.show(&id).await.map(|run| run.report())
            }
            // A server on the same store drives it since the decision.
            Err(JournalError::Busy(_)) => {
                terminal::error(&format!("the decision about `{node}` is recorded"));
                Err(JournalError::Busy(id))
            }
            Err(JournalError::AuthNeeded(_)) => {
                terminal::error(&format!("the decision about `{node}` is recorded"));
                Err(JournalError::AuthNeeded(id))
            }
            resumed => resumed,
        }
    })
    .await?;
    // The decision is recorded, even if other questions are still open.
    let now = archive.runs.show(&run.summary.id).await.map_err(|error| stop(&error))?;
    if now.summary.status != RunStatus::Waiting {
        return Ok(exit);
    }
    let open: Vec<String> = now.open_questions().map(Question::address).collect();
    terminal::error(&format!("the decision is recorded; the run still waits at {}", open.join(", ")));
    Ok(Exit::Fine)
}

/// Who sits at the command line: as they say, or as the system does. Nobody there can decide in the name of a key, so
/// the kind of name is not theirs to choose.
fn user(named: Option<&str>) -> Result<String, Stop> {
    if let Some(name) = named {
        if name.trim().is_empty() || name.contains(|letter: char| letter == ':' || letter.is_control()) {
            return Err(Stop::invalid(format!("--by {name:?} is not a plain name"))
                .help("give the name alone; it is recorded as `user:NAME`"));
        }
        return Ok(format!("user:{name}"));
    }
    let named = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let named = named.filter(|name| !name.is_empty());
    Ok(format!("user:{}", named.or_else(user_id).unwrap_or_else(|| "unknown".to_owned())))
}

/// The number under which the system knows the user.
#[cfg(unix)]
fn user_id() -> Option<String> {
    Some(format!("uid-{}", nix::unistd::getuid()))
}

#[cfg(not(unix))]
fn user_id() -> Option<String> {
    None
}

/// Fills the ports for a run's document, lets the engine work, and prints the report.
async fn drive<W, F>(
    archive: &Archive,
    run: &StoredRun,
    with: &With,
    terminal: Terminal,
    work: W,
) -> Result<Exit, Stop>
where
    W: FnOnce(Arc<dyn Engine>, Option<Value>) -> F,
    F: Future<Output = Result<RunReport, JournalError>>,
{
    let auth = with.auth.as_ref().map(|path| {
        let text = files::read_text(path)?;
        stave_canon::parse_untrusted(&text)
            .map_err(|error| Stop::invalid(format!("{} is not JSON: {error}", path.display())))
    });
    let auth = auth.transpose()?;
    let tracing = Tracing::of(&archive.project);
    let report = match &archive.keeper {
        Keeper::Restate(client) => work(restate::engine(client, &archive.project), auth).await,
        Keeper::Embedded { database, .. } => {
            let models = match (&with.replay, &archive.project.settings.replay) {
                (Some(path), _) => Models::Replay(path.clone()),
                (None, Some(path)) if !with.live => Models::Replay(archive.project.root.join(path)),
                _ => Models::Live,
            };
            let storage = storage::storage_of(&archive.project, &run.document, database)?;
            // The run was held to the bundles of the time when it began.
            Contracts::of(&archive.project)?.admit(&run.document)?;
            let (mut services, _) = services::build(&archive.project, &run.document, storage, &models)?;
            services.tracer = tracing.tracer();
            let python = Arc::clone(&services.python);
            let report = work(Arc::new(EmbeddedEngine::new(services)), auth).await;
            python.shutdown().await;
            report
        }
    };
    let report = report.map_err(|error| stop(&error));
    let report = report?;
    if with.place.json {
        terminal::out(&report.to_value().to_string());
    } else {
        print(&report, terminal);
    }
    tracing.finish().await;
    Ok(exit_of(&report))
}
