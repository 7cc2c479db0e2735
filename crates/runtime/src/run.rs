//! One run in progress, and how one of its nodes is executed: its turn, its report, its cache.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use futures_util::future::BoxFuture;
use stave_canon::{Object, Timestamp, Value};
use stave_diag::codes::run as codes;

use crate::budget::Spending;
use crate::calls::Calls;
use crate::concurrency_limits::ConcurrencyLimits;
use crate::interpolate::PathScope;
use crate::journal::{Decision, JournalError, Question};
use crate::node_reports::NodeReports;
use crate::observer::RunEvent;
use crate::plan::{INPUT, OUTPUT, Plan, PlannedNode};
use crate::port::Side;
use crate::report::{NodeReport, Status};
use crate::request::RunRequest;
use crate::services::Services;
use crate::state::{Commit, StateBuffer};
use crate::trace::{End, OptionalSpan, Work};
use crate::{Failure, labels, port, volume};
use stave_engine::FailureKind;

/// Everything that the nodes of one run share.
#[derive(Debug)]
pub struct Run<'r> {
    pub id: String,
    pub plan: &'r Plan,
    pub request: RunRequest,
    /// When the run first began.
    pub started_at: Timestamp,
    pub services: &'r Services,
    pub reports: NodeReports,
    /// The answers to calls that were made before the run was interrupted.
    pub calls: Calls,
    pub decisions: Decisions,
    /// What this process has asked people, by the path of the execution that asks.
    pub(crate) asked: Mutex<BTreeMap<String, Question>>,
    pub(crate) spending: Spending,
    pub span: &'r OptionalSpan,
    pub concurrency: &'r ConcurrencyLimits,
    /// Whether the process is to end.
    pub(crate) stopping: tokio::sync::watch::Receiver<bool>,
    /// Whether the run is halting: side-effecting steps finish so that their outcome is recorded, and nothing further
    /// begins.
    pub(crate) halting: tokio::sync::watch::Sender<bool>,
    /// Why an answer on the way could not be written down, which ends the run.
    pub unwritten: Mutex<Option<JournalError>>,
}

/// What people decided.
#[derive(Debug, Default, Clone)]
pub struct Decisions {
    /// By the path of the execution that asked.
    pub made: HashMap<String, Decision>,
    /// Decisions made before anyone is asked, for tests of flows: about the question at an address, such as
    /// `each[3].ask`, or about every other question of a node.
    pub foreseen: HashMap<String, Decision>,
}

impl Decisions {
    /// The decision about a question; one that was made about another does not count.
    pub(crate) fn about(&self, question: &Question) -> Option<&Decision> {
        let made = self.made.get(&question.path);
        let made = made.filter(|decision| decision.digest.as_ref() == Some(&question.digest));
        let foreseen =
            || self.foreseen.get(&question.address()).or_else(|| self.foreseen.get(&question.node));
        made.or_else(foreseen)
    }
}

/// One attempt of one node, as its step sees it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'c> {
    pub run: &'c Run<'c>,
    pub node: &'c PlannedNode,
    pub index: usize,
    /// Which execution this is: the node's id, or the calls that led to a tool.
    pub path: &'c str,
    /// Counts the calls that this execution makes.
    pub counter: &'c AtomicU32,
    /// The tokens that this execution's models have written.
    pub written: &'c AtomicU64,
    /// The arguments: the node's own, or those of the transform that follows its prompt.
    pub with: &'c Object,
    pub inputs: &'c Object,
    pub request: &'c RunRequest,
    pub services: &'c Services,
    pub state: Option<&'c StateBuffer<'c>>,
    pub prompt_output: Option<&'c Value>,
    /// The same for every attempt of this execution, also after the run was interrupted.
    pub idempotency_key: &'c str,
    /// The inputs that edges bring to the nodes this one may call as tools.
    pub tool_inputs: &'c [(usize, Object)],
    /// Where this attempt is in the run's trace.
    pub span: &'c OptionalSpan,
}

/// Which node is executed on what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Execution<'e> {
    pub(crate) index: usize,
    pub(crate) node: &'e PlannedNode,
    pub(crate) inputs: &'e Object,
    pub(crate) tool_inputs: &'e [(usize, Object)],
    pub(crate) path: &'e str,
    pub(crate) span: &'e OptionalSpan,
}

/// A step after its last attempt.
#[derive(Debug)]
pub struct Executed {
    pub outputs: Result<Object, Failure>,
    pub attempts: u32,
    /// What a successful step wants remembered.
    pub commit: Option<Commit>,
}

