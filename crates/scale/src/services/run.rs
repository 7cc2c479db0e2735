//! A run: the workflow that drives its graph, and what can be asked of it meanwhile.

use std::sync::Arc;

use restate_sdk::prelude::*;
use stave_canon::Value;

use super::driver::{self, ASKED, CANCEL, REST, TURN};
use crate::body::Body;
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

    /// The report of the run when it comes to rest: at its end, or when it waits for a person for the so-and-so-manieth
    /// time.
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
        let waiting = ctx.get::<Body>(&waiting).await?;
        let awakeable = waiting.as_ref().and_then(|waiting| waiting.0.as_str());
        if let Some(awakeable) = awakeable {
            ctx.resolve_awakeable(awakeable, Body(decision));
        }
        Ok(Body(awakeable.is_some().into()))
    }
}
