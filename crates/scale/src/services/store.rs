//! A value that is kept by its hash.

use bytes::Bytes;
use restate_sdk::prelude::*;

#[derive(Debug)]
pub(crate) struct StoreObject;

const VALUE: &str = "value";

#[restate_sdk::object(name = "StaveStore")]
impl StoreObject {
    /// Keeps a value.
    #[handler]
    async fn put(&self, ctx: ObjectContext<'_>, value: Bytes) -> Result<(), HandlerError> {
        ctx.set(VALUE, value);
        Ok(())
    }

    /// The value.
    #[handler]
    async fn get(&self, ctx: SharedObjectContext<'_>) -> Result<Bytes, HandlerError> {
        let value = ctx.get::<Bytes>(VALUE).await?;
        value.ok_or_else(|| TerminalError::new_with_code(404, "nothing is kept under this hash").into())
    }

    /// Forgets it.
    #[handler]
    async fn forget(&self, ctx: ObjectContext<'_>) -> Result<(), HandlerError> {
        ctx.clear_all();
        Ok(())
    }
}
