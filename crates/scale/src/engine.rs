//! The engine port: runs handed to Restate and waited for.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use stave_canon::{Clock, Ids, Value};
use stave_exec::Document;
use stave_exec::dataflow::NodeData;
use stave_operations::HUMAN_APPROVE;
use stave_runtime::interpreter::kept_steps;
use stave_runtime::journal::{Decision, JournalError, RunStatus, StepRecord, StoredRun, Times, codec};
use stave_runtime::state::StateStore;
use stave_runtime::{Begun, Engine, RunIdentity, RunLimits, RunReport, without_auth};

use crate::client::RestateClient;
use crate::error::ScaleError;
use crate::keys::{CALLS, RUN, SESSION};
use crate::messages::{Start, records_text, report_of};
use crate::runs::RestateRuns;
use crate::state::RestateState;
use crate::store::{Packed, Store};

/// Hands the runs of one project to Restate.
#[derive(Debug, Clone)]
pub struct RestateEngine {
    runs: RestateRuns,
    ids: Arc<dyn Ids>,
    clock: Arc<dyn Clock>,
    limits: RunLimits,
    decided: HashMap<String, Decision>,
}

/// What a run begins with beside its document and its request.
#[derive(Debug, Default)]
struct Beginning {
    /// Those of a run that began elsewhere; it begins now when absent.
    times: Option<Times>,
    replay_of: Option<String>,
    digest: Option<String>,
    known: Vec<StepRecord>,
    decisions: HashMap<String, Decision>,
}

impl RestateEngine {
    #[must_use]
    pub fn new(
        runs: RestateRuns,
        ids: Arc<dyn Ids>,
        clock: Arc<dyn Clock>,
        limits: RunLimits,
    ) -> RestateEngine {
        RestateEngine { runs, ids, clock, limits, decided: HashMap::new() }
    }

    /// Hands over a run that another engine has begun, under its own id and with what it has done. The run can be
    /// handed over again when it is not known whether that has worked.
    pub async fn adopt(&self, stored: StoredRun) -> Result<(), JournalError> {
        if stored.had_auth {
            return Err(JournalError::AuthRefused(stored.summary.id));
        }
        for call in &stored.calls {
            let node = call.node.split('/').next().unwrap_or_default();
            let key = self.runs.project.calls(&stored.summary.id, node);
            self.client().call(CALLS, &key, "put", &codec::encode_call(call).into()).await?;
        }
        let beginning = Beginning {
            times: Some(stored.times()),
            replay_of: stored.summary.replay_of,
            digest: stored.digest,
            known: stored.steps,
            decisions: stored.decisions.into_iter().collect(),
        };
        self.hand_over(&stored.summary.id, &stored.document, &stored.request, beginning).await?;
        Ok(())
    }

    /// Where runs of the project remember things.
    #[must_use]
    pub fn state(&self) -> Arc<dyn StateStore> {
        Arc::new(RestateState { client: Arc::clone(&self.runs.client), project: self.runs.project.clone() })
    }

    /// Hands a run to Restate, which has it when this returns. Handing the same run over twice is handing it over
    /// once; `true` says that Restate had it before.
    async fn hand_over(
        &self,
        run_id: &str,
        document: &Arc<Document>,
        request: &Value,
        beginning: Beginning,
    ) -> Result<bool, JournalError> {
        let (client, store, project) = (self.client(), self.store(), &self.runs.project);
        let Beginning { times, replay_of, digest, known, decisions } = beginning;
        let known = if known.is_empty() { None } else { Some(records_text(&known)) };
        let known = match known {
            Some(known) => Some(store.pack(project, run_id, known).await?),
            None => None,
        };
        let start = Start {
            flow: document.flow.name.clone(),
            document: store.put_document(project, document).await?,
            request: store.pack(project, run_id, request.to_string()).await?,
            times: times.unwrap_or_else(|| Times::now(self.clock.now())),
            replay_of,
            digest,
            known,
            decisions,
            parallel_steps: self.limits.parallel_steps,
        };
        let key = project.run(run_id);
        let sent = client.send(RUN, &key, "run", &start.to_value(), None).await?;
        // Restate has one workflow per id. What started it decides whether this is the same request.
        if sent.is_known && start.digest.is_some() {
            let (stored, _) = self.runs.stored(run_id).await?;
            if stored.digest != start.digest {
                return Err(JournalError::Exists(run_id.to_owned()));
            }
        }
        if let Some(session) = session(document, request) {
            let asked = Value::from_iter([("run", key.as_str()), ("invocation", &sent.invocation)]);
            let session = project.session(&document.flow.name, session);
            client.send(SESSION, &session, "turn", &asked, Some(run_id)).await?;
        }
        Ok(sent.is_known)
    }

