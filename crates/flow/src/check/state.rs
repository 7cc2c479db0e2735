//! State has a session where it needs one, and a lifetime only where it can outlive a request.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::Subject;
use crate::model::{Backend, NodeStateScope};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(state) = node.state.as_ref() else { continue };
        if let Some(backend) = state.backend.filter(|backend| backend.value == Backend::Hopsworks) {
            let message = "the specification reserves the backend `hopsworks`; another runtime may refuse it";
            diagnostics.push(
                Diagnostic::new(codes::RESERVED_BACKEND, backend.span, message)
                    .help("use `memory` or `redis`"),
            );
        }
        let Some(scope) = state.scope else { continue };
        match scope.value {
            NodeStateScope::Session
                if subject.flow.context.is_complete() && !subject.flow.context.declares("session_id") =>
            {
                let message = format!(
                    "node `{}` keeps state per session, and the context has no `session_id`",
                    node.id.value
                );
                diagnostics.push(
                    Diagnostic::new(codes::SESSION_WITHOUT_ID, scope.span, message)
                        .label(subject.flow.context.span, "the context's fields")
                        .help("add `session_id` to `context.requires`, or use `scope: request`"),
                );
            }
            NodeStateScope::Request => {
                if let Some(ttl) = &state.ttl_seconds {
                    let message = "state of one request ends with it, so it has no lifetime";
                    diagnostics.push(
                        Diagnostic::new(codes::TTL_ON_REQUEST_STATE, ttl.span, message)
                            .help("remove `ttl_seconds`, or use `scope: session`"),
                    );
                }
            }
            NodeStateScope::Session => {}
        }
    }
}
