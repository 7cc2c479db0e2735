//! `mcp.call`: a tool on a server that the project names.

use std::collections::BTreeSet;

use async_trait::async_trait;
use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;

use super::hopsworks_read_features::text_argument;
use super::{Step, StepOutput, bad_argument, optional_argument};
use crate::labels::{self, Receiver};
use crate::tool_servers::{ToolServerCall, ToolServerFault};
use crate::{Failure, failure::FailureKind, run::Call};

#[derive(Debug)]
pub(super) struct McpCall;

#[async_trait]
impl Step for McpCall {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let scope = call.scope();
        let arguments = match optional_argument(call, &scope, "arguments")? {
            None => Object::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(bad_argument("arguments", "an object")),
        };
        let asked = ToolServerCall {
            server: text_argument(call, &scope, "server")?,
            tool: text_argument(call, &scope, "tool")?,
            arguments,
        };
        labels::admit(call, Receiver::Tool { server: &asked.server, tool: &asked.tool })?;
        let result = call.services.tool_servers.call(&asked).await;
        let mut answer = result.map_err(|fault| failure(call, &fault))?;
        call.services.secrets.in_answers(&BTreeSet::new()).hide_in(&mut answer);
        Ok(StepOutput::Whole(answer))
    }
}

fn failure(call: &Call<'_>, fault: &ToolServerFault) -> Failure {
    let message = call.services.secrets.hide(&fault.to_string());
    let kind = match fault {
        ToolServerFault::UnknownServer { .. } => FailureKind::Configuration,
        _ => FailureKind::Upstream,
    };
    let failure = Failure::new(codes::TOOL_SERVER_FAILED, kind, message);
    match fault {
        ToolServerFault::Unreachable { .. } => failure.retryable(),
        _ => failure,
    }
}
