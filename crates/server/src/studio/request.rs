//! What the calls of the page have in common: a text, perhaps a path, perhaps an offset.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use stave_canon::Value;
use stave_diag::SourceId;
use stave_flow::CheckOptions;

use super::findings::findings;
use super::places::Places;
use super::workspace::{Workspace, WorkspaceError};
use super::{Studio, object};
use crate::access::Principal;
use crate::handlers::Call;
use crate::problem::Problem;

/// The longest text that is worked on.
pub(super) const TEXT_BYTES: usize = 2 * 1024 * 1024;

/// How long the work on a text may take.
pub(super) const TEXT_TIME: Duration = Duration::from_secs(30);

/// A call about a text.
#[derive(Debug)]
pub(super) struct TextCall {
    /// Who calls.
    principal: Principal,
    pub(super) path: Option<String>,
    pub(super) text: String,
    pub(super) body: Value,
    /// Whether the text is what the file holds.
    pub(super) is_saved: bool,
}

impl TextCall {
    /// Reads a call whose text must be there.
    pub(super) async fn read(call: Call<'_>, studio: &Studio) -> Result<TextCall, Problem> {
        let principal = call.principal.clone();
        let (_, body) = call.json().await?;
        let path = path(&body, &principal, studio).await?;
        let text = text(&body)?.ok_or_else(|| Problem::bad_request("`text` must be the flow's text"))?;
        Ok(TextCall { principal, path, text, body, is_saved: false })
    }

    /// Reads a call whose text may be left out, and then is that of the file.
    pub(super) async fn read_or_file(call: Call<'_>, studio: &Studio) -> Result<(TextCall, String), Problem> {
        let principal = call.principal.clone();
        let (_, body) = call.json().await?;
        let path = path(&body, &principal, studio).await?;
        let path = path.ok_or_else(|| Problem::bad_request("`path` must name a flow file"))?;
        let (workspace, file) = (Arc::clone(&studio.workspace), path.clone());
        let saved = studio.work(&principal, TEXT_TIME, move || workspace.read(&file)).await?;
        let (text, is_saved) = match text(&body)? {
            Some(text) => {
                let is_saved = saved.is_ok_and(|saved| saved == text);
                (text, is_saved)
            }
            None => (saved.map_err(|error| problem(&error, None))?, true),
        };
        Ok((TextCall { principal, path: Some(path.clone()), text, body, is_saved }, path))
    }

    /// Works on the text where it holds up nobody.
    pub(super) async fn work<T: Send + 'static>(
        self,
        studio: &Studio,
        work: impl FnOnce(TextCall, CheckOptions, Arc<dyn Workspace>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (workspace, principal) = (Arc::clone(&studio.workspace), self.principal.clone());
        studio
            .work(&principal, TEXT_TIME, move || {
                let options = workspace.options(self.path.as_deref());
                work(self, options, workspace)
            })
            .await
    }

    /// The byte that `offset` names.
    pub(super) fn offset(&self, places: &Places) -> Result<usize, Problem> {
        let offset = self.body.get("offset").and_then(Value::as_i64).and_then(|at| u64::try_from(at).ok());
        let offset =
            offset.ok_or_else(|| Problem::bad_request("`offset` must be a whole number from 0 on"))?;
        Ok(places.byte(offset))
    }
}

/// The path that a call names, which must belong to a project that the principal may see.
async fn path(body: &Value, principal: &Principal, studio: &Studio) -> Result<Option<String>, Problem> {
    match body.get("path") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(path)) => {
            visible(path, principal, studio).await?;
            Ok(Some(path.clone()))
        }
        Some(_) => Err(Problem::bad_request("`path` must be a text")),
    }
}

/// Refuses a path of a project that is not the principal's, and a file of a flow that it is not for, as if it were
/// not there.
pub(super) async fn visible(path: &str, principal: &Principal, studio: &Studio) -> Result<(), Problem> {
    let missing = || Problem::not_found("flow file", path);
    let project = studio.workspace.project_of(path).filter(|project| principal.may_see(&project.tenant));
    let project = project.ok_or_else(missing)?;
    if principal.flows().is_none() {
        return Ok(());
    }
    let (workspace, file) = (Arc::clone(&studio.workspace), path.to_owned());
    let text =
        studio.work(principal, TEXT_TIME, move || workspace.read(&file)).await?.map_err(|_| missing())?;
    if is_seen(&text, &project.tenant, principal) { Ok(()) } else { Err(missing()) }
}

/// Whether a text is that of a flow that is there for a principal. One without a name is nobody's in particular.
pub(super) fn is_seen(text: &str, tenant: &str, principal: &Principal) -> bool {
    principal.flows().is_none() || flow_name(text).is_some_and(|name| principal.sees(tenant, &name))
}

/// The name that a text gives its flow.
pub(super) fn flow_name(text: &str) -> Option<String> {
    let name = stave_flow::parse(SourceId(0), text).flow?.metadata.name?;
    Some(name.as_str().to_owned())
}

fn text(body: &Value) -> Result<Option<String>, Problem> {
    match body.get("text") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() > TEXT_BYTES => {
            let detail = format!("the text is longer than {TEXT_BYTES} bytes");
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail))
        }
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Problem::bad_request("`text` must be a text")),
    }
}

/// What a workspace refuses, with findings in `text` when it names them.
pub(super) fn problem(error: &WorkspaceError, text: Option<&str>) -> Problem {
    let said = error.to_string();
    match error {
        WorkspaceError::NotFound(_) => Problem::new(StatusCode::NOT_FOUND, "not-found", said),
        WorkspaceError::Changed(hash) => Problem::new(StatusCode::CONFLICT, "changed-on-disk", said)
            .with_member("hash", hash.clone().into()),
        WorkspaceError::NotText => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "not-text", said),
        WorkspaceError::Invalid(diagnostics) => {
            let places = Places::new(text.unwrap_or_default());
            let found = findings(diagnostics, None, &places);
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-flow", said)
                .with_member("diagnostics", found)
        }
        WorkspaceError::Refused(_) => Problem::new(StatusCode::FORBIDDEN, "refused", said),
        WorkspaceError::Upstream(_) => Problem::new(StatusCode::BAD_GATEWAY, "model-failed", said),
        WorkspaceError::Failed(_) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "not-set-up", said),
    }
}

/// A change of a text in the browser's offsets.
pub(super) fn change(places: &Places, bytes: std::ops::Range<usize>, insert: &str) -> Value {
    object([
        ("offset", places.unit(bytes.start).into()),
        ("end_offset", places.unit(bytes.end).into()),
        ("insert", insert.into()),
    ])
}
