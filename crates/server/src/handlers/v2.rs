//! The Open Inference Protocol, the second of KServe.

use hyper::StatusCode;
use stave_canon::Value;
use stave_runtime::RunReport;

use super::Call;
use super::v1::{readiness, waiting};
use crate::api::{InferParameters, InferRequest, InferResponse, ModelMetadata, TensorMetadata};
use crate::batch::{output, waits_at};
use crate::catalog::ServedFlow;
use crate::context::{fill, trace_parent};
use crate::message::{Reply, typed, typed_of_run};
use crate::problem::Problem;
use crate::start::start_name;
use crate::tensor;

pub(super) fn show(call: &Call<'_>, name: &str) -> Result<Reply, Problem> {
    let model = call.shared.catalog().find(&call.principal, name)?;
    let fields: Vec<&str> = model.fields().collect();
    let tensor = |name: &str| {
        vec![TensorMetadata { name: name.to_owned(), datatype: "BYTES".to_owned(), shape: vec![-1] }]
    };
    let metadata = ModelMetadata {
        name: model.name.clone(),
        versions: vec![model.version.clone()],
        platform: "stave".to_owned(),
        inputs: tensor(tensor::request_name(&fields)),
        outputs: tensor(tensor::OUTPUT),
    };
    Ok(typed(StatusCode::OK, &metadata))
}

pub(super) fn ready(call: &Call<'_>, name: &str) -> Result<Reply, Problem> {
    let model = call.shared.catalog().find(&call.principal, name)?;
    let readiness = readiness(call, &model);
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(typed(status, &readiness))
}

pub(super) async fn infer(call: Call<'_>, name: &str) -> Result<Reply, Problem> {
    let shared = call.shared;
    let model = shared.catalog().find(&call.principal, name)?;
    let principal = call.principal.clone();
    let (headers, body) = call.json().await?;
    let name = start_name(&headers, None, &principal)?;
    let fields: Vec<&str> = model.fields().collect();
    let InferRequest { id, inputs } = tensor::read(&body)?;
    drop(body);
    let requests = tensor::requests(&inputs, &fields, shared.limits().batch)?;
    let requests: Vec<Value> =
        requests.into_iter().map(|request| fill(request, &model.context, &headers)).collect();
    let outcomes = shared.run_all(&model, requests, trace_parent(&headers), name.as_ref()).await?;
    // A sole request that failed is answered with its own status.
    if let [outcome] = outcomes.as_slice() {
        let report = outcome.as_ref().map_err(Clone::clone)?;
        if let Some(node) = waits_at(report) {
            return waiting(&model, report, node).await;
        }
        let text = output(report)?.to_string();
        let answer = answer(&model, id, vec![text], std::slice::from_ref(outcome));
        return Ok(typed_of_run(StatusCode::OK, &answer, &report.run_id));
    }
    let texts = outcomes.iter().map(|outcome| {
        let output = outcome.as_ref().map_err(Clone::clone).and_then(output);
        output.map_or_else(
            |problem| Value::from_iter([("error", problem.to_value())]).to_string(),
            ToString::to_string,
        )
    });
    let texts = texts.collect();
    Ok(typed(StatusCode::OK, &answer(&model, id, texts, &outcomes)))
}

fn answer(
    model: &ServedFlow,
    id: Option<String>,
    texts: Vec<String>,
    outcomes: &[Result<RunReport, Problem>],
) -> InferResponse {
    let failed = outcomes.iter().filter(|outcome| outcome.as_ref().is_err() || is_failed(outcome)).count();
    let runs: Vec<&str> =
        outcomes.iter().filter_map(|outcome| Some(outcome.as_ref().ok()?.run_id.as_str())).collect();
    InferResponse {
        model_name: model.name.clone(),
        model_version: model.version.clone(),
        id,
        parameters: InferParameters { run_ids: runs.join(","), failed: failed as u64 },
        outputs: vec![tensor::output(texts)],
    }
}

fn is_failed(outcome: &Result<RunReport, Problem>) -> bool {
    outcome.as_ref().is_ok_and(|report| report.result.is_err())
}
