//! `human.approve`: waits for a person. The run stops, survives restarts, and continues once there is a
//! decision.
//!
//! The value at its sole input passes unchanged when it is approved; a denial is a failure, which an
//! error route can take. Invariant: a decision counts for the question that it was made about, in this
//! execution and with these values, whether the node is run by an edge, as a tool or for an item of a list.

use async_trait::async_trait;
use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;

use super::{Step, StepOutput, optional_argument};
use crate::journal::Question;
use crate::{Failure, failure::FailureKind, run::Call};

#[derive(Debug)]
pub(super) struct HumanApprove;

#[async_trait]
impl Step for HumanApprove {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let text = optional_argument(call, &call.scope(), "message")?;
        let text = text.map(|text| crate::port::text(&text)).transpose()?;
        let question = Question::new(&call.run.id, call.path, &call.node.id, text, call.inputs.clone());
        let Some(decision) = call.run.decisions.about(&question) else {
            return Err(call.ask(question).await);
        };
        if !decision.approved {
            let message = match &decision.comment {
                Some(comment) => format!("a person denied it: {comment}"),
                None => "a person denied it".to_owned(),
            };
            return Err(Failure::new(codes::RUN_STOPPED, FailureKind::Denied, message));
        }
        let mut inputs = call.inputs.values();
        match (inputs.next(), inputs.next()) {
            (Some(sole), None) if call.node.outputs.len() == 1 => Ok(StepOutput::Whole(sole.clone())),
            _ => {
                let mut outputs: Object = call.inputs.clone();
                let named = |name: &str| call.node.outputs.iter().any(|port| port.name() == name);
                outputs.retain(|name, _| named(name));
                if named("comment") {
                    outputs
                        .insert("comment".into(), Value::from(decision.comment.clone().unwrap_or_default()));
                }
                Ok(StepOutput::Ports(outputs))
            }
        }
    }
}
