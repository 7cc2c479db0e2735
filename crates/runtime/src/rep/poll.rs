//! `Runtime.Poll`: reports the progress of a run. The reply waits a while for news.

use std::time::Duration;

use futures_util::future::BoxFuture;
use stave_canon::{Object, Value};
use tokio::time::timeout;

use super::fault::Fault;
use super::runs::Runs;

/// How long a reply waits for news. Peers give up on a reply after five seconds.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

pub(super) fn poll<'h>(runs: &Runs, params: &Object) -> Result<BoxFuture<'h, Value>, Fault> {
    let id = super::run_id(params)?;
    let Some(run) = runs.get(id) else {
        let fault = Fault::schema(format!("there is no run `{id}`"), Value::Null);
        let summary = Value::from_iter([("run_id", Value::from(id)), ("error", fault.to_value())]);
        let unknown = Value::from_iter([
            ("status", Value::from("failed")),
            ("events", Value::Array(Vec::new())),
            ("summary", summary),
        ]);
        return Ok(Box::pin(std::future::ready(unknown)));
    };
    Ok(Box::pin(async move {
        let mut changes = run.changes();
        let news = async { while !run.has_news() && changes.changed().await.is_ok() {} };
        // Without news in time the answer says that there is none.
        let _ = timeout(LONGEST_WAIT, news).await;
        run.tell()
    }))
}
