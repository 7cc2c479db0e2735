//! `human.approve`: waits for a person. The run stops, survives restarts, and goes on once there is a
//! decision.
//!
//! The value at its sole input goes on unchanged when it is approved; a denial is a failure, which an
//! error route can take.

use async_trait::async_trait;
use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;

use super::{Produced, Step, optional_argument};
use crate::interpolate::Scope;
use crate::journal::StoredRun;
use crate::references::Reference;
use crate::{Failure, Request, failure::Kind, run::Call};

/// What a node of a run that waits asks a person, given the values at its inputs.
#[must_use]
pub fn question(stored: &StoredRun, node: &str, inputs: &Object) -> Option<String> {
    let document = &stored.document;
    let message = document.node(node)?.with.get("message")?;
    // The references of a workflow have been replaced by the time that it runs.
    if message.as_str().is_some_and(|text| Reference::read(text).is_some()) {
        return None;
    }
    let summary = &stored.summary;
    let request = Request::new(&stored.request, &document.inputs_schema, &summary.id, summary.started_at);
    let request = request.ok()?;
    let scope = Scope { inputs, context: &request.context, prompt_output: None, secrets: None };
    crate::port::text(&scope.fill(message).ok()??).ok()
}

#[derive(Debug)]
pub(super) struct HumanApprove;

#[async_trait]
impl Step for HumanApprove {
    async fn execute(&self, call: &Call<'_>) -> Result<Produced, Failure> {
        let Some(decision) = call.run.decisions.0.get(call.path) else {
            let question = optional_argument(call, &call.scope(), "message")?;
            let question = question.map(|question| crate::port::text(&question)).transpose()?;
            let question = question.map_or_else(String::new, |question| format!(": {question}"));
            let message = format!("`{}` waits for a decision{question}", call.node.id);
            return Err(Failure::new(codes::RUN_STOPPED, Kind::Waiting, message));
        };
        if !decision.approved {
            let message = match &decision.comment {
                Some(comment) => format!("a person denied it: {comment}"),
                None => "a person denied it".to_owned(),
            };
            return Err(Failure::new(codes::RUN_STOPPED, Kind::Code, message));
        }
        let mut inputs = call.inputs.values();
        match (inputs.next(), inputs.next()) {
            (Some(sole), None) if call.node.outputs.len() == 1 => Ok(Produced::Whole(sole.clone())),
            _ => {
                let mut outputs: Object = call.inputs.clone();
                let named = |name: &str| call.node.outputs.iter().any(|port| port.name() == name);
                outputs.retain(|name, _| named(name));
                if named("comment") {
                    outputs
                        .insert("comment".into(), Value::from(decision.comment.clone().unwrap_or_default()));
                }
                Ok(Produced::Ports(outputs))
            }
        }
    }
}
