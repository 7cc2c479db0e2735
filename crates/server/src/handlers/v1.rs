//! KServe's first protocol: one object is one run, `instances` are a batch.

use hyper::StatusCode;
use stave_canon::{Object, Value};
use stave_runtime::RunReport;

use super::Call;
use crate::batch::{output, waits_at};
use crate::catalog::{Model, Unserved};
use crate::context::{fill, trace_parent};
use crate::message::{Reply, json, json_of_run};
use crate::problem::Problem;
use crate::start::{once_each, start_name};

const INSTANCES: &str = "instances";

pub(super) fn list(call: &Call<'_>) -> Reply {
    models(call)
}

/// The names of the flows, and the files that are not served as they are.
pub(super) fn models(call: &Call<'_>) -> Reply {
    let catalog = call.shared.catalog();
    let names: Vec<&str> = catalog.seen(&call.principal).map(|model| model.name.as_str()).collect();
    let mut members = vec![("models", Value::from(names))];
    let unserved: Vec<Value> = catalog.unserved(&call.principal).map(Unserved::to_value).collect();
    if !unserved.is_empty() {
        members.push(("not_served", unserved.into()));
    }
    json(StatusCode::OK, &Value::from_iter(members))
}

/// Whether a flow can be run, and why not.
pub(super) fn readiness(call: &Call<'_>, model: &Model) -> (bool, Vec<(&'static str, Value)>) {
    let reason = call.shared.unready().into_iter().next().or_else(|| model.unready.clone());
    let mut members = vec![("name", Value::from(model.name.as_str())), ("ready", reason.is_none().into())];
    let is_ready = reason.is_none();
    members.extend(reason.map(|reason| ("reason", reason.into())));
    (is_ready, members)
}

pub(super) fn show(call: &Call<'_>, name: &str) -> Result<Reply, Problem> {
    let model = call.shared.catalog().find(&call.principal, name)?;
    Ok(json(StatusCode::OK, &Value::from_iter(readiness(call, &model).1)))
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
        Some(node) => Ok(waiting(&report, node)),
        None => Ok(json_of_run(StatusCode::OK, output(&report)?, &report.run_id)),
    }
}

/// The requests of a batch. A flow that has a field of this name takes the object as it is.
fn instances<'b>(model: &Model, body: &'b Value) -> Option<&'b [Value]> {
    let is_field = model.fields().any(|field| field == INSTANCES);
    body.get(INSTANCES).filter(|_| !is_field).and_then(Value::as_array)
}

/// A run of a batch: its output, or an object with its problem.
fn prediction(outcome: &Result<RunReport, Problem>) -> Value {
    let output = outcome.as_ref().map_err(Clone::clone).and_then(output);
    output.map_or_else(|problem| Value::from_iter([("error", problem.to_value())]), Clone::clone)
}

/// A run that waits for a person is no failure: it was taken, and goes on after the decision.
pub(super) fn waiting(report: &RunReport, node: &str) -> Reply {
    let mut members = Object::new();
    members.insert("run_id".into(), report.run_id.as_str().into());
    members.insert("status".into(), "waiting".into());
    members.insert("node".into(), node.into());
    json_of_run(StatusCode::ACCEPTED, &members.into(), &report.run_id)
}
