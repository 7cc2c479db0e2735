//! One step of a run, done wherever a worker has room for it.
//!
//! Invariant: a step's result is in the journal before what it wants remembered is committed, so a worker that
//! dies in between commits the same writes again, and they are made once.

use std::sync::Arc;

use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use stave_canon::Value;
use stave_operations::{Descriptor, HUMAN_APPROVE, step_kind};
use stave_runtime::interpreter::{GivenUp, Interpreter, STATE_CONFLICTS, StepCall, StepDone};
use stave_runtime::journal::{JournalError, RECORD_BYTES, StepRecord, codec};
use stave_runtime::state::StateError;

use crate::body::Body;
use crate::error::ScaleError;
use crate::keys::{CALLS, ProjectKey};
use crate::messages::{Answer, Job};
use crate::services::failed;
use crate::state::CONFLICT;
use crate::worker::{Prepared, Shared};

#[derive(Debug)]
pub(crate) struct StepService(pub(crate) Arc<Shared>);

/// A step and everything that it is done with.
struct Attempt {
    shared: Arc<Shared>,
    project: ProjectKey,
    prepared: Arc<Prepared>,
    interpreter: Interpreter,
    job: Job,
    call: StepCall,
}

#[restate_sdk::service(name = "StaveStep")]
impl StepService {
    /// Does a step and gives its result.
    #[handler]
    async fn exec(&self, ctx: Context<'_>, job: Body) -> Result<Body, HandlerError> {
        let job = Job::of_value(&job.0).map_err(failed)?;
        let attempt = Arc::new(Attempt::new(&self.0, job).await?);
        let mut conflicts = 0;
        loop {
            let once = Arc::clone(&attempt);
            let done = ctx.run(move || async move { once.once().await }).name("step").await?.0;
            let Some(commit) = done.get("commit").and_then(Value::as_str).map(str::to_owned) else {
                attempt.forget_answers(&ctx, &done);
                return Ok(Body(done));
            };
            let once = Arc::clone(&attempt);
            let kept = ctx.run(move || async move { once.commit(&commit).await }).name("remember").await?.0;
            let why = match kept.as_str() {
                None => {
                    attempt.forget_answers(&ctx, &done);
                    return Ok(Body(done));
                }
                Some(CONFLICT) if conflicts < STATE_CONFLICTS => {
                    conflicts += 1;
                    continue;
                }
                Some(CONFLICT) => GivenUp::Conflicts,
                Some(reason) => GivenUp::State(reason.to_owned()),
            };
            let once = Arc::clone(&attempt);
            return ctx
                .run(move || async move { once.give_up(why).await })
                .name("give up")
                .await
                .map_err(Into::into);
        }
    }
}

impl Attempt {
    async fn new(shared: &Arc<Shared>, job: Job) -> Result<Attempt, HandlerError> {
        let project = ProjectKey::of_text(&job.project)
            .ok_or_else(|| failed(ScaleError::Damaged("a step has no project".to_owned())))?;
        let prepared = shared.prepared(&project, &job.document).await.map_err(failed)?;
        let request = shared.store.unpack(&project, &job.run, &job.request).await.map_err(failed)?;
        let interpreter = prepared.interpreter(shared, &job.run, &request, job.times).map_err(failed)?;
        let interpreter = interpreter.map_err(|report| {
            let reason = report.result.err().map(|failed| failed.failure.message.clone());
            failed(ScaleError::Damaged(reason.unwrap_or_default()))
        })?;
        let inputs = shared.store.unpack(&project, &job.run, &job.inputs).await.map_err(failed)?;
        let call = job.call(&inputs).map_err(failed)?;
        Ok(Attempt { shared: Arc::clone(shared), project, prepared, interpreter, job, call })
    }

    /// Does the step. What comes out is an answer, with what is to be remembered.
    async fn once(&self) -> Result<Body, HandlerError> {
        let node = self.prepared.document.node(&self.job.node);
        let answers = match node.filter(|node| keeps_answers(&node.kind)) {
            Some(_) => self.prepared.journal.answers(&self.job.run, &self.job.node).await.map_err(failed)?,
            None => Vec::new(),
        };
        let had_answers = !answers.is_empty();
        let decisions = self.job.decisions.clone();
        let outcome = self.interpreter.step(&self.call, answers, decisions).await.map_err(undone)?;
        match outcome {
            StepDone::Waits(reports, questions) => {
                let questions = questions.iter().map(|question| codec::encode_call(&question.to_call()));
                let reports = codec::encode_reports(&reports);
                Ok(Body(Answer::Waits { reports, questions: questions.collect() }.to_value()))
            }
            StepDone::Finished(record, commit) => {
                let text = codec::encode_step(&record);
                if text.len() > RECORD_BYTES {
                    let why = GivenUp::TooLarge { bytes: text.len(), limit: RECORD_BYTES };
                    return self.give_up(why).await;
                }
                let mut answer = self.answer(&record, text).await?;
                if let Some(members) = answer.as_object_mut() {
                    members.insert("commit".into(), commit.as_ref().map(codec::encode_commit).into());
                    let has_written = self.prepared.journal.has_written(&self.job.run, &self.job.node);
                    let has_answers = had_answers || has_written;
                    members.insert("answers".into(), has_answers.into());
                }
                Ok(Body(answer))
            }
        }
    }

    /// Keeps what the step wants remembered; a text says why that cannot be.
    async fn commit(&self, commit: &str) -> Result<Body, HandlerError> {
        let commit =
            codec::decode_commit(commit).map_err(|error| failed(ScaleError::Damaged(error.to_string())))?;
        Ok(Body(match self.prepared.services.state.commit(commit).await {
            Ok(()) => Value::Null,
            Err(StateError::Conflict) => CONFLICT.into(),
            Err(error) => error.to_string().into(),
        }))
    }

    async fn give_up(&self, why: GivenUp) -> Result<Body, HandlerError> {
        let record = self.interpreter.give_up(&self.call, why).await.map_err(undone)?;
        let text = codec::encode_step(&record);
        Ok(Body(self.answer(&record, text).await?))
    }

    async fn answer(&self, record: &StepRecord, text: String) -> Result<Value, HandlerError> {
        let record_text = self.shared.store.pack(&self.project, &self.job.run, text).await.map_err(failed)?;
        Ok(Answer::Done { node: record.node.clone(), record: record_text }.to_value())
    }

    /// The answers on the way are of no use once the result is known.
    fn forget_answers(&self, ctx: &Context<'_>, done: &Value) {
        if done.get("answers") == Some(&Value::Bool(true)) {
            let key = self.project.calls(&self.job.run, &self.job.node);
            ctx.request::<(), ()>(RequestTarget::object(CALLS, key, "forget"), ()).send();
        }
    }
}

/// A step that was not done is done again.
fn undone(error: JournalError) -> HandlerError {
    HandlerError::from(error)
}

/// Whether a step writes the answers to its calls down before it is done: the results of its parts, or what a person
/// was asked.
fn keeps_answers(kind: &str) -> bool {
    kind == HUMAN_APPROVE.name || step_kind(kind).is_some_and(Descriptor::repeats_by_part)
}
