//! The answers to the calls that a step has made, until it is done.

use restate_sdk::prelude::*;
use stave_canon::Value;
use stave_runtime::journal::codec;

use crate::body::Body;
use crate::error::ScaleError;
use crate::services::failed;

#[derive(Debug)]
pub(crate) struct CallsObject;

#[restate_sdk::object(name = "StaveCalls")]
impl CallsObject {
    /// Keeps an answer.
    #[handler]
    async fn put(&self, ctx: ObjectContext<'_>, call: Body) -> Result<Body, HandlerError> {
        let text = call.0.as_str().unwrap_or_default();
        let read =
            codec::decode_call(text).map_err(|error| failed(ScaleError::Damaged(error.to_string())))?;
        ctx.set(&format!("{}#{}", read.node, read.number), call);
        Ok(Body(Value::Null))
    }

    /// All of them.
    #[handler]
    async fn all(&self, ctx: SharedObjectContext<'_>) -> Result<Body, HandlerError> {
        let keys = ctx.get_keys().await?;
        let mut calls = Vec::with_capacity(keys.len());
        for key in &keys {
            calls.extend(ctx.get::<Body>(key).await?.map(|call| call.0));
        }
        Ok(Body(Value::Array(calls)))
    }

    /// Forgets them.
    #[handler]
    async fn forget(&self, ctx: ObjectContext<'_>) -> Result<(), HandlerError> {
        ctx.clear_all();
        Ok(())
    }
}
