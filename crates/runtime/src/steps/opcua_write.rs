//! `opcua.write`: one value of a plant set, on a server that the project lists.

use std::sync::Arc;

use async_trait::async_trait;
use stave_canon::{Object, Value};
use stave_script::address::HostPort;

use super::hopsworks_read_features::text_argument;
use super::opcua_read::failure;
use super::{Step, StepOutput, argument, bad_argument, optional_argument};
use crate::labels::{self, Receiver};
use crate::opcua::Opcua;
use crate::{Failure, run::Call};

#[derive(Debug)]
pub(super) struct OpcuaWrite(pub(super) Arc<dyn Opcua>);

#[async_trait]
impl Step for OpcuaWrite {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let scope = call.scope();
        let endpoint = text_argument(call, &scope, "endpoint")?;
        let node = text_argument(call, &scope, "node_id")?;
        let value = argument(call, &scope, "value")?;
        let kind = match optional_argument(call, &scope, "type")? {
            None => None,
            Some(Value::String(kind)) => Some(kind),
            Some(_) => return Err(bad_argument("type", "a text")),
        };
        labels::admit(call, Receiver::Host(HostPort::of(&endpoint).as_ref()))?;
        call.count().await?;
        let written = self.0.write(&endpoint, &node, &value, kind.as_deref()).await;
        written.map_err(|fault| failure(&fault))?;
        let mut ports = Object::new();
        ports.insert("node_id".into(), node.into());
        ports.insert("value".into(), value);
        ports.insert("status".into(), "ok".into());
        if call.node.outputs.len() == 1 {
            return Ok(StepOutput::Whole(ports.into()));
        }
        Ok(StepOutput::Ports(ports))
    }
}
