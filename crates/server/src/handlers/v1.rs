//! KServe's first protocol: one object is one run, `instances` are a batch.

use hyper::StatusCode;
use stave_canon::Value;
use stave_runtime::RunReport;
use stave_runtime::journal::RunStatus;

use super::Call;
use crate::api::{ModelReadiness, Models, UnservedFile, WaitingRun, open_questions};
use crate::batch::{output, waits_at};
use crate::catalog::{ServedFlow, Unserved};
use crate::context::{fill, trace_parent};
use crate::message::{Reply, json, json_of_run, typed, typed_of_run};
use crate::problem::Problem;
use crate::start::{once_each, start_name};

const INSTANCES: &str = "instances";

/// The names of the flows, and the files that are not served as they are.
pub(super) fn models(call: &Call<'_>) -> Reply {
    let catalog = call.shared.catalog();
    let unserved: Vec<UnservedFile> = catalog.unserved(&call.principal).map(Unserved::shown).collect();
    let models = Models {
        models: catalog.seen(&call.principal).map(|model| model.name.clone()).collect(),
        not_served: Some(unserved).filter(|unserved| !unserved.is_empty()),
    };
    typed(StatusCode::OK, &models)
}

/// Whether a flow can be run, and why not.
pub(super) fn readiness(call: &Call<'_>, model: &ServedFlow) -> ModelReadiness {
    let reason = call.shared.unready().into_iter().next().or_else(|| model.unready.clone());
    ModelReadiness { name: model.name.clone(), ready: reason.is_none(), reason }
}

pub(super) fn show(call: &Call<'_>, name: &str) -> Result<Reply, Problem> {
    let model = call.shared.catalog().find(&call.principal, name)?;
    Ok(typed(StatusCode::OK, &readiness(call, &model)))
}

pub(super) async fn predict(call: Call<'_>, name: &str) -> Result<Reply, Problem> {
    let shared = call.shared;
    let model = shared.catalog().find(&call.principal, name)?;
    let principal = call.principal.clone();
    let (headers, body) = call.json().await?;
    let name = start_name(&headers, None, &principal)?;
    let filled = |request| fill(request, &model.context, &headers);
    if let Some(instances) = instances(&model, &body) {
        let requests = instances.iter().cloned().map(filled).collect();
        let outcomes = shared.run_all(&model, requests, trace_parent(&headers), name.as_ref()).await?;
        let predictions: Vec<Value> = outcomes.iter().map(prediction).collect();
        return Ok(json(StatusCode::OK, &Value::from_iter([("predictions", predictions)])));
    }
    let request = filled(body);
    let once = once_each(name.as_ref(), &model, std::slice::from_ref(&request))?.pop().flatten();
    let report = shared.run(&model, request, trace_parent(&headers), once).await?;
    match waits_at(&report) {
        Some(node) => waiting(&model, &report, node).await,
        None => Ok(json_of_run(StatusCode::OK, output(&report)?, &report.run_id)),
    }
}

/// The requests of a batch. A flow that has a field of this name takes the object as it is.
fn instances<'b>(model: &ServedFlow, body: &'b Value) -> Option<&'b [Value]> {
    let is_field = model.fields().any(|field| field == INSTANCES);
    body.get(INSTANCES).filter(|_| !is_field).and_then(Value::as_array)
}

/// A run of a batch: its output, or an object with its problem.
fn prediction(outcome: &Result<RunReport, Problem>) -> Value {
    let output = outcome.as_ref().map_err(Clone::clone).and_then(output);
    output.map_or_else(|problem| Value::from_iter([("error", problem.to_value())]), Clone::clone)
}

/// A run that waits for a person is no failure: it was taken, and continues after the decision.
pub(super) async fn waiting(model: &ServedFlow, report: &RunReport, node: &str) -> Result<Reply, Problem> {
    let run = report.run_id.as_str();
    let stored = model.archive.runs.show(run).await;
    let stored = stored.map_err(|error| Problem::journal(&error).of_run(run))?;
    let nodes = open_questions(&stored).into_iter().map(|question| question.node).collect();
    let (run_id, node) = (run.to_owned(), node.to_owned());
    let waiting = WaitingRun { run_id, status: RunStatus::Waiting, node, nodes };
    Ok(typed_of_run(StatusCode::ACCEPTED, &waiting, run))
}
