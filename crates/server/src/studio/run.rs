//! Runs of a file or of a text that is not saved yet, through the same engine and journal as every run.

use std::sync::Arc;

use hyper::StatusCode;
use stave_canon::{Object, Value};

use super::Studio;
use super::request::{TEXT_TIME, TextCall, problem};
use crate::api::StartedRun;
use crate::api::run_view_types::RunText;
use crate::context::{fill, trace_parent};
use crate::handlers::Call;
use crate::message::{Reply, typed_of_run};
use crate::problem::Problem;
use crate::roles::Role;

pub(super) async fn start(call: Call<'_>, studio: &Studio) -> Result<Reply, Problem> {
    let (shared, headers, principal) =
        (Arc::clone(call.shared), call.headers.clone(), call.principal.clone());
    let (call, path) = TextCall::<RunText>::read_or_file(call, studio).await?;
    let is_saved = call.is_saved;
    if !is_saved && studio.is_read_only {
        let detail = "this studio changes nothing, so it runs files as they are and no other text";
        return Err(Problem::new(StatusCode::FORBIDDEN, "read-only", detail));
    }
    if !is_saved && !principal.has(Role::Edit) {
        principal.needs(Role::Edit, "")?;
    }
    let input = call.body.input.clone().unwrap_or_else(|| Value::Object(Object::new()));
    let workspace = Arc::clone(&studio.workspace);
    let runtime = tokio::runtime::Handle::current();
    let made = studio.work(&principal, TEXT_TIME, move || {
        // Clients are made inside the asynchronous runtime.
        let _inside = runtime.enter();
        workspace.model(&path, &call.text).map_err(|error| problem(&error, Some(&call.text)))
    });
    let model = made.await??;
    if !principal.sees(&model.archive.tenant, &model.name) {
        return Err(Problem::not_found("flow", &model.name));
    }
    if !is_saved {
        principal.needs(Role::Edit, &model.name)?;
    }
    let request = fill(input, &model.context, &headers);
    let started = shared.start(&model, request, trace_parent(&headers)).await?;
    let body =
        StartedRun { run_id: started.run_id.clone(), flow: model.name.clone(), status: started.status() };
    Ok(typed_of_run(StatusCode::ACCEPTED, &body, &started.run_id))
}
