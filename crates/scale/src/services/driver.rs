//! The graph of a run, driven by what is in Restate's journal.
//!
//! Invariant: everything that is asked of Restate here follows from the run's start, its document and the results
//! that the journal has, in their order. Clocks are read inside journalled actions only, and reading or keeping a
//! value by its hash changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use restate_sdk::context::{DurableFuture, RequestTarget};
use restate_sdk::prelude::*;
use stave_canon::{Timestamp, Value};
use stave_diag::codes::run as codes;
use stave_runtime::interpreter::{
    Drive, ExecutorCommand, Interpreter, StepCall, StepDone, cancelled, timed_out,
};
use stave_runtime::journal::{Decision, Question, RunStatus, codec};
use stave_runtime::{Failure, FailureKind, RunFailure, RunReport};

use crate::body::Body;
use crate::error::ScaleError;
use crate::keys::{ProjectKey, SESSION, STATE, STEP, STORE};
use crate::messages::{Answer, Job, Start, inputs_text, question_of, record_of, records_of, report_text};
use crate::services::failed;
use crate::store::Packed;
use crate::worker::Shared;

/// The promises of a run.
pub(super) const CANCEL: &str = "cancel";
pub(super) const TURN: &str = "turn";
pub(super) const REST: &str = "rest/";
/// What a run keeps about itself, for those who look.
pub(crate) const HEAD: &str = "run";
pub(crate) const STANDING: &str = "standing";
pub(crate) const STEPS: &str = "step/";
pub(crate) const DECIDED: &str = "decided/";
pub(crate) const ASKED: &str = "asked/";

/// Something that a run waits for.
enum Happened {
    Step(String, Result<Body, TerminalError>),
    Decided(String, Result<Body, TerminalError>),
    Turn,
    Cancel,
    /// The run has taken its time; which of its stretches is counted.
    Limit(u32),
}

type Awaited<'c> = Pin<Box<dyn DurableFuture<Output = Happened> + Send + 'c>>;

/// One run on its way.
struct Driver<'c> {
    shared: &'c Arc<Shared>,
    ctx: &'c WorkflowContext<'c>,
    project: ProjectKey,
    run: String,
    start: Start,
    interpreter: &'c Interpreter,
    drive: Drive<'c>,
    awaited: DurableFuturesUnordered<Awaited<'c>>,
    /// The steps that are being done.
    at_work: BTreeMap<String, StepCall>,
    /// The digests of the questions that a decision is awaited for, by path.
    open: BTreeMap<String, String>,
    /// What people decided, by path.
    decided: HashMap<String, Decision>,
    steps: usize,
    rests: u32,
    is_resting: bool,
    stretch: u32,
    /// The hashes of the values that are kept for this run.
    stored: BTreeSet<String>,
}

pub(super) async fn drive(
    shared: &Arc<Shared>,
    ctx: &WorkflowContext<'_>,
    start: &Value,
) -> Result<Value, HandlerError> {
    let start = Start::of_value(start).map_err(failed)?;
    let (project, run) = place(ctx.key()).ok_or_else(|| TerminalError::new("the run has no place"))?;
    ctx.set(HEAD, Body(start.to_value()));
    stand(ctx, RunStatus::Running, 0, None);
    let prepared = shared.prepared(&project, &start.document).await.map_err(failed)?;
    let request = shared.store.unpack(&project, &run, &start.request).await.map_err(failed)?;
    let interpreter = prepared.interpreter(shared, &run, &request, start.times).map_err(failed)?;
    let interpreter = match interpreter {
        Ok(interpreter) => interpreter,
        Err(report) => {
            let begun = (start.times.started_at, 0);
            return end(shared, ctx, &project, &run, begun, *report, &BTreeSet::new()).await;
        }
    };
    let known = match &start.known {
        Some(known) => {
            let known = shared.store.unpack(&project, &run, known).await.map_err(failed)?;
            records_of(&known).map_err(failed)?
        }
        None => Vec::new(),
    };
    for (number, record) in known.iter().enumerate() {
        let text = shared.store.pack(&project, &run, codec::encode_step(record)).await.map_err(failed)?;
        ctx.set(&step_key(number), Body(kept_step(&record.node, &text)));
    }
    let steps = known.len();
    let stored = [&Some(start.request.clone()), &start.known];
    let stored = stored.into_iter().flatten().filter_map(Packed::stored).map(str::to_owned).collect();
    let driver = Driver {
        shared,
        ctx,
        project,
        run,
        decided: start.decisions.clone(),
        drive: interpreter.drive(known, start.parallel_steps),
        start,
        interpreter: &interpreter,
        awaited: DurableFuturesUnordered::new(),
        at_work: BTreeMap::new(),
        open: BTreeMap::new(),
        steps,
        rests: 0,
        is_resting: false,
        stretch: 0,
        stored,
    };
    driver.work().await
}

