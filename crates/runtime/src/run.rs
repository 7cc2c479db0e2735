//! One run in progress, and how one of its nodes is executed: attempts, time, state, ports.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use futures_util::future::BoxFuture;
use stave_canon::{Object, Timestamp, Value};
use stave_diag::codes::run as codes;
use stave_exec::dataflow::Origin;
use stave_llm::{Jitter, RetryPolicy};
use stave_script::{ScriptError, state_key};

use crate::budget::Spending;
use crate::calls::Calls;
use crate::concurrency_limits::ConcurrencyLimits;
use crate::interpolate::Scope;
use crate::journal::{Decision, JournalError, Question};
use crate::node_reports::NodeReports;
use crate::observer::Event;
use crate::plan::{INPUT, Node, OUTPUT, Plan};
use crate::port::Side;
use crate::report::{NodeReport, Status};
use crate::request::Request;
use crate::services::Services;
use crate::state::{Commit, RecordKey, StateBuffer};
use crate::steps::{self, StepOutput};
use crate::trace::{End, Traced, Work};
use crate::{Failure, labels, port, volume};
use stave_engine::Kind;

/// The backend of nodes that name none: whatever the project keeps its state in.
const PROJECTS_OWN: &str = "memory";

/// The longest key of a state record or of a cached result.
const KEY_BYTES: usize = 64 * 1024;

/// Everything that the nodes of one run share.
#[derive(Debug)]
pub struct Run<'r> {
    pub id: String,
    pub plan: &'r Plan,
    pub request: Request,
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
    pub span: &'r Traced,
    pub concurrency: &'r ConcurrencyLimits,
    /// Whether the process is to end.
    pub(crate) stopping: tokio::sync::watch::Receiver<bool>,
    /// Whether the run is coming to rest: what has effects is let finish, and nothing further begins.
    pub(crate) halting: tokio::sync::watch::Sender<bool>,
    /// Why an answer on the way could not be written down, which ends the run.
    pub unwritten: Mutex<Option<JournalError>>,
}

/// What people decided.
#[derive(Debug, Default, Clone)]
pub struct Decisions {
    /// By the path of the execution that asked.
    pub made: HashMap<String, Decision>,
    /// Decisions about every question of a node, made before anyone is asked: for tests of flows.
    pub foreseen: HashMap<String, Decision>,
}

impl Decisions {
    /// The decision about a question; one that was made about another does not count.
    pub(crate) fn about(&self, question: &Question) -> Option<&Decision> {
        let made = self.made.get(&question.path);
        let made = made.filter(|decision| decision.digest.as_ref() == Some(&question.digest));
        made.or_else(|| self.foreseen.get(&question.node))
    }
}

/// One attempt of one node, as its step sees it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'c> {
    pub run: &'c Run<'c>,
    pub node: &'c Node,
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
    pub request: &'c Request,
    pub services: &'c Services,
    pub state: Option<&'c StateBuffer<'c>>,
    pub prompt_output: Option<&'c Value>,
    /// The same for every attempt of this execution, also after the run was interrupted.
    pub idempotency_key: &'c str,
    /// The inputs that edges bring to the nodes this one may call as tools.
    pub tool_inputs: &'c [(usize, Object)],
    /// Where this attempt is in the run's trace.
    pub span: &'c Traced,
}

