//! Runs: started, listed, shown, cancelled, resumed and decided on.

use std::sync::Arc;

use hyper::StatusCode;
use stave_canon::Value;
use stave_operations::HUMAN_APPROVE;
use stave_runtime::journal::{Decision, JournalError, RunStatus, StoredRun, questions};
use stave_runtime::report_document::RunReportDocument;
use stave_runtime::{Engine, check_request};
use stave_shape::read;

use super::Call;
use crate::api::{
    CancelledRun, Decide, ReplayRun, ResumeRun, RunDetail, RunQuestions, RunStanding, StartRun,
    StartedReplay, StartedRun, open_questions,
};
use crate::catalog::TenantRuns;
use crate::context::{fill, trace_parent};
use crate::message::{Reply, does_not_fit, typed_of_run};
use crate::problem::Problem;
use crate::roles::Role;
use crate::server::Shared;
use crate::start::{once_each, start_name};

/// Begins a run and answers at once; with `wait` when it has ended.
pub(super) async fn start(call: Call<'_>) -> Result<Reply, Problem> {
    let (shared, principal) = (call.shared, call.principal.clone());
    let waits = match call.parameter("wait") {
        None | Some("false") => false,
        Some("" | "true") => true,
        Some(_) => return Err(Problem::bad_request("`wait` must be true or false")),
    };
    only_parameters(&call)?;
    let (headers, body) = call.json().await?;
    // Clients of other servers say `id`.
    if body.get("id").is_some() {
        return Err(Problem::bad_request("a run's id is chosen as `run_id`, not as `id`"));
    }
    let StartRun { flow, input, run_id } = read(&body).map_err(|faults| does_not_fit(&faults))?;
    let model = shared.catalog().find(&principal, &flow)?;
    let request = fill(Value::Object(input.unwrap_or_default()), &model.context, &headers);
    check_request(&model.document, &request, shared.options.clock.now())
        .map_err(|failure| Problem::refused(&failure))?;
    let name = start_name(&headers, run_id.map(Value::from).as_ref(), &principal)?;
    let once = once_each(name.as_ref(), &model, std::slice::from_ref(&request))?.pop().flatten();
    let started = shared.start_once(&model, request, trace_parent(&headers), once).await?;
    if waits {
        let report = shared.wait(&model.archive, started).await?;
        let mut document = RunReportDocument::from(&report);
        if report.status() == RunStatus::Waiting {
            // A run that waits has not failed, as `GET /runs/{run}` says too.
            document.error = None.into();
        }
        return Ok(typed_of_run(code_of(report.status()), &document, &report.run_id));
    }
    let body = StartedRun { run_id: started.run_id.clone(), flow, status: started.status() };
    let mut reply = typed_of_run(code_of(started.status()), &body, &started.run_id);
    // A key receives no address that it may not read.
    let may_read = principal.needs(Role::Observe, &model.name).is_ok();
    if let Some(place) = format!("/runs/{}", started.run_id).parse().ok().filter(|_| may_read) {
        reply.headers_mut().insert(hyper::header::LOCATION, place);
    }
    Ok(reply)
}

/// What a reply about a run says of it: that it has ended, or that something will follow.
fn code_of(status: RunStatus) -> StatusCode {
    if status.is_terminal() { StatusCode::OK } else { StatusCode::ACCEPTED }
}

/// The status of a run, in answer to a request that changed it.
fn standing(run: &str, status: RunStatus) -> Reply {
    let standing = RunStanding { run_id: run.to_owned(), status, needs: None };
    typed_of_run(code_of(status), &standing, run)
}

/// Refuses parameters that mean nothing here: a typing error would otherwise change what is done.
pub(super) fn only_parameters(call: &Call<'_>) -> Result<(), Problem> {
    let known: Vec<&str> = call.operation.query_names().collect();
    let mut names = call.query.iter().map(|(name, _)| name.as_str());
    let Some(unknown) = names.find(|name| !known.contains(name)) else { return Ok(()) };
    let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Err(Problem::bad_request(format!("there is no parameter `{unknown}` here; known are {known}")))
}

/// A run that the principal may see, and where it is kept. Runs of others are not there.
pub(crate) async fn find(call: &Call<'_>, run: &str) -> Result<(Arc<TenantRuns>, StoredRun), Problem> {
    for archive in call.shared.catalog().archives(&call.principal) {
        match archive.runs.show(run).await {
            Ok(stored) if call.principal.sees(&archive.tenant, &stored.summary.flow) => {
                return Ok((Arc::clone(archive), stored));
            }
            Ok(_) | Err(JournalError::UnknownRun(_)) => {}
            Err(error) => return Err(Problem::journal(&error)),
        }
    }
    Err(Problem::not_found("run", run))
}