impl<'c> Driver<'c> {
    async fn work(mut self) -> Result<Value, HandlerError> {
        let result = self.result().await?;
        let report = self.drive.report(result, Duration::ZERO);
        if self.interpreter.has_run_state() {
            let key = self.project.state_of(&self.start.flow, "request", &self.run);
            self.ctx.request::<(), ()>(RequestTarget::object(STATE, key, "forget"), ()).send();
        }
        let begun = (self.start.times.started_at, self.rests);
        end(self.shared, self.ctx, &self.project, &self.run, begun, report, &self.stored).await
    }

    /// Does everything that can be done, and gives the run's result.
    async fn result(&mut self) -> Result<Result<Value, RunFailure>, HandlerError> {
        let ctx = self.ctx;
        self.awaited.push(Box::pin(ctx.promise::<Body>(CANCEL).map(|_| Happened::Cancel)));
        let mut commands = VecDeque::new();
        if self.ask_for_turn() {
            self.begin_stretch();
            commands.extend(self.drive.start());
        }
        loop {
            while let Some(command) = commands.pop_front() {
                match command {
                    ExecutorCommand::Step(call) if call.is_request() => {
                        commands.extend(self.take_request(*call).await?);
                    }
                    ExecutorCommand::Step(call) => self.begin_step(*call).await?,
                    ExecutorCommand::Rest(failed) => self.rest(failed).await?,
                    ExecutorCommand::End(result) => return Ok(result),
                }
            }
            // An error says that Restate itself was asked to cancel the invocation.
            let Ok(Some((_, happened))) = self.awaited.next().await else { return Ok(Err(cancelled())) };
            match happened {
                Happened::Turn => {
                    self.begin_stretch();
                    commands.extend(self.drive.start());
                }
                Happened::Cancel => commands.extend(self.drive.cancel()),
                Happened::Limit(stretch) => {
                    if stretch == self.stretch && !self.is_resting {
                        return Ok(Err(timed_out(self.interpreter.time_limit())));
                    }
                }
                Happened::Step(node, answer) => {
                    let Some(call) = self.at_work.remove(&node) else { continue };
                    match answer {
                        Ok(answer) => commands.extend(self.take(call, &answer.0).await?),
                        Err(error) => return Ok(Err(undone(&node, &error))),
                    }
                }
                Happened::Decided(path, decision) => {
                    let decision = decision.ok().and_then(|body| body.0.as_str().map(codec::decode_decision));
                    let decision = decision.ok_or_else(|| TerminalError::new("a decision says nothing"))?;
                    let decision = decision.map_err(|error| TerminalError::new(error.to_string()))?;
                    commands.extend(self.decide(path, decision));
                }
            }
        }
    }

    /// Asks for the run's turn when it may change what a session remembers; whether it has its turn at once.
    fn ask_for_turn(&mut self) -> bool {
        let Some(session) = self.interpreter.session() else { return true };
        let ctx = self.ctx;
        let key = self.project.session(&self.start.flow, session);
        let asked = Value::from_iter([("run", ctx.key()), ("invocation", ctx.invocation_id())]);
        // The start of the run has asked already, so that turns are taken in the order of the starts.
        ctx.request::<Body, ()>(RequestTarget::object(SESSION, key, "turn"), Body(asked))
            .idempotency_key(self.run.clone())
            .send();
        self.awaited.push(Box::pin(ctx.promise::<Body>(TURN).map(|_| Happened::Turn)));
        false
    }

    /// The time in which the run waits for nobody is bounded.
    fn begin_stretch(&mut self) {
        self.stretch += 1;
        let stretch = self.stretch;
        let sleep = self.ctx.sleep(self.interpreter.time_limit());
        self.awaited.push(Box::pin(sleep.map(move |_| Happened::Limit(stretch))));
    }

