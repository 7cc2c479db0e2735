//! The turns of a session of a flow: the runs that may change what it remembers, one after the other.

use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use stave_canon::Value;

use crate::body::Body;
use crate::keys::RUN;

#[derive(Debug)]
pub(crate) struct SessionObject;

#[restate_sdk::object(name = "StaveSession")]
impl SessionObject {
    /// Lets a run have its turn, which ends with the run. Restate does one turn of a session after the other, in
    /// the order in which they came.
    #[handler]
    async fn turn(&self, ctx: ObjectContext<'_>, asked: Body) -> Result<(), HandlerError> {
        let text = |key: &str| asked.0.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (run, invocation) = (text("run"), text("invocation"));
        let turn = RequestTarget::workflow(RUN, run, "turn");
        ctx.request::<Body, Body>(turn, Body(Value::Null)).call().await?;
        // However the run ends, the turn is over.
        let _ = ctx.invocation_handle(invocation).attach::<Body>().await;
        Ok(())
    }
}
