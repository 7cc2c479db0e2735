//! The flow files of the projects: listed, read, and written when they are what they were.

use std::collections::BTreeSet;
use std::sync::Arc;

use hyper::StatusCode;
use stave_canon::prefixed_sha256;
use stave_diag::{Severity, SourceId};
use stave_flow::model::Text;

use super::Studio;
use super::request::{TEXT_TIME, bounded, flow_name, is_seen, problem, visible};
use crate::api::{FileText, FlowFile, FlowFiles, WriteFile, WrittenFile};
use crate::handlers::Call;
use crate::problem::Problem;

pub(super) async fn list(call: &Call<'_>, studio: &Studio) -> Result<FlowFiles, Problem> {
    let workspace = Arc::clone(&studio.workspace);
    let (catalog, principal) = (call.shared.catalog(), call.principal.clone());
    let files = studio.work(&call.principal, TEXT_TIME, move || {
        let projects = workspace.projects();
        let unserved: Vec<(String, String)> = catalog
            .unserved(&principal)
            .filter_map(|one| Some((workspace.path_of(&one.file)?, one.reason.clone())))
            .collect();
        let seen = |id: &str| projects.iter().find(|one| one.id == id && principal.may_see(&one.tenant));
        let files = workspace.files().into_iter().filter_map(|file| {
            let project = seen(&file.project)?;
            let text = workspace.read(&file.path).ok()?;
            if !is_seen(&text, &project.tenant, &principal) {
                return None;
            }
            let read = stave_flow::load(SourceId(0), &text, &workspace.options(Some(&file.path)));
            let count =
                |severity| read.diagnostics.iter().filter(|found| found.severity == severity).count() as u64;
            let metadata = read.flow.as_ref().map(|flow| &flow.metadata);
            let name = metadata.and_then(|metadata| metadata.name.as_ref()).map(Text::as_str);
            let about = metadata.and_then(|metadata| metadata.description.as_ref()).map(Text::as_str);
            let served = name.filter(|name| catalog.find(&principal, name).is_ok());
            let reason =
                unserved.iter().find(|(path, _)| *path == file.path).map(|(_, reason)| reason.clone());
            Some(FlowFile {
                path: file.path,
                project: file.project,
                name: name.map(str::to_owned).into(),
                description: about.map(str::to_owned).into(),
                bytes: text.len() as u64,
                hash: prefixed_sha256(&text),
                errors: count(Severity::Error),
                warnings: count(Severity::Warning),
                served: served.map(str::to_owned).into(),
                not_served: reason.into(),
            })
        });
        files.collect::<Vec<FlowFile>>()
    });
    Ok(FlowFiles { files: files.await? })
}

pub(super) async fn read(call: &Call<'_>, studio: &Studio) -> Result<FileText, Problem> {
    let path = call.parameter("path").ok_or_else(|| Problem::bad_request("`path` must name a flow file"))?;
    visible(path, &call.principal, studio).await?;
    let (workspace, file) = (Arc::clone(&studio.workspace), path.to_owned());
    let text = studio.work(&call.principal, TEXT_TIME, move || workspace.read(&file)).await?;
    let text = text.map_err(|error| problem(&error, None))?;
    let hash = prefixed_sha256(&text);
    Ok(FileText { path: path.to_owned(), text, hash })
}

pub(super) async fn write(call: Call<'_>, studio: &Studio) -> Result<WrittenFile, Problem> {
    let (shared, principal) = (Arc::clone(call.shared), call.principal.clone());
    let (_, WriteFile { path, text: content, hash }) = call.typed().await?;
    visible(&path, &principal, studio).await?;
    bounded(&content)?;
    if studio.is_read_only {
        let detail = "this studio only looks at files";
        return Err(Problem::new(StatusCode::FORBIDDEN, "read-only", detail));
    }
    let workspace = Arc::clone(&studio.workspace);
    let file = path.clone();
    let writer = principal.clone();
    let written = studio.work(&principal, TEXT_TIME, move || {
        let name = flow_name(&content);
        // A key for some flows makes no other of them.
        if writer.flows().is_some_and(|flows| !name.as_ref().is_some_and(|name| flows.contains(name))) {
            let detail = "this key is for some flows only, and the text does not name one of them";
            return Err(Problem::new(StatusCode::FORBIDDEN, "role-missing", detail));
        }
        if let Some(flows) = writer.flows() {
            let before = workspace.read(&file).ok().and_then(|text| service_of(&text));
            keeps_service(before.as_deref(), service_of(&content).as_deref(), flows)?;
        }
        workspace.write(&file, &content, hash.0.as_deref()).map_err(|error| problem(&error, None))?;
        Ok((prefixed_sha256(&content), name))
    });
    let (hash, name) = written.await??;
    let served = name.filter(|name| shared.catalog().find(&principal, name).is_ok());
    Ok(WrittenFile { path, hash, served: served.into() })
}

/// The service name of the flow in a text, by which clients ask for it too.
fn service_of(text: &str) -> Option<String> {
    let flow = stave_flow::parse(SourceId(0), text).flow?;
    let named =
        flow.deployment.as_ref().and_then(|deployment| deployment.kserve.as_ref()?.service_name.as_ref());
    let name = named.or(flow.metadata.name.as_ref())?;
    Some(stave_flow::check::service_label(name.as_str()))
}

/// Refuses that a key for some flows takes a name by which another flow may be asked for. Whether one is, is not told.
fn keeps_service(before: Option<&str>, after: Option<&str>, flows: &BTreeSet<String>) -> Result<(), Problem> {
    let is_own = |name: &str| flows.iter().any(|flow| stave_flow::check::service_label(flow) == name);
    if before == after || after.is_none_or(is_own) {
        return Ok(());
    }
    let detail = "this key is for some flows only and changes no `service_name`, by which other flows may be asked for";
    Err(Problem::new(StatusCode::FORBIDDEN, "role-missing", detail))
}
