//! The keys of state records and of cached results: templates whose placeholders a run fills.

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_engine::{Failure, FailureKind};
use stave_script::state_key;

use crate::plan::PlannedNode;
use crate::port;
use crate::run::Run;
use crate::state::RecordKey;

/// The backend of nodes that name none: whatever the project keeps its state in.
const PROJECTS_OWN: &str = "memory";

/// The longest key of a state record or of a cached result.
const KEY_BYTES: usize = 64 * 1024;

impl Run<'_> {
    pub(crate) fn record_key(&self, node: &PlannedNode, inputs: &Object) -> Result<RecordKey, Failure> {
        let Some(state) = &node.state else {
            return Err(state_failure("the node has no state".to_owned()));
        };
        let flow = &self.plan.document.flow.name;
        let key = self.fill_key(node, inputs, &state.key, "state")?;
        let (scope, owner) = if state.session {
            let session = self.request.session_id();
            ("session", session.ok_or_else(|| state_failure("the request has no `session_id`".to_owned()))?)
        } else {
            ("request", self.id.as_str())
        };
        let record = RecordKey::new(flow, scope, owner, &key);
        // What ends with the run needs no server.
        let apart = state.session && state.backend != PROJECTS_OWN;
        Ok(if apart { record.in_backend(&state.backend) } else { record })
    }

    /// A key template with its placeholders filled.
    pub(crate) fn fill_key(
        &self,
        node: &PlannedNode,
        inputs: &Object,
        template: &str,
        what: &str,
    ) -> Result<String, Failure> {
        let segments = state_key::parse(template).map_err(|errors| {
            let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
            state_failure(format!("the {what} key {template:?} is malformed: {}", messages.join("; ")))
        })?;
        let mut key = String::new();
        for segment in segments {
            match segment {
                state_key::KeySegment::Literal(text) => key.push_str(&text),
                state_key::KeySegment::Path { names, .. } => {
                    let value = self.key_value(node, inputs, &names).ok_or_else(|| {
                        state_failure(format!("`{{{}}}` in the {what} key is absent", names.join(".")))
                    })?;
                    key.push_str(&port::text(&value)?);
                    if key.len() > KEY_BYTES {
                        return Err(state_failure(format!(
                            "the {what} key takes more than {KEY_BYTES} bytes"
                        )));
                    }
                }
            }
        }
        Ok(key)
    }

    /// A bare name is an input first, then a field of the context.
    fn key_value(&self, node: &PlannedNode, inputs: &Object, names: &[String]) -> Option<Value> {
        let mut names = names.iter().map(String::as_str);
        let mut here = match (names.next()?, names.clone().next()) {
            ("node", Some("id")) => return Some(node.id.as_str().into()),
            ("flow", Some("name")) => return Some(self.plan.document.flow.name.as_str().into()),
            ("context", Some(_)) => self.request.context.get(names.next()?)?,
            (name, _) => inputs.get(name).or_else(|| self.request.context.get(name))?,
        };
        for name in names {
            here = here.get(name)?;
        }
        Some(here.clone())
    }
}

fn state_failure(message: String) -> Failure {
    Failure::new(codes::STATE_FAILED, FailureKind::Upstream, message)
}
