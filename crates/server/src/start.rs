//! Starts that happen once: a request that is sent again is answered with the run that it started.
//!
//! Invariant: whether a request is new is decided by the journal alone, so it does not matter which process is asked, when,
//! or how many ask at the same time.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName};
use stave_canon::Value;
use stave_runtime::journal::{JournalError, RunStatus};
use stave_runtime::run_identity::{BadIdentity, StartName, request_digest};
use stave_runtime::trace::TraceParent;
use stave_runtime::{RunIdentity, RunReport};

use crate::access::Principal;
use crate::catalog::{ServedFlow, TenantRuns};
use crate::message::RUN_ID;
use crate::problem::Problem;
use crate::runs::{Done, Started};
use crate::server::Shared;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How often a run is looked at that this request did not start, at first and at most.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_millis(500);

/// What names a start so that it happens once.
#[derive(Debug, Clone)]
pub(crate) struct Once {
    id: String,
    digest: String,
    is_keyed: bool,
}

/// The name that a request gives to its start: the header `Idempotency-Key`, or the run's own id in a header or, where
/// the body has a place for it, in the body. More than one name is refused, since they could mean different runs. All flows
/// of a project share its run ids, so a key for some flows chooses none: whether one is taken would reveal other flows.
pub(crate) fn start_name(
    headers: &HeaderMap,
    in_body: Option<&Value>,
    principal: &Principal,
) -> Result<Option<StartName>, Problem> {
    let bad = |error: BadIdentity| Problem::bad_request(error.to_string());
    let mut names = Vec::new();
    for value in headers.get_all(IDEMPOTENCY_KEY) {
        names.push(StartName::key(value.to_str().unwrap_or_default()).map_err(bad)?);
    }
    for value in headers.get_all(RUN_ID) {
        names.push(StartName::run_id(value.to_str().unwrap_or_default()).map_err(bad)?);
    }
    match in_body {
        None | Some(Value::Null) => {}
        Some(id) => names.push(StartName::run_id(id.as_str().unwrap_or_default()).map_err(bad)?),
    }
    names.dedup();
    if principal.flows().is_some() && names.iter().any(StartName::is_run_id) {
        let detail =
            "this key is for some flows only and chooses no run ids; name the start by an `Idempotency-Key`";
        return Err(Problem::new(StatusCode::FORBIDDEN, "role-missing", detail));
    }
    match names.len() {
        0 | 1 => Ok(names.pop()),
        _ => Err(Problem::bad_request("give one `Idempotency-Key` or one run id, not several")),
    }
}

/// The identities of the starts of a batch, in its order.
pub(crate) fn once_each(
    name: Option<&StartName>,
    model: &ServedFlow,
    requests: &[Value],
) -> Result<Vec<Option<Once>>, Problem> {
    let Some(name) = name else { return Ok(vec![None; requests.len()]) };
    if name.is_run_id() && requests.len() > 1 {
        return Err(Problem::bad_request("a run id is for one request; a batch takes an `Idempotency-Key`"));
    }
    let digest = request_digest(&model.name, requests);
    let once = |index| {
        let id = name.id_of(&model.archive.tenant, &model.name, index);
        Some(Once { id, digest: digest.clone(), is_keyed: !name.is_run_id() })
    };
    Ok((0..requests.len()).map(once).collect())
}

/// The identity of a start of a text that the server does not serve: another text is another request.
pub(crate) fn once_of_text(
    name: Option<&StartName>,
    model: &ServedFlow,
    request: &Value,
    text_hash: String,
) -> Option<Once> {
    let name = name?;
    let digest = request_digest(&model.name, &[request.clone(), text_hash.into()]);
    let id = name.id_of(&model.archive.tenant, &model.name, 0);
    Some(Once { id, digest, is_keyed: !name.is_run_id() })
}

