//! `opcua.read`: values of a plant, from a server that the project lists.

use std::sync::Arc;

use async_trait::async_trait;
use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_script::address::HostPort;

use super::hopsworks_read_features::text_argument;
use super::{Step, StepOutput, argument, bad_argument};
use crate::labels::{self, Receiver};
use crate::opcua::{Opcua, OpcuaFault, Reading};
use crate::{Failure, failure::FailureKind, run::Call};

/// How many values one step reads.
const MOST_NODES: usize = 1000;

#[derive(Debug)]
pub(super) struct OpcuaRead(pub(super) Arc<dyn Opcua>);

#[async_trait]
impl Step for OpcuaRead {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let scope = call.scope();
        let endpoint = text_argument(call, &scope, "endpoint")?;
        let nodes = match argument(call, &scope, "node_ids")? {
            Value::String(sole) => vec![sole],
            Value::Array(items) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts
                    .collect::<Option<Vec<_>>>()
                    .ok_or_else(|| bad_argument("node_ids", "a list of texts"))?
            }
            _ => return Err(bad_argument("node_ids", "a text or a list of texts")),
        };
        if nodes.len() > MOST_NODES {
            return Err(bad_argument("node_ids", &format!("a list of at most {MOST_NODES}")));
        }
        labels::admit(call, Receiver::Host(HostPort::of(&endpoint).as_ref()))?;
        call.count().await?;
        let readings = self.0.read(&endpoint, &nodes).await.map_err(|fault| failure(&fault))?;
        let by_node = |value: &dyn Fn(&Reading) -> Value| -> Value {
            let pairs = nodes.iter().zip(&readings).map(|(node, reading)| (node.clone(), value(reading)));
            Value::Object(pairs.collect())
        };
        let values = by_node(&|reading| reading.value.clone());
        // A sole output takes the values; further ones say how good they are.
        if call.node.outputs.len() == 1 {
            return Ok(StepOutput::Whole(values));
        }
        let mut ports = Object::new();
        ports.insert("values".into(), values);
        let quality = |reading: &Reading| if reading.is_certain { "good" } else { "uncertain" }.into();
        ports.insert("qualities".into(), by_node(&quality));
        let at = |reading: &Reading| reading.measured_at.map(|at| at.to_string()).into();
        ports.insert("timestamps".into(), by_node(&at));
        if !call.node.outputs.is_empty() {
            ports.retain(|name, _| call.node.outputs.iter().any(|port| port.name() == name));
        }
        Ok(StepOutput::Ports(ports))
    }
}

/// A fault of a plant's server as the step's failure.
pub(super) fn failure(fault: &OpcuaFault) -> Failure {
    let (code, kind) = match fault {
        OpcuaFault::NotAllowed { .. } => (codes::HOST_NOT_ALLOWED, FailureKind::Refused),
        OpcuaFault::BadArgument(_) => (codes::BAD_ARGUMENT, FailureKind::Value),
        OpcuaFault::Configuration(_) => (codes::PLANT_FAILED, FailureKind::Configuration),
        OpcuaFault::Timeout { .. } => (codes::STEP_TIMEOUT, FailureKind::Timeout),
        OpcuaFault::Refused { .. } | OpcuaFault::Unreachable { .. } => {
            (codes::PLANT_FAILED, FailureKind::Upstream)
        }
    };
    let failure = Failure::new(code, kind, fault.to_string());
    match fault {
        OpcuaFault::Timeout { .. } | OpcuaFault::Unreachable { .. } => failure.retryable(),
        _ => failure,
    }
}