    /// The fields of the request, which no step has to be done for elsewhere.
    async fn take_request(&mut self, call: StepCall) -> Result<Vec<ExecutorCommand>, HandlerError> {
        let interpreter = self.interpreter;
        let done = self.ctx.run(move || async move {
            match interpreter.step(&call, Vec::new(), HashMap::new()).await? {
                StepDone::Finished(record, _) => Ok(Body(codec::encode_step(&record).into())),
                StepDone::Waits(..) => Err(TerminalError::new("the request waits for nobody").into()),
            }
        });
        let done = done.name("request").await?;
        let record = record_of(stave_runtime::plan::INPUT, done.0.as_str().unwrap_or_default());
        Ok(self.drive.step_finished(record.map_err(failed)?))
    }

    async fn begin_step(&mut self, call: StepCall) -> Result<(), HandlerError> {
        let store = &self.shared.store;
        let inputs = store.pack(&self.project, &self.run, inputs_text(&call)).await.map_err(failed)?;
        self.stored.extend(inputs.stored().map(str::to_owned));
        let decided = self.decided.iter().filter(|(path, _)| is_below(path, &call.node));
        let decisions = decided.map(|(path, decision)| (path.clone(), decision.clone())).collect();
        let job = Job {
            run: self.run.clone(),
            project: self.project.text(),
            document: self.start.document.clone(),
            request: self.start.request.clone(),
            times: self.start.times,
            node: call.node.clone(),
            inputs,
            tool_reports: codec::encode_reports(&call.tool_reports),
            spent: call.spent,
            effects: call.effects,
            decisions,
        };
        let node = call.node.clone();
        let done = self.ctx.request::<Body, Body>(RequestTarget::service(STEP, "exec"), Body(job.to_value()));
        self.awaited.push(Box::pin(done.call().map(move |answer| Happened::Step(node, answer))));
        self.at_work.insert(call.node.clone(), call);
        Ok(())
    }

    /// Takes up the answer of a step.
    async fn take(&mut self, call: StepCall, answer: &Value) -> Result<Vec<ExecutorCommand>, HandlerError> {
        let ctx = self.ctx;
        match Answer::of_value(answer).map_err(failed)? {
            Answer::Waits { reports, questions } => {
                let reports = codec::decode_reports(&reports);
                let reports = reports.map_err(|error| failed(ScaleError::Damaged(error.to_string())))?;
                let questions = questions.iter().map(|text| question_of(text));
                let questions = questions.collect::<Result<Vec<_>, _>>().map_err(failed)?;
                let is_decided = |question: &Question| {
                    let decision = self.decided.get(&question.path);
                    decision.is_some_and(|decision| decision.digest.as_ref() == Some(&question.digest))
                };
                // Another question of the step was decided while it was being done.
                if questions.iter().any(is_decided) {
                    self.begin_step(call).await?;
                    return Ok(Vec::new());
                }
                for question in &questions {
                    self.ask(question);
                }
                Ok(self.drive.step_waits(&call.node, reports, questions))
            }
            Answer::Done { node, record } => {
                let text =
                    self.shared.store.unpack(&self.project, &self.run, &record).await.map_err(failed)?;
                self.stored.extend(record.stored().map(str::to_owned));
                ctx.set(&step_key(self.steps), Body(kept_step(&node, &record)));
                self.steps += 1;
                Ok(self.drive.step_finished(record_of(&node, &text).map_err(failed)?))
            }
        }
    }

    /// Keeps a question where it can be read and decided.
    fn ask(&mut self, question: &Question) {
        let (ctx, path) = (self.ctx, question.path.clone());
        if self.open.get(&path) == Some(&question.digest) {
            return;
        }
        let (awakeable, decided) = ctx.awakeable::<Body>();
        let asked = [("awakeable", awakeable), ("question", codec::encode_call(&question.to_call()))];
        ctx.set(&format!("{ASKED}{path}"), Body(Value::from_iter(asked)));
        self.open.insert(path.clone(), question.digest.clone());
        self.awaited.push(Box::pin(decided.map(move |decision| Happened::Decided(path, decision))));
    }

