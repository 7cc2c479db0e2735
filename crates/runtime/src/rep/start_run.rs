//! `Runtime.StartRun`: a document and its inputs become a run. What cannot run is refused here, with
//! everything that is wrong with it.
//!
//! Invariant: the reply comes after the run is written down, so that a run whose id a peer has can be resumed
//! whenever the process ends.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use stave_canon::{Object, Value};
use stave_diag::codes::exec as exec_codes;
use stave_exec::{Acceptance, Document};

use super::Host;
use super::events::Observed;
use super::fault::{Code, Fault};
use super::runs::{Run, Runs};
use crate::engine::{Begun, EmbeddedEngine, Engine};
use crate::journal::{Ending, Journal, JournalError};
use crate::observer::RunObserver;
use crate::plan::Plan;
use crate::steps::StepKinds;
use stave_engine::RunFailure;

/// The longest id that a peer may give a run.
pub(super) const MAX_RUN_ID: usize = 200;

/// How long a cancelled run may take to end. Peers give up on a runtime after five seconds.
const GRACE: Duration = Duration::from_secs(2);

/// The result of starting a run: the reply, and the run to drive when there is one.
pub(super) type Started<'h> = (Result<Value, Fault>, Option<BoxFuture<'h, ()>>);

/// Accepts a run, which is known from here on, and hands back its beginning.
pub(super) fn start_run<'h>(
    host: &dyn Host,
    runs: &Runs,
    params: &Object,
) -> Result<BoxFuture<'h, Started<'h>>, Fault> {
    let document = document(params)?;
    let mut inputs = match params.get("inputs") {
        None | Some(Value::Null) => Object::new(),
        Some(Value::Object(inputs)) => inputs.clone(),
        Some(other) => {
            let message = format!("`inputs` is {}, not an object", other.kind());
            return Err(Fault::schema(message, Value::Null));
        }
    };
    let options = Options::read(params)?;
    let orchestrator = host.orchestrator().map_err(|reason| Fault::schema(reason, Value::Null))?;
    if let Some(trace_id) = options.trace_id.or(orchestrator.trace_id.as_deref()) {
        inputs.entry("trace_id".to_owned()).or_insert_with(|| trace_id.into());
    }
    let opcua = host.opcua();
    let kinds = StepKinds::with(opcua.as_ref());
    let mut unknown: Vec<&str> = document.step_kinds();
    unknown.retain(|kind| kinds.get(kind).is_none());
    if !unknown.is_empty() {
        let advice = unknown.iter().map(|kind| StepKinds::advice(kind)).find(|advice| !advice.is_empty());
        let message =
            format!("this runtime does not have {}{}", unknown.join(", "), advice.unwrap_or_default());
        let data = Value::from_iter([("retriable", Value::from(false)), ("details", unknown.into())]);
        return Err(Fault::new(Code::StepKind, message, data));
    }
    let document = Arc::new(document);
    Plan::new(Arc::clone(&document), &kinds)
        .map_err(|failure| Fault::of_run(&RunFailure { failure, node: None, attempts: 0 }))?;
    let mut services = host.services(&document).map_err(Fault::internal)?;
    if let Some(timeout) = orchestrator.engine_timeout {
        services.limits.run = services.limits.run.min(timeout);
    }
    let mut notes = orchestrator.notes;
    notes.extend(stave_exec::later_version(&document).iter().map(ToString::to_string));
    let document = Arc::new(host.held(Arc::unwrap_or_clone(document)));
    // The variable names one run, so the runs after it get ids of their own.
    let id = options.run_id.or(orchestrator.run_id.as_deref().filter(|id| runs.get(id).is_none()));
    let id = match id {
        Some(id) => id.to_owned(),
        None => EmbeddedEngine::new(services.clone()).new_run_id(),
    };
    let run = runs.add(&id, Arc::clone(&services.clock))?;
    let journal = Arc::clone(&services.journal);
    services.observer = Arc::clone(&run) as Arc<dyn RunObserver>;
    services.journal = Arc::new(Observed::new(services.journal, Arc::clone(&run)));
    let engine = EmbeddedEngine::new(services);
    Ok(Box::pin(begin(engine, journal, run, document, Value::Object(inputs), notes)))
}

