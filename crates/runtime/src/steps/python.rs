//! `python`: the author's `transform(inputs, context, state)` in the sandbox.

use async_trait::async_trait;
use stave_canon::Value;
use stave_diag::codes::run as codes;
use stave_script::{StateHost, TransformJob};

use super::{Step, StepOutput, literal_text};
use crate::volume::Volume;
use crate::{Failure, failure::FailureKind, run::Call};

/// The name under which a node's code sees the model's result.
pub(super) const PROMPT_OUTPUT: &str = "prompt_output";

#[derive(Debug)]
pub(super) struct Python;

#[async_trait]
impl Step for Python {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let mut inputs = call.inputs.clone();
        if let Some(output) = call.prompt_output {
            inputs.insert(PROMPT_OUTPUT.to_owned(), output.clone());
        }
        let job = TransformJob {
            code: literal_text(call, "code")?.to_owned(),
            inputs,
            context: call.request.context.clone(),
            has_state: call.state.is_some(),
        };
        let state = call.state.map(|state| state as &dyn StateHost);
        let output = call.services.python.transform(job, state, &call.script_limits()).await;
        let output = output.map_err(|error| call.script_failure(&error, "code"))?;
        if !output.printed.is_empty() {
            let printed = call.services.secrets.hide(&output.printed);
            let mut logs = 0;
            call.run.report(call.index, |report| logs = report.log(&printed));
            call.run.keep(call.index, Volume { logs, ..Volume::default() })?;
        }
        match output.value {
            Value::Object(ports) => Ok(StepOutput::Ports(ports)),
            other => {
                let message = format!("`transform` returned {}, not a dict of outputs", other.kind());
                Err(Failure::new(codes::INVALID_OUTPUT, FailureKind::Value, message))
            }
        }
    }
}
