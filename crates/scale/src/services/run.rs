//! A run: the workflow that drives its graph, and what can be asked of it meanwhile.

use std::sync::Arc;

use restate_sdk::prelude::*;
use stave_canon::Value;
use stave_runtime::journal::codec;

use super::driver::{self, ASKED, CANCEL, REST, TURN};
use crate::body::Body;
use crate::messages::question_of;
use crate::worker::Shared;

#[derive(Debug)]
pub(crate) struct RunWorkflow(pub(crate) Arc<Shared>);

#[restate_sdk::workflow(name = "StaveRun")]
impl RunWorkflow {
    /// Drives the run to its end and gives its report.
    #[handler(lazy_state)]
    async fn run(&self, ctx: WorkflowContext<'_>, start: Body) -> Result<Body, HandlerError> {
        driver::drive(&self.0, &ctx, &start.0).await.map(Body)
    }

    /// The report of the run at one of its rests: at its end, or when it waits for a person. Rests are numbered.
    #[handler]
    async fn settled(&self, ctx: SharedWorkflowContext<'_>, rest: Body) -> Result<Body, HandlerError> {
        let rest = format!("{REST}{}", rest.0);
        Ok(ctx.promise::<Body>(&rest).await?)
    }

    /// Asks the run to end.
    #[handler]
    async fn cancel(&self, ctx: SharedWorkflowContext<'_>, _wish: Body) -> Result<Body, HandlerError> {
        if ctx.peek_promise::<Body>(CANCEL).await?.is_none() {
            ctx.resolve_promise(CANCEL, Body(Value::Null));
        }
        Ok(Body(Value::Null))
    }

    /// It is the turn of the run to change what its session remembers.
    #[handler]
    async fn turn(&self, ctx: SharedWorkflowContext<'_>, _turn: Body) -> Result<Body, HandlerError> {
        if ctx.peek_promise::<Body>(TURN).await?.is_none() {
            ctx.resolve_promise(TURN, Body(Value::Null));
        }
        Ok(Body(Value::Null))
    }

    /// Hands a person's decision to the step that waits for it, and says whether there is one.
    #[handler]
    async fn decide(&self, ctx: SharedWorkflowContext<'_>, asked: Body) -> Result<Body, HandlerError> {
        let node = asked.0.get("node").and_then(Value::as_str).unwrap_or_default();
        let decision = asked.0.get("decision").cloned().unwrap_or_default();
        let waiting = format!("{ASKED}{node}");
        let waiting = ctx.get::<Body>(&waiting).await?.unwrap_or(Body(Value::Null));
        let text = |key: &str| waiting.0.get(key).and_then(Value::as_str);
        let question = text("question").and_then(|question| question_of(question).ok());
        let decided = decision.as_str().and_then(|decision| codec::decode_decision(decision).ok());
        // The question may have changed since it was read.
        let is_about_it = question
            .zip(decided)
            .is_some_and(|(question, decided)| decided.digest.as_ref() == Some(&question.digest));
        let awakeable = text("awakeable").filter(|_| is_about_it);
        if let Some(awakeable) = awakeable {
            ctx.resolve_awakeable(awakeable, Body(decision));
        }
        Ok(Body(awakeable.is_some().into()))
    }
}