/// The same for people to look at. A key that can only observe sees no restricted values; who starts runs or decides
/// about them gets what it works on.
pub(crate) async fn find_shown(call: &Call<'_>, run: &str) -> Result<(Arc<TenantRuns>, StoredRun), Problem> {
    let (archive, stored) = find(call, run).await?;
    let hides = hides_restricted(call, &stored.summary.flow);
    Ok((archive, if hides { stored.redacted() } else { stored }))
}

/// Whether restricted values of a flow's runs are hidden from the caller.
pub(super) fn hides_restricted(call: &Call<'_>, flow: &str) -> bool {
    let may = |role| call.principal.needs(role, flow).is_ok();
    !may(Role::Run) && !may(Role::Decide)
}

pub(super) async fn show(call: &Call<'_>, run: &str) -> Result<Reply, Problem> {
    let (_, stored) = find_shown(call, run).await?;
    Ok(typed_of_run(StatusCode::OK, &RunDetail::of(&stored), run))
}

/// What a run asks people, for those who decide. What they decide about is theirs to see, the rest of the run is not.
pub(super) async fn questions(call: &Call<'_>, run: &str) -> Result<Reply, Problem> {
    let (_, stored) = find_shown(call, run).await?;
    let questions = RunQuestions {
        run_id: run.to_owned(),
        flow: stored.summary.flow.clone(),
        status: stored.summary.status,
        asks: open_questions(&stored),
    };
    Ok(typed_of_run(StatusCode::OK, &questions, run))
}

pub(super) async fn cancel(call: &Call<'_>, run: &str) -> Result<Reply, Problem> {
    let (archive, _) = find(call, run).await?;
    let status = archive.runs.cancel(run, call.shared.options.clock.now()).await;
    let status = status.map_err(|error| Problem::journal(&error).of_run(run))?;
    if status.is_terminal() {
        archive.auth.forget(run);
    }
    // A run in progress ends with the step that it is at.
    let cancelled = CancelledRun { run_id: run.to_owned(), status, cancel_requested: !status.is_terminal() };
    Ok(typed_of_run(code_of(status), &cancelled, run))
}

pub(super) async fn resume(call: Call<'_>, run: &str) -> Result<Reply, Problem> {
    let (archive, stored) = find(&call, run).await?;
    let shared = call.shared;
    let (_, ResumeRun { auth, force }) = call.typed().await?;
    if force.unwrap_or_default() {
        let released = archive.runs.unquarantine(run).await;
        released.map_err(|error| Problem::journal(&error).of_run(run))?;
    }
    go_on(shared, &archive, &stored, auth.map(Value::Object)).await
}

/// Resumes a run on the document that it began with.
async fn go_on(
    shared: &Arc<Shared>,
    archive: &Arc<TenantRuns>,
    stored: &StoredRun,
    auth: Option<Value>,
) -> Result<Reply, Problem> {
    let run = stored.summary.id.as_str();
    let status = stored.summary.status;
    if status.is_terminal() {
        return Err(Problem::journal(&JournalError::Ended { run: run.to_owned(), status }).of_run(run));
    }
    if matches!(status, RunStatus::Running | RunStatus::Queued) {
        return Err(Problem::journal(&JournalError::Busy(run.to_owned())).of_run(run));
    }
    let engine = engine(archive, stored)?;
    let turn = shared.turn(&archive.tenant).await?;
    let started = shared.resume(turn, archive, &stored.summary.flow, engine, run, auth).await?;
    Ok(standing(run, started.status()))
}

/// The engine for the document that a run began with.
fn engine(archive: &TenantRuns, stored: &StoredRun) -> Result<Arc<dyn Engine>, Problem> {
    archive.engine(&stored.document).map_err(|reason| {
        let problem = Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "not-set-up", reason);
        problem.of_run(&stored.summary.id)
    })
}