/// Which node is executed on what.
#[derive(Debug, Clone, Copy)]
struct Execution<'e> {
    index: usize,
    node: &'e Node,
    inputs: &'e Object,
    tool_inputs: &'e [(usize, Object)],
    path: &'e str,
    span: &'e Traced,
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
        node: &'c Node,
        inputs: &'c Object,
        tool_inputs: &'c [(usize, Object)],
        path: &'c str,
        parent: &'c Traced,
    ) -> BoxFuture<'c, Executed> {
        // Boxed, because a node may call another one as a tool.
        Box::pin(async move {
            // Waiting for a turn counts for the run's time, not for the step's.
            let _permit = self.concurrency.acquire(&self.plan.document.flow.name, node).await;
            self.services.observer.on(&Event::NodeStarted { run_id: &self.id, node: &node.id });
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
                // A clock that was set back in between tells nothing.
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
            self.services.observer.on(&Event::NodeEnded { run_id: &self.id, node });
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
        // Effects must happen every time, and a stand-in's answer must not outlive the trouble.
        if !node.effects && !is_degraded && labels::may_cache(&self.plan.document, &node.id)? {
            cache.put(&key, &outputs, self.services.clock.now(), Duration::from_secs(ttl.into())).await;
        }
        Ok((outputs, commit))
    }

    /// The context fields that a node requires are there.
    fn check_context(&self, node: &Node) -> Result<(), Failure> {
        let absent = |name: &&String| !self.request.context.contains_key(name.as_str());
        let missing: Vec<String> = node.requires_context.iter().filter(absent).cloned().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let list = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let message = format!("node `{}` requires {list}, which the request lacks", node.id);
        Err(Failure::new(codes::MISSING_CONTEXT, Kind::Request, message).details(missing))
    }

    /// Counts the step, and checks what its contract says before it begins.
    fn hold_to_contract(&self, node: &Node, inputs: &Object) -> Result<(), Failure> {
        if node.id == INPUT || node.id == OUTPUT {
            return Ok(());
        }
        self.spending.step(self.services.clock.elapsed())?;
        node.may_begin()?;
        // The inputs of a workflow's step are its arguments.
        node.check_keys(Side::Input, if self.plan.graph.reads_references() { &node.with } else { inputs })
    }

    /// All attempts, within the time that the node's contract gives them.
    async fn attempt_in_time(
        &self,
        execution: Execution<'_>,
        attempts: &mut u32,
    ) -> Result<(Object, Option<Commit>), Failure> {
        let node = execution.node;
        let Some(limit) = node.longest() else { return self.attempt_all(execution, attempts).await };
        let all = self.attempt_all(execution, attempts);
        tokio::time::timeout(limit, all).await.unwrap_or_else(|_| Err(node.took_too_long(limit)))
    }

    /// The attempts that a node has made.
    pub(crate) fn attempts(&self, index: usize) -> u32 {
        self.reports.read(index, |report| report.attempts).unwrap_or_default()
    }

    async fn attempt_all(
        &self,
        execution: Execution<'_>,
        attempts: &mut u32,
    ) -> Result<(Object, Option<Commit>), Failure> {
        let Execution { node, inputs, path, span, .. } = execution;
        let check = || port::check_all(Side::Input, &node.inputs, inputs);
        self.services.heavy_work.run_if(!port::are_quick(&node.inputs, inputs), check).await?;
        let key = stave_canon::sha256_hex(format!("{}\n{path}", self.id));
        let mut jitter = Jitter::seeded(seed(&key));
        let policy = retry_policy(node);
        let own_attempts = steps::repeats_by_part(&node.kind);
        let retries = if own_attempts { 0 } else { node.retries() };
        loop {
            *attempts += 1;
            let span = span.child(&Work::Attempt { number: *attempts });
            let attempt = self.attempt(Execution { span: &span, ..execution }, &key);
            let result = if own_attempts || node.timeout_ms == 0 {
                attempt.await
            } else {
                let limit = Duration::from_millis(node.timeout_ms.into());
                tokio::time::timeout(limit, attempt).await.unwrap_or_else(|_| Err(timeout(node.timeout_ms)))
            };
            span.end(&End::Attempt(result.as_ref().map(|_| ())));
            match result {
                Err(failure) if failure.retryable && *attempts <= retries => {
                    match policy.wait(*attempts - 1, failure.retry_after, &mut jitter) {
                        Some(wait) => self.unless_halted(tokio::time::sleep(wait)).await?,
                        None => return Err(failure),
                    }
                }
                Err(failure) if !own_attempts => {
                    return Err(node.cut_short(*attempts, &failure).unwrap_or(failure));
                }
                result => return result,
            }
        }
    }

    async fn attempt(
        &self,
        execution: Execution<'_>,
        key: &str,
    ) -> Result<(Object, Option<Commit>), Failure> {
        let Execution { index, node, inputs, tool_inputs, path, span } = execution;
        let state = match &node.state {
            Some(_) => {
                let (key, now) = (self.record_key(node, inputs)?, self.services.clock.now());
                let buffer = StateBuffer::new(self.services.state.as_ref(), key, now)
                    .labelled(labels::of_state(&self.plan.document, &node.id)?)
                    .within(self.services.limits.state_bytes);
                Some(buffer)
            }
            None => None,
        };
        let (counter, written) = (AtomicU32::new(0), AtomicU64::new(0));
        let call = Call {
            run: self,
            node,
            index,
            path,
            counter: &counter,
            written: &written,
            with: &node.with,
            inputs,
            request: &self.request,
            services: self.services,
            state: state.as_ref(),
            prompt_output: None,
            idempotency_key: key,
            tool_inputs,
            span,
        };
        let produced = node.step.execute(&call).await;
        if let Some(state) = &state {
            labels::hold_state(self, node, state)?;
            if state.is_over() {
                return Err(volume::run_too_large("state_bytes", self.services.limits.state_bytes));
            }
        }
        let produced = produced?;
        let is_heavy = !port::is_quick_result(&node.outputs, &produced);
        let outputs =
            self.services.heavy_work.run_if(is_heavy, || self.lay_out(index, node, produced)).await?;
        let ttl = node.state.as_ref().and_then(|state| state.ttl_seconds);
        let by = || format!("{}/{path}", self.id);
        let commit = state.and_then(|state| state.into_commit(ttl, by()));
        self.keep_result(index, &node.id, &outputs, commit.as_ref())?;
        Ok((outputs, commit))
    }

    /// Lays what a step produced onto the node's output ports and checks it there, so that a wrong
    /// output is blamed on the node that made it.
    fn lay_out(&self, index: usize, node: &Node, produced: StepOutput) -> Result<Object, Failure> {
        match &produced {
            StepOutput::Ports(ports) => ports.values().try_for_each(port::check_depth)?,
            StepOutput::Whole(whole) => port::check_depth(whole)?,
        }
        if let Some(name) = self.plan.graph.result_name() {
            let result = match produced {
                StepOutput::Ports(ports) => Value::Object(ports),
                StepOutput::Whole(whole) => whole,
            };
            return Ok([(name.to_owned(), result)].into_iter().collect());
        }
        let mut by_name = match (produced, node.outputs.as_slice()) {
            (StepOutput::Ports(ports), _) => ports,
            (StepOutput::Whole(value), [sole]) => [(sole.name().to_owned(), value)].into_iter().collect(),
            (StepOutput::Whole(Value::Object(members)), _) => members,
            (StepOutput::Whole(_), []) => Object::new(),
            (StepOutput::Whole(other), _) => {
                let message = format!("the node has several outputs, and its result is {}", other.kind());
                return Err(Failure::new(codes::INVALID_OUTPUT, Kind::Value, message));
            }
        };
        // The pseudo-nodes have the request's and the response's fields, which no port lists.
        if node.outputs.is_empty() {
            return Ok(by_name);
        }
        let mut outputs = Object::with_capacity(node.outputs.len());
        for port in &node.outputs {
            match by_name.shift_remove(port.name()) {
                Some(value) => {
                    port.check(Side::Output, &value)?;
                    outputs.insert(port.name().to_owned(), value);
                }
                None if port.port.optional => {}
                None => {
                    let message = format!("output `{}` is missing from the node's result", port.name());
                    return Err(Failure::new(codes::INVALID_OUTPUT, Kind::Value, message));
                }
            }
        }
        node.check_keys(Side::Output, &outputs)?;
        if !by_name.is_empty() {
            let dropped: Vec<String> = by_name.into_keys().collect();
            self.report(index, |report| report.dropped_outputs = dropped);
        }
        Ok(outputs)
    }

    pub(crate) fn record_key(&self, node: &Node, inputs: &Object) -> Result<RecordKey, Failure> {
        let Some(state) = &node.state else {
            return Err(state_failure("the node has no state".to_owned()));
        };
        let flow = &self.plan.document.flow.name;
        let key = self.fill_key(node, inputs, &state.key, "state")?;
        let (scope, owner) = if state.session {
            let session = self.request.session_id();
            ("session", session.ok_or_else(|| state_failure("the request has no `session_id`".to_owned()))?)
        } else {
            ("request", self.id.as_str())
        };
        let record = RecordKey::new(flow, scope, owner, &key);
        // What ends with the run needs no server.
        let apart = state.session && state.backend != PROJECTS_OWN;
        Ok(if apart { record.in_backend(&state.backend) } else { record })
    }

    /// A key template with its placeholders filled.
    pub(crate) fn fill_key(
        &self,
        node: &Node,
        inputs: &Object,
        template: &str,
        what: &str,
    ) -> Result<String, Failure> {
        let segments = state_key::parse(template).map_err(|errors| {
            let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
            state_failure(format!("the {what} key {template:?} is malformed: {}", messages.join("; ")))
        })?;
        let mut key = String::new();
        for segment in segments {
            match segment {
                state_key::KeySegment::Literal(text) => key.push_str(&text),
                state_key::KeySegment::Path { names, .. } => {
                    let value = self.key_value(node, inputs, &names).ok_or_else(|| {
                        state_failure(format!("`{{{}}}` in the {what} key is absent", names.join(".")))
                    })?;
                    key.push_str(&port::text(&value)?);
                    if key.len() > KEY_BYTES {
                        return Err(state_failure(format!(
                            "the {what} key takes more than {KEY_BYTES} bytes"
                        )));
                    }
                }
            }
        }
        Ok(key)
    }

    /// A bare name is an input first, then a field of the context.
    fn key_value(&self, node: &Node, inputs: &Object, names: &[String]) -> Option<Value> {
        let mut names = names.iter().map(String::as_str);
        let mut here = match (names.next()?, names.clone().next()) {
            ("node", Some("id")) => return Some(node.id.as_str().into()),
            ("flow", Some("name")) => return Some(self.plan.document.flow.name.as_str().into()),
            ("context", Some(_)) => self.request.context.get(names.next()?)?,
            (name, _) => inputs.get(name).or_else(|| self.request.context.get(name))?,
        };
        for name in names {
            here = here.get(name)?;
        }
        Some(here.clone())
    }
}