    /// Takes a decision up, and restarts the step that waits for it.
    fn decide(&mut self, path: String, decision: Decision) -> Vec<ExecutorCommand> {
        let ctx = self.ctx;
        // A question that was replaced by another is not decided any more.
        if self.open.get(&path) != decision.digest.as_ref() {
            return Vec::new();
        }
        self.open.remove(&path);
        ctx.clear(&format!("{ASKED}{path}"));
        ctx.set(&format!("{DECIDED}{path}"), Body(codec::encode_decision(&decision).into()));
        let node = path.split('/').next().unwrap_or_default().to_owned();
        self.decided.insert(path, decision);
        // A step that is being done again finds the decision when it asks once more.
        let commands = self.drive.decided(&node);
        if !commands.is_empty() && std::mem::replace(&mut self.is_resting, false) {
            stand(ctx, RunStatus::Running, self.rests, None);
            self.begin_stretch();
        }
        commands
    }

    /// Nothing can be done until somebody decides.
    async fn rest(&mut self, failed_at: RunFailure) -> Result<(), HandlerError> {
        if std::mem::replace(&mut self.is_resting, true) {
            return Ok(());
        }
        let report = report_text(&self.drive.report(Err(failed_at), Duration::ZERO));
        let report = self.shared.store.pack(&self.project, &self.run, report).await.map_err(failed)?;
        self.stored.extend(report.stored().map(str::to_owned));
        self.ctx.resolve_promise(&format!("{REST}{}", self.rests), Body(report.to_value()));
        self.rests += 1;
        stand(self.ctx, RunStatus::Waiting, self.rests, None);
        Ok(())
    }
}

/// Whether a path is that of a step or of something that the step runs.
fn is_below(path: &str, node: &str) -> bool {
    path.strip_prefix(node).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Writes the end of a run down, and lets what was kept for it end with it.
async fn end(
    shared: &Arc<Shared>,
    ctx: &WorkflowContext<'_>,
    project: &ProjectKey,
    run: &str,
    (started_at, rests): (Timestamp, u32),
    mut report: RunReport,
    stored: &BTreeSet<String>,
) -> Result<Value, HandlerError> {
    let clock = Arc::clone(&shared.clock);
    let now = ctx.run(move || async move { Ok(Body(clock.now().to_string().into())) }).name("end").await?;
    let now: Timestamp =
        now.0.as_str().and_then(|now| now.parse().ok()).ok_or_else(|| TerminalError::new("no time"))?;
    report.duration = now.duration_since(started_at).try_into().unwrap_or_default();
    let status = report.ending().map_or(RunStatus::Error, |ending| ending.status());
    let text = report_text(&report);
    let packed = shared.store.pack(project, run, text).await.map_err(failed)?;
    stand(ctx, status, rests, Some((now, &packed)));
    ctx.resolve_promise(&format!("{REST}{rests}"), Body(packed.to_value()));
    for hash in stored.iter().map(String::as_str).chain(packed.stored()) {
        let key = project.stored(run, hash);
        ctx.request::<(), ()>(RequestTarget::object(STORE, key, "forget"), ()).send_after(shared.retention);
    }
    Ok(packed.to_value())
}

/// Records the status of a run.
fn stand(ctx: &WorkflowContext<'_>, status: RunStatus, rests: u32, end: Option<(Timestamp, &Packed)>) {
    let standing = Value::from_iter([
        ("status", Value::from(status.word())),
        ("rests", rests.into()),
        ("ended_at", end.map(|(at, _)| at.to_string()).into()),
        ("report", end.map_or(Value::Null, |(_, report)| report.to_value())),
    ]);
    ctx.set(STANDING, Body(standing));
}

/// The project and the id of a run, from its key.
fn place(key: &str) -> Option<(ProjectKey, String)> {
    let value = stave_canon::parse(key).ok()?;
    match value.as_array()? {
        [Value::String(tenant), Value::String(repo), Value::String(run)] => {
            Some((ProjectKey::new(tenant, repo), run.clone()))
        }
        _ => None,
    }
}

/// Steps are kept in the order in which they were done.
fn step_key(number: usize) -> String {
    format!("{STEPS}{number:06}")
}

fn kept_step(node: &str, record: &Packed) -> Value {
    Value::from_iter([("node", Value::from(node)), ("record", record.to_value())])
}

/// A step that cannot be done, whatever is tried.
fn undone(node: &str, error: &TerminalError) -> RunFailure {
    let message = format!("the step could not be done: {}", error.message());
    let failure = Failure::new(codes::RUN_STOPPED, FailureKind::Configuration, message);
    RunFailure { failure, node: Some(node.to_owned()), attempts: 0 }
}