/// Runs the document of a run that has ended again, from a node on or from what failed.
pub(super) async fn replay(call: Call<'_>, run: &str) -> Result<Reply, Problem> {
    let (archive, stored) = find(&call, run).await?;
    let (shared, principal) = (call.shared, call.principal.clone());
    let (headers, ReplayRun { node, auth }) = call.typed().await?;
    if headers.contains_key("idempotency-key") {
        return Err(Problem::bad_request("a replay cannot be named by `Idempotency-Key`"));
    }
    let auth = auth.map(Value::Object);
    if !stored.summary.status.is_terminal() {
        let detail = format!("the run has not ended: {}", stored.summary.status);
        return Err(Problem::new(StatusCode::CONFLICT, "run-busy", detail).of_run(run));
    }
    if node.as_deref().is_some_and(|node| stored.document.node(node).is_none()) {
        return Err(Problem::not_found("node", &node.unwrap_or_default()).of_run(run));
    }
    let flow = stored.summary.flow.clone();
    // The flow may have been given another budget since; a run of a text that was never saved has none but its own.
    let now = shared.catalog().find(&principal, &flow).ok();
    let stored = match now.filter(|model| Arc::ptr_eq(&model.archive, &archive)) {
        Some(model) => stored.held_to_budget_of(&model.document),
        None => stored,
    };
    let engine = engine(&archive, &stored)?;
    let started = shared.replay(&archive, engine, stored, node, auth).await?;
    let status = started.status();
    let replay = StartedReplay { run_id: started.run_id.clone(), flow, status, replay_of: run.to_owned() };
    Ok(typed_of_run(StatusCode::ACCEPTED, &replay, &started.run_id))
}

/// Records a person's decision and lets the run continue.
pub(super) async fn decide(call: Call<'_>, run: &str, node: &str) -> Result<Reply, Problem> {
    let (archive, stored) = find(&call, run).await?;
    let (shared, decided_by) = (call.shared, call.principal.who());
    let (_, Decide { approved, comment, digest, auth }) = call.typed().await?;
    let auth = auth.map(Value::Object);
    let path = questions::path_of(node);
    let top = path.split('/').next().unwrap_or_default();
    // What another node runs may ask as well; a node of the flow itself has to be one that does.
    let may_ask = |node: &stave_exec::DocumentNode| node.kind == HUMAN_APPROVE.name || top != path;
    if !stored.document.node(top).is_some_and(may_ask) {
        return Err(Problem::not_found("node that asks a person called", node).of_run(run));
    }
    let decision = Decision {
        approved,
        comment,
        decided_at: shared.options.clock.now(),
        digest,
        decided_by: Some(decided_by),
    };
    // The person who decides does not choose whose `auth` the run continues with.
    if auth.as_ref().is_some_and(|auth| stored.had_auth && !stored.is_own_auth(auth)) {
        return Err(Problem::journal(&JournalError::AuthDiffers(run.to_owned())).of_run(run));
    }
    let decided = archive.runs.decide(run, &path, decision).await;
    let decided = decided.map_err(|error| Problem::journal(&error).of_run(run))?;
    if decided.approved != approved {
        let word = if decided.approved { "approved" } else { "denied" };
        let by = decided.decided_by.as_deref().unwrap_or("somebody");
        let detail = format!("`{node}` was {word} before, by {by} at {}", decided.decided_at);
        return Err(Problem::new(StatusCode::CONFLICT, "decided-before", detail).of_run(run));
    }
    // The process that drives a run takes its decisions up before it lets the run wait.
    if stored.summary.status != RunStatus::Waiting {
        return Ok(standing(run, stored.summary.status));
    }
    if engine(&archive, &stored)?.drives_itself() {
        return Ok(standing(run, RunStatus::Running));
    }
    match go_on(shared, &archive, &stored, auth).await {
        // The decision is recorded, and the run's requester has the `auth` that it needs to continue.
        Err(problem) if problem.code() == "auth-needed" => {
            let now = archive.runs.show(run).await.map_err(|error| Problem::journal(&error).of_run(run))?;
            let is_open = now.open_questions().next().is_some();
            let status = if is_open { RunStatus::Waiting } else { RunStatus::Interrupted };
            let needs = Some("auth".to_owned());
            let standing = RunStanding { run_id: run.to_owned(), status, needs };
            Ok(typed_of_run(StatusCode::ACCEPTED, &standing, run))
        }
        // Somebody else has made the same decision and drives the run.
        Err(problem) if matches!(problem.code(), "run-busy" | "run-ended") => {
            let now = archive.runs.show(run).await.map_err(|error| Problem::journal(&error).of_run(run))?;
            Ok(standing(run, now.summary.status))
        }
        resumed => resumed,
    }
}
