//! `llm.chat`: a governed prompt to a model, with tools, one repair turn and fallbacks.
//!
//! The order is fixed: the model's attempts, one repair turn with the validation error, the fallback
//! model once with the same rules, the static response, the error port. A prompt that governance denies is not asked of any
//! model; `on_denied` says who takes the denial.

mod answer_validator;
mod arguments;
mod cache_work;
mod context;
mod conversation;
mod digest;
mod evidence;
mod gate;
mod question;
mod sent_requests;
mod spans;
mod turn;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use async_trait::async_trait;
use stave_canon::Value;
use stave_diag::codes::run as codes;
use stave_vocabulary::OnDenied;

use self::arguments::{Arguments, Trigger};
use self::question::Question;
use super::{Step, StepOutput, registry};
use crate::run::Call;
use crate::{Failure, failure::FailureKind};

#[derive(Debug)]
pub(super) struct LlmChat;

#[async_trait]
impl Step for LlmChat {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let arguments = Arguments::read(call)?;
        let answer = answer(call, &arguments).await?;
        match &arguments.transform {
            None => Ok(StepOutput::Whole(answer)),
            Some((kind, with)) => {
                let step: Arc<dyn Step> = registry(kind).ok_or_else(|| {
                    let message =
                        format!("the transform is a `{kind}` step, which this runtime does not have");
                    Failure::new(codes::UNKNOWN_STEP_KIND, FailureKind::Configuration, message)
                })?;
                step.execute(&Call { with, prompt_output: Some(&answer), ..*call }).await
            }
        }
    }
}

/// The model's answer, or that of its fallback.
async fn answer(call: &Call<'_>, arguments: &Arguments) -> Result<Value, Failure> {
    match ask(call, arguments).await {
        // No other model is asked what governance denied.
        Err(failure)
            if failure.code == codes::PROMPT_REFUSED && arguments.on_denied == OnDenied::Fallback =>
        {
            call.run.report(call.index, |report| report.degraded = true);
            answer_validator::static_response(call, arguments).unwrap_or(Err(failure))
        }
        answered => answered,
    }
}

/// The answer of the model, of the fallback model, or the static response.
async fn ask(call: &Call<'_>, arguments: &Arguments) -> Result<Value, Failure> {
    let question = Question::prepare(call, arguments).await?;
    let (retries, rounds) = (call.node.part_policy().retries, AtomicUsize::new(0));
    let asked = conversation::converse(call, arguments, &question, &arguments.model, retries, &rounds).await;
    let failure = match asked {
        Ok(answer) => return Ok(answer),
        Err(failure) => failure,
    };
    let Some(fallback) =
        arguments.fallback.as_ref().filter(|fallback| fallback.on.contains(&trigger(&failure)))
    else {
        return Err(failure);
    };
    // What a rule or the budget forbids stays forbidden, whichever model would be asked; so does what a person
    // has yet to decide.
    if failure.is_pause() || matches!(failure.kind, FailureKind::Refused | FailureKind::Budget) {
        return Err(failure);
    }
    call.run.report(call.index, |report| report.degraded = true);
    if let Some(model) = &fallback.model {
        match conversation::converse(call, arguments, &question, model, 0, &rounds).await {
            Ok(answer) => return Ok(answer),
            Err(failure) if failure.is_pause() => return Err(failure),
            Err(_) => {}
        }
    }
    answer_validator::static_response(call, arguments).unwrap_or(Err(failure))
}

fn trigger(failure: &Failure) -> Trigger {
    match failure.kind {
        FailureKind::Timeout => Trigger::Timeout,
        FailureKind::Validation => Trigger::ValidationFail,
        _ => Trigger::Error,
    }
}
