//! What the calls of the page have in common: a text, perhaps a path, perhaps an offset.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use stave_diag::SourceId;
use stave_flow::CheckOptions;
use stave_shape::Shape;

use super::Studio;
use super::findings::findings;
use super::places::Places;
use super::work::Wanted;
use super::workspace::{Workspace, WorkspaceError};
use crate::access::Principal;
use crate::api::run_view_types::RunText;
use crate::api::text_types::{ChatText, ConnectableEnd, EditText, FileSubject, Subject, SubjectAt};
use crate::handlers::Call;
use crate::problem::Problem;

/// The longest text that is worked on.
pub(super) const TEXT_BYTES: usize = 2 * 1024 * 1024;

/// How long the work on a text may take.
pub(super) const TEXT_TIME: Duration = Duration::from_secs(30);

/// The body of a call about a text.
pub(super) trait TextBody: Shape + Send + 'static {
    /// Takes the path and the text out of the body.
    fn take(&mut self) -> (Option<String>, Option<String>);
}

macro_rules! text_bodies {
    ($($body:ident),*) => {$(
        impl TextBody for $body {
            fn take(&mut self) -> (Option<String>, Option<String>) {
                (std::mem::take(&mut self.path).into(), std::mem::take(&mut self.text).into())
            }
        }
    )*};
}

text_bodies!(Subject, SubjectAt, ConnectableEnd, EditText, ChatText, FileSubject, RunText);

/// A call about a text.
#[derive(Debug)]
pub(super) struct TextCall<B> {
    /// Who calls.
    principal: Principal,
    pub(super) path: Option<String>,
    pub(super) text: String,
    /// The body without the path and the text.
    pub(super) body: B,
    /// Whether the text is what the file holds.
    pub(super) is_saved: bool,
}

impl<B: TextBody> TextCall<B> {
    /// Reads a call whose text must be there.
    pub(super) async fn read(call: Call<'_>, studio: &Studio) -> Result<TextCall<B>, Problem> {
        let principal = call.principal.clone();
        let (_, mut body) = call.typed::<B>().await?;
        let (path, text) = body.take();
        if let Some(path) = &path {
            visible(path, &principal, studio).await?;
        }
        let text = text.unwrap_or_default();
        bounded(&text)?;
        Ok(TextCall { principal, path, text, body, is_saved: false })
    }

    /// Reads a call whose text may be left out, and then is that of the file.
    pub(super) async fn read_or_file(
        call: Call<'_>,
        studio: &Studio,
    ) -> Result<(TextCall<B>, String), Problem> {
        let principal = call.principal.clone();
        let (_, mut body) = call.typed::<B>().await?;
        let (path, text) = body.take();
        let path = path.unwrap_or_default();
        visible(&path, &principal, studio).await?;
        let (workspace, file) = (Arc::clone(&studio.workspace), path.clone());
        let saved = studio.work(&principal, TEXT_TIME, move || workspace.read(&file)).await?;
        let (text, is_saved) = match text {
            Some(text) => {
                bounded(&text)?;
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
        work: impl FnOnce(TextCall<B>, CheckOptions, Arc<dyn Workspace>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (workspace, principal) = (Arc::clone(&studio.workspace), self.principal.clone());
        studio
            .work(&principal, TEXT_TIME, move || {
                let options = workspace.options(self.path.as_deref());
                work(self, options, workspace)
            })
            .await
    }

    /// The same in several passes, which end when nobody waits for them any more.
    pub(super) async fn work_while_wanted<T: Send + 'static>(
        self,
        studio: &Studio,
        work: impl FnOnce(TextCall<B>, &dyn Workspace, &Wanted) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (workspace, principal) = (Arc::clone(&studio.workspace), self.principal.clone());
        studio.work_while_wanted(&principal, TEXT_TIME, move |wanted| work(self, &*workspace, wanted)).await
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

/// Refuses a text that is too long to be worked on.
pub(super) fn bounded(text: &str) -> Result<(), Problem> {
    if text.len() > TEXT_BYTES {
        let detail = format!("the text is longer than {TEXT_BYTES} bytes");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail));
    }
    Ok(())
}

/// What a workspace refuses, with findings in `text` when it names them.
pub(super) fn problem(error: &WorkspaceError, text: Option<&str>) -> Problem {
    let said = error.to_string();
    match error {
        WorkspaceError::NotFound(_) => Problem::new(StatusCode::NOT_FOUND, "not-found", said),
        WorkspaceError::Changed(hash) => {
            Problem::new(StatusCode::CONFLICT, "changed-on-disk", said).with_hash(hash.clone())
        }
        WorkspaceError::NotText => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "not-text", said),
        WorkspaceError::Invalid(diagnostics) => {
            let places = Places::new(text.unwrap_or_default());
            let found = findings(diagnostics, None, &places);
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-flow", said).with_diagnostics(found)
        }
        WorkspaceError::Refused(_) => Problem::new(StatusCode::FORBIDDEN, "refused", said),
        WorkspaceError::Upstream(_) => Problem::new(StatusCode::BAD_GATEWAY, "model-failed", said),
        WorkspaceError::Unwanted => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "text-too-slow", said),
        WorkspaceError::Failed(_) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "not-set-up", said),
    }
}