impl Run<'_> {
    /// Executes a node: checks its inputs, attempts its step, lays the result onto its ports. What it
    /// wants remembered is handed back, to be written together with its result.
    pub fn execute<'c>(
        &'c self,
        index: usize,
        node: &'c PlannedNode,
        inputs: &'c Object,
        tool_inputs: &'c [(usize, Object)],
        path: &'c str,
        parent: &'c OptionalSpan,
    ) -> BoxFuture<'c, Executed> {
        // Boxed, because a node may call another one as a tool.
        Box::pin(async move {
            // Waiting for a turn counts for the run's time, not for the step's.
            let _permit = self.concurrency.acquire(&self.plan.document.flow.name, node).await;
            self.services.observer.on(&RunEvent::NodeStarted { run_id: &self.id, node: &node.id });
            let hides = parent.is_watched() && labels::is_hidden_from_traces(&self.plan.document, &node.id);
            let span = parent.child(&Work::Step { node: &node.id, kind: &node.kind }).hiding(hides);
            let started = self.services.clock.elapsed();
            let offset = self.services.clock.now().duration_since(self.started_at);
            let mut attempts = 0;
            let execution = Execution { index, node, inputs, tool_inputs, path, span: &span };
            let result = self.cached(execution, &mut attempts).await.map_err(volume::bounded);
            let took = self.services.clock.elapsed().saturating_sub(started);
            self.report(index, |report| {
                let waits = matches!(&result, Err(failure) if failure.is_pause());
                // Waiting is no attempt; the one after the decision is.
                report.attempts += if waits { 0 } else { attempts };
                // A clock that was set back in between says nothing.
                let offset = Duration::try_from(offset).unwrap_or_default();
                report.started.get_or_insert(offset);
                // A tool of a step that was taken over may be called again by one that is not.
                report.reused = false;
                report.duration += took;
                match &result {
                    Ok(_) => {
                        report.status = Status::Ok;
                        report.failure = None;
                    }
                    Err(failure) if failure.is_pause() => {
                        report.status = Status::Waiting;
                        report.reason = Some(failure.message.clone());
                    }
                    Err(failure) => {
                        report.status = Status::Error;
                        report.failure = Some(failure.clone());
                    }
                }
            });
            self.notify(index);
            if span.is_watched()
                && let Some(report) = self.reports.read(index, NodeReport::clone)
            {
                span.end(&End::Step(&report));
            }
            match result {
                Ok((outputs, commit)) => Executed { outputs: Ok(outputs), attempts, commit },
                Err(failure) => Executed { outputs: Err(failure.at(node.origin())), attempts, commit: None },
            }
        })
    }

    /// Changes a node's report.
    pub fn report(&self, index: usize, change: impl FnOnce(&mut NodeReport)) {
        self.reports.change(index, change);
    }

    /// Notifies observers of a node's report.
    pub(crate) fn notify(&self, index: usize) {
        if !self.services.observer.is_watching() {
            return;
        }
        if let Some(node) = &self.reports.read(index, NodeReport::clone) {
            self.services.observer.on(&RunEvent::NodeEnded { run_id: &self.id, node });
        }
    }

    /// Takes a node's result from the cache, or makes it and keeps it there.
    async fn cached(
        &self,
        execution: Execution<'_>,
        attempts: &mut u32,
    ) -> Result<(Object, Option<Commit>), Failure> {
        let Execution { index, node, inputs, .. } = execution;
        self.halted()?;
        self.check_context(node)?;
        self.hold_to_contract(node, inputs)?;
        let Some(key) = self.cache_key(node, inputs)? else {
            return self.attempt_in_time(execution, attempts).await;
        };
        let (cache, now) = (&self.services.cache, self.services.clock.now());
        let cached = cache.get(&key, now).await;
        let is_heavy = cached.as_ref().is_some_and(|outputs| !port::are_quick(&node.outputs, outputs));
        let check = || cached.filter(|outputs| port::all_fit(&node.outputs, outputs));
        if let Some(outputs) = self.services.heavy_work.run_if(is_heavy, check).await {
            self.report(index, |report| report.cached = true);
            return Ok((outputs, None));
        }
        let (outputs, commit) = self.attempt_in_time(execution, attempts).await?;
        let ttl = node.cache.as_ref().map_or(0, |cache| cache.ttl_seconds);
        let is_degraded = self.reports.read(index, |report| report.degraded).unwrap_or_default();
        // Effects must happen every time, and a fallback's answer must not outlive the trouble.
        if !node.effects && !is_degraded && labels::may_cache(&self.plan.document, &node.id)? {
            cache.put(&key, &outputs, self.services.clock.now(), Duration::from_secs(ttl.into())).await;
        }
        Ok((outputs, commit))
    }

    /// The context fields that a node requires are there.
    fn check_context(&self, node: &PlannedNode) -> Result<(), Failure> {
        let absent = |name: &&String| !self.request.context.contains_key(name.as_str());
        let missing: Vec<String> = node.requires_context.iter().filter(absent).cloned().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let list = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let message = format!("node `{}` requires {list}, which the request lacks", node.id);
        Err(Failure::new(codes::MISSING_CONTEXT, FailureKind::Request, message).details(missing))
    }

    /// Counts the step, and checks what its contract says before it begins.
    fn hold_to_contract(&self, node: &PlannedNode, inputs: &Object) -> Result<(), Failure> {
        if node.id == INPUT || node.id == OUTPUT {
            return Ok(());
        }
        self.spending.step(self.services.clock.elapsed())?;
        node.attempt_rules().may_begin()?;
        // The inputs of a workflow's step are its arguments.
        node.check_keys(Side::Input, if self.plan.graph.reads_references() { &node.with } else { inputs })
    }

    /// The attempts that a node has made.
    pub(crate) fn attempts(&self, index: usize) -> u32 {
        self.reports.read(index, |report| report.attempts).unwrap_or_default()
    }
}

impl<'c> Call<'c> {
    /// The values that the node's `${…}` can name.
    #[must_use]
    pub fn scope(&self) -> PathScope<'c> {
        PathScope {
            inputs: self.inputs,
            context: &self.request.context,
            prompt_output: self.prompt_output,
            secrets: None,
        }
    }
}