/// Writes the run down.
async fn begin<'h>(
    engine: EmbeddedEngine,
    journal: Arc<dyn Journal>,
    run: Arc<Run>,
    document: Arc<Document>,
    inputs: Value,
    notes: Vec<String>,
) -> Started<'h> {
    let flow = document.flow.name.clone();
    let begun = async {
        // Peers count their runs afresh in each process; the journal keeps the runs of all of them.
        let is_known = journal.knows(run.id()).await?;
        let kept_as = if is_known { engine.new_run_id() } else { run.id().to_owned() };
        let begun = engine.begin(kept_as.as_str().into(), document, &inputs).await?;
        Ok::<_, JournalError>((kept_as, begun))
    };
    match begun.await {
        Ok((kept_as, begun)) => {
            run.begin(&flow);
            notes.into_iter().for_each(|note| run.warn(note));
            if kept_as != run.id() {
                run.kept_as(&kept_as);
            }
            let reply = Value::from_iter([("run_id", run.id())]);
            (Ok(reply), Some(Box::pin(drive(begun, kept_as, journal, run))))
        }
        Err(error) => {
            let fault = Fault::internal(error.to_string());
            run.fail(&fault, "internal");
            (Err(fault), None)
        }
    }
}

/// Drives a run to its end. A run that is cancelled lets a step with effects finish, so that
/// its outcome is recorded; one that takes too long for that is given up.
async fn drive(begun: Begun, kept_as: String, journal: Arc<dyn Journal>, run: Arc<Run>) {
    // A run that is given up is still held while its end is written: dropping it would release it as interrupted.
    let mut begun = begun;
    let report = tokio::select! {
        report = &mut begun => Some(report),
        () = given_up(&run) => None,
    };
    match report {
        Some(Ok(report)) => run.end(&report),
        Some(Err(error)) => run.fail(&Fault::internal(error.to_string()), "internal"),
        None => {
            let ended = journal.end(&kept_as, &Ending::Cancelled, &[], run.now()).await;
            let message = match ended {
                Ok(_) => "the run was cancelled, and a step that did not end was stopped".to_owned(),
                Err(error) => format!("the run was cancelled, which could not be written down: {error}"),
            };
            run.fail(&Fault::new(Code::Step, message, Value::Null), "cancelled");
        }
    }
}

/// Waits until the run was cancelled and had its time to end.
async fn given_up(run: &Run) {
    let mut changes = run.changes();
    while !run.is_cancelled() {
        if changes.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
    tokio::time::sleep(GRACE).await;
}

/// The document, or every violation in it.
fn document(params: &Object) -> Result<Document, Fault> {
    let ir = params.get("ir").ok_or_else(|| Fault::schema("`ir` is missing".to_owned(), Value::Null))?;
    stave_exec::read(ir, Acceptance::Additive).map_err(|faults| {
        let is_version = faults.iter().any(|fault| fault.code == exec_codes::EXEC_UNSUPPORTED_VERSION);
        let details = faults.iter().map(|fault| {
            Value::from_iter([
                ("pointer", fault.pointer.as_str()),
                ("code", fault.code.0),
                ("message", &fault.message),
            ])
        });
        let details = Value::Array(details.collect());
        let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let code = if is_version { Code::Version } else { Code::Schema };
        let data = Value::from_iter([("retriable", Value::from(false)), ("details", details)]);
        Fault::new(code, format!("the document is not valid: {}", shown.join("; ")), data)
    })
}

/// What a peer says about the run itself. An id or a trace that is null is as good as none.
struct Options<'p> {
    run_id: Option<&'p str>,
    trace_id: Option<&'p str>,
}

impl<'p> Options<'p> {
    fn read(params: &'p Object) -> Result<Options<'p>, Fault> {
        let options = match params.get("options") {
            None | Some(Value::Null) => return Ok(Options { run_id: None, trace_id: None }),
            Some(Value::Object(options)) => options,
            Some(other) => {
                let message = format!("`options` is {}, not an object", other.kind());
                return Err(Fault::schema(message, Value::Null));
            }
        };
        let text = |key: &str| match options.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.is_empty() && text.len() <= MAX_RUN_ID => {
                Ok(Some(text.as_str()))
            }
            Some(_) => {
                let message = format!("`{key}` is not text of 1 to {MAX_RUN_ID} bytes");
                Err(Fault::schema(message, Value::Null))
            }
        };
        if !matches!(options.get("allow_shell"), None | Some(Value::Null | Value::Bool(_))) {
            return Err(Fault::schema("`allow_shell` is not true or false".to_owned(), Value::Null));
        }
        Ok(Options { run_id: text("run_id")?, trace_id: text("trace_id")? })
    }
}
