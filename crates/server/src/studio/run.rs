//! Runs of a file or of a text that is not saved yet, through the same engine and journal as every run.
//!
//! Invariant: a key without the role `edit` runs what the server serves and nothing else. A file of the project that is
//! not served, or that has changed since it was served, counts as a text of its author.

use std::sync::Arc;

use hyper::StatusCode;
use stave_canon::{Object, Value, prefixed_sha256};

use super::Studio;
use super::request::{TEXT_TIME, TextCall, problem};
use crate::api::StartedRun;
use crate::api::run_view_types::RunText;
use crate::context::{fill, trace_parent};
use crate::handlers::Call;
use crate::message::{Reply, typed_of_run};
use crate::problem::Problem;
use crate::roles::Role;
use crate::start::{once_each, once_of_text, start_name};

pub(super) async fn start(call: Call<'_>, studio: &Studio) -> Result<Reply, Problem> {
    let (shared, headers, principal) =
        (Arc::clone(call.shared), call.headers.clone(), call.principal.clone());
    let (call, path) = TextCall::<RunText>::read_or_file(call, studio).await?;
    let is_saved = call.is_saved;
    if !is_saved && studio.is_read_only {
        let detail = "this studio changes nothing, so it runs files as they are and no other text";
        return Err(Problem::new(StatusCode::FORBIDDEN, "read-only", detail));
    }
    let may_edit_some = || if principal.has(Role::Edit) { Ok(()) } else { principal.needs(Role::Edit, "") };
    if !is_saved {
        may_edit_some()?;
    }
    let name = start_name(&headers, None, &principal)?;
    let text = prefixed_sha256(&call.text);
    let input = call.body.input.clone().unwrap_or_else(|| Value::Object(Object::new()));
    let workspace = Arc::clone(&studio.workspace);
    let runtime = tokio::runtime::Handle::current();
    let made = studio.work(&principal, TEXT_TIME, move || {
        // Clients are made inside the asynchronous runtime.
        let _inside = runtime.enter();
        workspace.model(&path, &call.text).map_err(|error| problem(&error, Some(&call.text)))
    });
    let model = match made.await? {
        Ok(model) => model,
        // What cannot be made is not served as it is, and its findings are for those who may fix it.
        Err(problem) => {
            may_edit_some()?;
            return Err(problem);
        }
    };
    if !principal.sees(&model.archive.tenant, &model.name) {
        return Err(Problem::not_found("flow", &model.name));
    }
    let is_served = is_saved && shared.catalog().serves(&model);
    if !is_served {
        principal.needs(Role::Edit, &model.name)?;
    }
    let request = fill(input, &model.context, &headers);
    let once = match is_served {
        true => once_each(name.as_ref(), &model, std::slice::from_ref(&request))?.pop().flatten(),
        // The text is part of what is asked for.
        false => once_of_text(name.as_ref(), &model, &request, text),
    };
    let started = shared.start_once(&model, request, trace_parent(&headers), once).await?;
    let body =
        StartedRun { run_id: started.run_id.clone(), flow: model.name.clone(), status: started.status() };
    Ok(typed_of_run(StatusCode::ACCEPTED, &body, &started.run_id))
}