    /// The future of a run's next rest: its end, or a wait for a person.
    fn rest(&self, run_id: &str, document: &Document, rests: u32) -> Begun {
        let engine = self.clone();
        let (run_id, may_wait) = (run_id.to_owned(), asks_someone(document));
        Box::pin(async move {
            let key = engine.runs.project.run(&run_id);
            // Only a run that may wait for a person has to be asked; the end of all others is its own answer.
            let report = if may_wait {
                engine.client().wait_for(RUN, &key, "settled", &Value::from(rests)).await?
            } else {
                engine.client().attach(RUN, &key).await?
            };
            engine.report(&run_id, &report).await
        })
    }

    async fn report(&self, run_id: &str, report: &Value) -> Result<RunReport, JournalError> {
        let packed = Packed::of_value(report);
        let packed = packed.ok_or_else(|| JournalError::Damaged(format!("the report of `{run_id}`")))?;
        let text = self.store().unpack(&self.runs.project, run_id, &packed).await?;
        Ok(report_of(&text)?)
    }

    fn client(&self) -> &RestateClient {
        &self.runs.client
    }

    fn store(&self) -> &Store {
        &self.runs.store
    }
}

#[async_trait]
impl Engine for RestateEngine {
    fn new_run_id(&self) -> String {
        format!("run_{}", self.ids.uuid().replace('-', ""))
    }

    async fn begin(
        &self,
        run: RunIdentity<'_>,
        document: Arc<Document>,
        request: &Value,
    ) -> Result<Begun, JournalError> {
        let run_id = run.id;
        let (request, had_auth) = without_auth(request);
        if had_auth {
            return Err(JournalError::AuthRefused(run_id.to_owned()));
        }
        let digest = run.digest.map(str::to_owned);
        let beginning = Beginning { digest, decisions: self.decided.clone(), ..Beginning::default() };
        let is_known = self.hand_over(run_id, &document, &request, beginning).await?;
        if is_known && run.digest.is_some() {
            return Err(JournalError::Started(run_id.to_owned()));
        }
        Ok(self.rest(run_id, &document, 0))
    }

    async fn take_up(&self, run_id: &str, _: Option<Value>) -> Result<Begun, JournalError> {
        let (stored, rests) = self.runs.stored(run_id).await?;
        let status = stored.summary.status;
        if status.is_terminal() {
            return Err(JournalError::Ended { run: run_id.to_owned(), status });
        }
        if status == RunStatus::Waiting {
            return Ok(Box::pin(std::future::ready(Ok(stored.report()))));
        }
        if status == RunStatus::Interrupted {
            self.runs.wake(run_id).await?;
        }
        Ok(self.rest(run_id, &stored.document, rests))
    }

    async fn again(
        &self,
        run_id: &str,
        stored: StoredRun,
        from: Option<&str>,
        _: Option<Value>,
    ) -> Result<Begun, JournalError> {
        let times = Times { started_at: self.clock.now(), ..stored.times() };
        let original = stored.summary.id;
        let known = kept_steps(&stored.document, &original, stored.steps, from)?;
        let beginning = Beginning {
            times: Some(times),
            replay_of: Some(original),
            digest: None,
            known,
            decisions: HashMap::new(),
        };
        self.hand_over(run_id, &stored.document, &stored.request, beginning).await?;
        Ok(self.rest(run_id, &stored.document, 0))
    }

    fn drives_itself(&self) -> bool {
        true
    }

    /// Restate has every run, and another worker continues it.
    fn shut_down(&self) {}
}

/// Whether a run of the document may wait for a person.
fn asks_someone(document: &Document) -> bool {
    document.graph.nodes.iter().any(|node| node.kind == HUMAN_APPROVE.name)
}

/// The session whose state a run may change. A node that cannot be read may change it.
fn session<'r>(document: &Document, request: &'r Value) -> Option<&'r str> {
    let remembers = document.graph.nodes.iter().any(|node| match NodeData::read(&node.extra) {
        Ok(data) => data.and_then(|data| data.state).is_some_and(|state| state.session),
        Err(_) => true,
    });
    request.get("session_id").and_then(Value::as_str).filter(|_| remembers)
}

impl From<&ScaleError> for JournalError {
    fn from(error: &ScaleError) -> Self {
        JournalError::Unreachable(error.to_string())
    }
}
