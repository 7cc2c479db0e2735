//! Several requests to one flow, run side by side and answered in order.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use hyper::StatusCode;
use stave_canon::Value;
use stave_runtime::run_identity::StartName;
use stave_runtime::trace::TraceParent;
use stave_runtime::{FailureKind, RunReport};

use crate::catalog::ServedFlow;
use crate::problem::Problem;
use crate::server::Shared;
use crate::start::{Once, once_each};

/// How many requests of one batch run side by side, so that one client leaves room for the others.
const SIDE_BY_SIDE: usize = 16;

impl Shared {
    /// One request from its beginning to its end.
    pub(crate) async fn run(
        self: &Arc<Self>,
        model: &Arc<ServedFlow>,
        request: Value,
        parent: Option<TraceParent>,
        once: Option<Once>,
    ) -> Result<RunReport, Problem> {
        let started = self.start_once(model, request, parent, once).await?;
        self.wait(&model.archive, started).await
    }

    /// Each request of a batch on its own: one that fails leaves the others as they are.
    pub(crate) async fn run_all(
        self: &Arc<Self>,
        model: &Arc<ServedFlow>,
        requests: Vec<Value>,
        parent: Option<TraceParent>,
        name: Option<&StartName>,
    ) -> Result<Vec<Result<RunReport, Problem>>, Problem> {
        let most = self.limits().batch;
        if requests.len() > most {
            let detail =
                format!("{} requests are more than the {most} that a batch may have", requests.len());
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "batch-too-large", detail));
        }
        let mut starts = requests.iter().cloned().zip(once_each(name, model, &requests)?);
        let mut runs: Vec<BoxFuture<'_, Result<RunReport, Problem>>> = Vec::with_capacity(requests.len());
        // The first start of a named batch says whether the batch is new, known or another one. Until then nothing of
        // it begins.
        if name.is_some()
            && let Some((request, once)) = starts.next()
        {
            let started = self.start_once(model, request, parent, once).await?;
            runs.push(Box::pin(self.wait(&model.archive, started)));
        }
        for (request, once) in starts {
            runs.push(Box::pin(self.run(model, request, parent, once)));
        }
        Ok(stream::iter(runs).buffered(SIDE_BY_SIDE).collect().await)
    }
}

/// The output of a run, or why it has none.
pub(crate) fn output(report: &RunReport) -> Result<&Value, Problem> {
    report.result.as_ref().map_err(|failed| Problem::failed(&report.run_id, failed))
}

/// Whether a run waits for a person, and at which node.
pub(crate) fn waits_at(report: &RunReport) -> Option<&str> {
    match &report.result {
        Err(failed) if failed.failure.kind == FailureKind::Waiting => {
            Some(failed.node.as_deref().unwrap_or_default())
        }
        _ => None,
    }
}