impl<'c> Call<'c> {
    /// The values that the node's `${…}` can name.
    #[must_use]
    pub fn scope(&self) -> Scope<'c> {
        Scope {
            inputs: self.inputs,
            context: &self.request.context,
            prompt_output: self.prompt_output,
            secrets: None,
        }
    }

    /// The sandbox's limits with the node's time.
    #[must_use]
    pub fn script_limits(&self) -> stave_script::Limits {
        let mut limits = stave_script::Limits::DEFAULT;
        if self.node.timeout_ms > 0 {
            let node = Duration::from_millis(self.node.timeout_ms.into());
            limits.wall = node;
            limits.compute = limits.compute.min(node);
        }
        limits
    }

    /// Evaluates an expression for each item of a list; the first failure ends it.
    pub async fn evaluate_each(&self, expression: &str, items: &[Value]) -> Result<Vec<Value>, Failure> {
        let scopes = items.iter().enumerate().map(|(index, item)| {
            let index = Value::from(index);
            [("item".to_owned(), item.clone()), ("index".to_owned(), index)].into_iter().collect()
        });
        let results =
            self.services.python.evaluate(expression, scopes.collect(), &self.script_limits()).await;
        let results = results.map_err(|error| self.script_failure(&error, "expression"))?;
        let mut values = Vec::with_capacity(results.len());
        for (index, result) in results.into_iter().enumerate() {
            values.push(result.map_err(|error| {
                let mut failure = self.script_failure(&error, "expression");
                failure.message = format!("item {index}: {}", failure.message);
                failure
            })?);
        }
        Ok(values)
    }

    /// A script's error as a failure, placed in the source through the origin of the text `key`.
    #[must_use]
    pub fn script_failure(&self, error: &ScriptError, key: &str) -> Failure {
        let code = if key == "code" { codes::CODE_FAILED } else { codes::EXPRESSION_FAILED };
        let origin = self.node.text_origins.get(key).copied();
        script_failure(error, code, origin)
    }
}