impl Once {
    pub(crate) fn identity(&self) -> RunIdentity<'_> {
        RunIdentity { id: &self.id, digest: Some(&self.digest) }
    }

    /// The run is there, and another request started it.
    fn conflict(&self) -> Problem {
        if self.is_keyed {
            let detail = "this `Idempotency-Key` was used for another request to the same flow";
            return Problem::new(StatusCode::CONFLICT, "idempotency-conflict", detail);
        }
        let detail = format!("there is a run `{}` already, which another request started", self.id);
        Problem::new(StatusCode::CONFLICT, "run-exists", detail)
    }
}

impl Shared {
    /// Begins a run, or finds the one that the same request began before.
    pub(crate) async fn start_once(
        self: &Arc<Self>,
        model: &Arc<ServedFlow>,
        request: Value,
        parent: Option<TraceParent>,
        once: Option<Once>,
    ) -> Result<Started, Problem> {
        let Some(once) = once else { return self.start(model, request, parent).await };
        // A run that is there needs no turn, so it is looked for before one is asked for.
        if let Some(known) = self.known(model, &request, &once).await? {
            return Ok(known);
        }
        match self.begin(model, request.clone(), parent, Some(once.clone())).await {
            Err(problem) if problem.code() == "run-exists" => {
                self.known(model, &request, &once).await?.ok_or(problem)
            }
            begun => begun,
        }
    }

    /// The run that the same request began before; `None` when there is none, an error when another request did.
    async fn known(
        self: &Arc<Self>,
        model: &ServedFlow,
        request: &Value,
        once: &Once,
    ) -> Result<Option<Started>, Problem> {
        let archive = &model.archive;
        let stored = match archive.runs.show(&once.id).await {
            Ok(stored) => stored,
            Err(JournalError::UnknownRun(_)) => return Ok(None),
            Err(error) => return Err(Problem::journal(&error)),
        };
        if stored.summary.flow != model.name || stored.digest.as_ref() != Some(&once.digest) {
            return Err(once.conflict());
        }
        // `auth` is never stored: a run that needs it and was interrupted is resumed when the request brings it again.
        if stored.summary.status == RunStatus::Interrupted
            && stored.had_auth
            && let (Some(auth), Ok(engine)) = (request.get("auth"), archive.engine(&stored.document))
        {
            let resumed = match self.turn(&archive.tenant).await {
                Ok(turn) => {
                    self.resume(turn, archive, &model.name, engine, &once.id, Some(auth.clone())).await
                }
                Err(problem) => Err(problem),
            };
            // Somebody else may resume it at the same time.
            if let Err(problem) = resumed
                && problem.code() == "auth-differs"
            {
                return Err(problem);
            }
        }
        let status = match archive.runs.show(&once.id).await {
            // It may have been resumed just now.
            Ok(now) if stored.summary.status == RunStatus::Interrupted => now.summary.status,
            _ => stored.summary.status,
        };
        Ok(Some(Started { run_id: once.id.clone(), status, done: Done::Elsewhere }))
    }

    /// The report of a run that another request, process or recovery drives. It continues when nobody waits for it.
    pub(crate) async fn wait_elsewhere(
        &self,
        archive: &TenantRuns,
        run_id: &str,
    ) -> Result<RunReport, Problem> {
        let limit = self.limits().request;
        let looking = async {
            let mut pause = FIRST_LOOK;
            loop {
                let stored = archive.runs.show(run_id).await;
                let stored = stored.map_err(|error| Problem::journal(&error).of_run(run_id))?;
                let status = stored.summary.status;
                if status.is_terminal() || status == RunStatus::Waiting {
                    return Ok(stored.answer());
                }
                if status == RunStatus::Quarantined {
                    let error = JournalError::Quarantined(run_id.to_owned());
                    return Err(Problem::journal(&error).of_run(run_id));
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_LOOK);
            }
        };
        tokio::time::timeout(limit, looking).await.unwrap_or_else(|_| {
            let detail = format!("the run did not end within {} s and continues", limit.as_secs());
            Err(Problem::timeout(run_id, detail))
        })
    }
}
