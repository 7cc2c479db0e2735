//! Runs with a name, `--run-id` or `--idempotency-key`: the same request again shows the run that it started.

use std::sync::Arc;
use std::time::Duration;

use stave_canon::Value;
use stave_exec::Document;
use stave_runtime::journal::{JournalError, RunStatus, Runs, SqliteJournal};
use stave_runtime::run_identity::{StartName, request_digest};
use stave_runtime::{EmbeddedEngine, Engine, RunIdentity, RunReport};

use crate::archive::{self, unwritten};
use crate::args::Run;
use crate::exit::Stop;
use crate::project::Project;
use crate::signals::asked_to_end;
use crate::terminal;

/// How often a run is looked at that another process drives.
const LOOK: Duration = Duration::from_millis(200);

/// The names of the runs of one command.
pub(super) struct Once {
    name: StartName,
    tenant: String,
    flow: String,
    digest: String,
    journal: SqliteJournal,
    /// Whether the exchanges are recorded.
    records: bool,
}

/// What the arguments name; `None` when they name nothing.
pub(super) fn name(arguments: &Run, requests: usize) -> Result<Option<StartName>, Stop> {
    let named = match (&arguments.run_id, &arguments.idempotency_key) {
        (None, None) => return Ok(None),
        (Some(id), _) => StartName::run_id(id),
        (None, Some(key)) => StartName::key(key),
    };
    let named = named.map_err(|error| Stop::invalid(error.to_string()))?;
    if named.is_run_id() && requests != 1 {
        let stop = Stop::invalid(format!("--run-id is for one request, and there are {requests}"));
        return Err(stop.help("--idempotency-key names all of them"));
    }
    Ok(Some(named))
}

impl Once {
    pub(super) fn new(
        name: StartName,
        project: &Project,
        document: &Document,
        requests: &[Value],
        journal: SqliteJournal,
    ) -> Once {
        let flow = document.flow.name.clone();
        let digest = request_digest(&flow, requests);
        Once { name, tenant: project.tenant().to_owned(), flow, digest, journal, records: false }
    }

    pub(super) fn recording(self, records: bool) -> Once {
        Once { records, ..self }
    }

    /// The id of the run for the request at `index`.
    pub(super) fn id(&self, index: usize) -> String {
        self.name.id_of(&self.tenant, &self.flow, index)
    }

    /// Runs a request, or shows what became of it before.
    pub(super) async fn run(
        &self,
        engine: &EmbeddedEngine,
        id: &str,
        document: Arc<Document>,
        request: &Value,
    ) -> Result<RunReport, Stop> {
        let identity = RunIdentity { id, digest: Some(&self.digest) };
        match engine.begin(identity, document, request).await {
            Ok(begun) => begun.await.map_err(|error| unwritten(id, &error)),
            Err(JournalError::Started(_)) if self.records => Err(begun_before(id)),
            Err(JournalError::Started(_)) => self.known(engine, id, request).await,
            Err(JournalError::Exists(_)) => Err(self.conflict(id)),
            Err(error) => Err(unwritten(id, &error)),
        }
    }

    fn conflict(&self, id: &str) -> Stop {
        let message = if self.name.is_run_id() {
            format!("there is a run `{id}` already, which another request started")
        } else {
            format!("the idempotency key was used for another request to `{}`", self.flow)
        };
        Stop::invalid(message).help(format!("`stave runs show {id}` shows the run that is there"))
    }

    /// The report of a run that the same request started: as it ended, once its process is done, or resumed when
    /// nobody drives it.
    async fn known(&self, engine: &EmbeddedEngine, id: &str, request: &Value) -> Result<RunReport, Stop> {
        let mut is_told = false;
        loop {
            let stored = self.journal.show(id).await.map_err(|error| archive::stop(&error))?;
            match stored.summary.status {
                RunStatus::Ok | RunStatus::Error | RunStatus::Cancelled | RunStatus::Waiting => {
                    return Ok(stored.answer());
                }
                RunStatus::Quarantined => {
                    return Err(archive::stop(&JournalError::Quarantined(id.to_owned())));
                }
                RunStatus::Interrupted => {
                    match engine.resume(id, request.get("auth").cloned()).await {
                        Ok(report) => return Ok(report),
                        // Somebody else took it up first, or it has ended.
                        Err(JournalError::Busy(_) | JournalError::Lost(_) | JournalError::Ended { .. }) => {}
                        Err(error) => return Err(archive::stop(&error)),
                    }
                }
                RunStatus::Running | RunStatus::Queued => {}
            }
            if !is_told {
                terminal::error(&format!("run {id} is driven by another process; waiting for it"));
                is_told = true;
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = asked_to_end() => {
                    return Err(Stop::invalid(format!("run {id} continues in another process"))
                        .help(format!("`stave runs show {id}` shows its status")));
                }
            }
        }
    }
}

/// A run that is there has asked some of its questions already, or all.
fn begun_before(id: &str) -> Stop {
    Stop::invalid(format!("run `{id}` was started before, so a recording would lack what it asked then"))
        .help("leave --record out, or give the run another name")
}