/// A script's error as a failure. `origin` is where its text begins.
pub(crate) fn script_failure(error: &ScriptError, code: stave_diag::Code, origin: Option<Origin>) -> Failure {
    use stave_script::Limit;
    let (code, kind) = match error {
        ScriptError::LimitExceeded { limit: Limit::Time, .. } => (codes::STEP_TIMEOUT, Kind::Timeout),
        ScriptError::State(_) => (codes::STATE_FAILED, Kind::Upstream),
        ScriptError::Worker(_) | ScriptError::Closed => (codes::CODE_FAILED, Kind::Configuration),
        _ => (code, Kind::Code),
    };
    let mut failure = Failure::new(code, kind, error.to_string());
    failure.retryable = match error {
        // The same code fails the same way on a syntax or type error; other exceptions may pass.
        ScriptError::Raised { kind, .. } => {
            !matches!(kind.as_str(), "SyntaxError" | "TypeError" | "NameError" | "AttributeError")
        }
        ScriptError::LimitExceeded { limit, .. } => *limit == Limit::Time,
        other => other.is_transient(),
    };
    failure.origin = match (origin, error.range()) {
        (Some(origin), Some(range)) => Some(Origin {
            line: origin.line + range.start.line.saturating_sub(1),
            column: origin.column + range.start.column.saturating_sub(1),
        }),
        (origin, _) => origin,
    };
    failure
}

/// When and how often a node's work is tried again.
pub(crate) fn retry_policy(node: &Node) -> RetryPolicy {
    RetryPolicy {
        retries: node.retry.max,
        backoff: Duration::from_millis(node.retry.backoff_ms.into()),
        ..RetryPolicy::default()
    }
}

/// A seed for jitter, so that a run repeats its own timing.
pub(crate) fn seed(key: &str) -> u64 {
    key.bytes().fold(0, |seed: u64, byte| seed.rotate_left(5) ^ u64::from(byte))
}

pub(crate) fn timeout(limit_ms: u32) -> Failure {
    let message = format!("no result within {limit_ms} ms");
    Failure::new(codes::STEP_TIMEOUT, Kind::Timeout, message).retryable()
}

fn state_failure(message: String) -> Failure {
    Failure::new(codes::STATE_FAILED, Kind::Upstream, message)
}
