//! The Open Inference Protocol, the second of KServe.

use hyper::StatusCode;
use stave_canon::{Object, Value};
use stave_runtime::RunReport;

use super::Call;
use super::v1::{models, readiness, waiting};
use crate::batch::{output, waits_at};
use crate::catalog::Model;
use crate::context::{fill, trace_parent};
use crate::message::{Reply, json, json_of_run};
use crate::problem::Problem;
use crate::start::start_name;
use crate::tensor;

pub(super) fn list(call: &Call<'_>) -> Reply {
    models(call)
}

pub(super) fn show(call: &Call<'_>, name: &str) -> Result<Reply, Problem> {
    let model = call.shared.catalog().find(&call.principal, name)?;
    let fields: Vec<&str> = model.fields().collect();
    let tensor = |name: &str| -> Value {
        let tensor = Value::from_iter([
            ("name", Value::from(name)),
            ("datatype", "BYTES".into()),
            ("shape", vec![-1_i64].into()),
        ]);
        Value::Array(vec![tensor])
    };
    Ok(json(
        StatusCode::OK,
        &Value::from_iter([
            ("name", Value::from(model.name.as_str())),
            ("versions", vec![model.version.as_str()].into()),
            ("platform", "stave".into()),
            ("inputs", tensor(tensor::request_name(&fields))),
            ("outputs", tensor(tensor::OUTPUT)),
        ]),
    ))
}

pub(super) fn ready(call: &Call<'_>, name: &str) -> Result<Reply, Problem> {
    let model = call.shared.catalog().find(&call.principal, name)?;
    let (is_ready, members) = readiness(call, &model);
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(json(status, &Value::from_iter(members)))
}

pub(super) async fn infer(call: Call<'_>, name: &str) -> Result<Reply, Problem> {
    let shared = call.shared;
    let model = shared.catalog().find(&call.principal, name)?;
    let principal = call.principal.clone();
    let (headers, body) = call.json().await?;
    let name = start_name(&headers, None, &principal)?;
    let fields: Vec<&str> = model.fields().collect();
    let requests = tensor::requests(&body, &fields, shared.limits().batch)?;
    let requests: Vec<Value> =
        requests.into_iter().map(|request| fill(request, &model.context, &headers)).collect();
    let outcomes = shared.run_all(&model, requests, trace_parent(&headers), name.as_ref()).await?;
    // A sole request that failed is answered with its own status.
    if let [outcome] = outcomes.as_slice() {
        let report = outcome.as_ref().map_err(Clone::clone)?;
        if let Some(node) = waits_at(report) {
            return Ok(waiting(report, node));
        }
        let text = output(report)?.to_string();
        let answer = answer(&model, &body, vec![text], std::slice::from_ref(outcome));
        return Ok(json_of_run(StatusCode::OK, &answer, &report.run_id));
    }
    let texts = outcomes.iter().map(|outcome| {
        let output = outcome.as_ref().map_err(Clone::clone).and_then(output);
        output.map_or_else(
            |problem| Value::from_iter([("error", problem.to_value())]).to_string(),
            ToString::to_string,
        )
    });
    let texts = texts.collect();
    Ok(json(StatusCode::OK, &answer(&model, &body, texts, &outcomes)))
}

fn answer(model: &Model, body: &Value, texts: Vec<String>, outcomes: &[Result<RunReport, Problem>]) -> Value {
    let mut answer = Object::new();
    answer.insert("model_name".into(), model.name.as_str().into());
    answer.insert("model_version".into(), model.version.as_str().into());
    if let Some(id) = body.get("id").filter(|id| id.as_str().is_some()) {
        answer.insert("id".into(), id.clone());
    }
    let failed = outcomes.iter().filter(|outcome| outcome.as_ref().is_err() || is_failed(outcome)).count();
    let runs: Vec<&str> =
        outcomes.iter().filter_map(|outcome| Some(outcome.as_ref().ok()?.run_id.as_str())).collect();
    let parameters = [("run_ids", Value::from(runs.join(","))), ("failed", failed.into())];
    answer.insert("parameters".into(), Value::from_iter(parameters));
    answer.insert("outputs".into(), tensor::outputs(texts));
    answer.into()
}

fn is_failed(outcome: &Result<RunReport, Problem>) -> bool {
    outcome.as_ref().is_ok_and(|report| report.result.is_err())
}
