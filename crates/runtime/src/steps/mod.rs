//! Step kinds: one file each, found by the kind's name, with the table that binds them.

mod dsl_emit;
mod finish;
mod flow_input;
mod flow_output;
mod hopsworks_get_model;
mod hopsworks_read_features;
mod hopsworks_write_features;
mod http_request;
mod human_approve;
mod io_format_response;
mod llm_chat;
mod mcp_call;
mod opcua_read;
mod opcua_write;
mod policy_apply;
mod python;
mod switch;
mod transform_each;
mod transform_filter;
mod transform_map;
mod transform_reduce;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use stave_canon::{Object, Value};
use stave_engine::graph::{EACH, SWITCH};
use stave_script::url_template;

use crate::opcua::Opcua;
use crate::run::Call;
use crate::{
    Failure,
    failure::Kind,
    interpolate::{Scope, bad_address},
    references,
};

/// The step kind that asks a person.
pub(crate) const APPROVE: &str = "human.approve";

/// What a step kind does.
#[async_trait]
pub trait Step: Send + Sync + fmt::Debug {
    async fn execute(&self, call: &Call<'_>) -> Result<Produced, Failure>;

    /// Whether the step bounds its own time and repeats its own work, as a model step does for each of
    /// its calls. Every other step is bounded and repeated as a whole.
    fn manages_attempts(&self) -> bool {
        false
    }
}

/// What a step produced, before it is laid onto the output ports.
#[derive(Debug, Clone, PartialEq)]
pub enum Produced {
    /// Values by port name.
    Ports(Object),
    /// One value: for a sole port all of it, for several ports its members by name.
    Whole(Value),
}

/// The step kinds that an engine has: its own, and those it was given.
#[derive(Debug, Clone, Default)]
pub struct StepKinds(HashMap<String, Arc<dyn Step>>);

/// The step kinds that only some builds have.
const OPCUA_READ: &str = "opcua.read";
const OPCUA_WRITE: &str = "opcua.write";

impl StepKinds {
    /// The runtime's own kinds, and those that need the given ports.
    #[must_use]
    pub fn with(opcua: Option<&Arc<dyn Opcua>>) -> StepKinds {
        let mut kinds = StepKinds::default();
        if let Some(opcua) = opcua {
            kinds.add(OPCUA_READ, Arc::new(opcua_read::OpcuaRead(Arc::clone(opcua))));
            kinds.add(OPCUA_WRITE, Arc::new(opcua_write::OpcuaWrite(Arc::clone(opcua))));
        }
        kinds
    }

    /// The names of all kinds, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = kinds().into_iter().chain(self.0.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names
    }

    /// What is to be done about a kind that is not there, where something can be.
    #[must_use]
    pub fn advice(kind: &str) -> &'static str {
        match kind {
            OPCUA_READ | OPCUA_WRITE => {
                "; this build has no OPC UA: build it with `--features opcua`, and list the plant's address \
                 under `[opcua] allow` in stave.toml"
            }
            _ => "",
        }
    }

    /// Adds a kind. One that the runtime has itself cannot be replaced.
    pub fn add(&mut self, kind: impl Into<String>, step: Arc<dyn Step>) {
        self.0.insert(kind.into(), step);
    }

    #[must_use]
    pub fn get(&self, kind: &str) -> Option<Arc<dyn Step>> {
        registry(kind).or_else(|| self.0.get(kind).cloned())
    }
}

/// The step of a kind.
#[must_use]
pub(crate) fn registry(kind: &str) -> Option<Arc<dyn Step>> {
    Some(match kind {
        "dsl.emit" => Arc::new(dsl_emit::Emit),
        "finish" => Arc::new(finish::Finish),
        "flow.input" => Arc::new(flow_input::FlowInput),
        "flow.output" => Arc::new(flow_output::FlowOutput),
        "hopsworks.get_model" => Arc::new(hopsworks_get_model::GetModel),
        "hopsworks.read_features" => Arc::new(hopsworks_read_features::ReadFeatures),
        "hopsworks.write_features" => Arc::new(hopsworks_write_features::WriteFeatures),
        "http.get" => Arc::new(http_request::HttpRequest::GET),
        "http.post" => Arc::new(http_request::HttpRequest::POST),
        APPROVE => Arc::new(human_approve::HumanApprove),
        "io.format_response" => Arc::new(io_format_response::FormatResponse),
        "llm.chat" => Arc::new(llm_chat::LlmChat),
        "mcp.call" => Arc::new(mcp_call::McpCall),
        "policy.apply" => Arc::new(policy_apply::PolicyApply),
        "python" => Arc::new(python::Python),
        SWITCH => Arc::new(switch::Switch),
        EACH => Arc::new(transform_each::Each),
        "transform.filter" => Arc::new(transform_filter::Filter),
        "transform.map" => Arc::new(transform_map::Map),
        "transform.reduce" => Arc::new(transform_reduce::Reduce),
        _ => return None,
    })
}

/// The kinds this runtime has, sorted.
#[must_use]
pub fn kinds() -> Vec<&'static str> {
    let mut kinds = vec![
        "dsl.emit",
        "finish",
        "flow.input",
        "flow.output",
        "hopsworks.get_model",
        "hopsworks.read_features",
        "hopsworks.write_features",
        "http.get",
        "http.post",
        APPROVE,
        "io.format_response",
        "llm.chat",
        "mcp.call",
        "policy.apply",
        "python",
        SWITCH,
        EACH,
        "transform.filter",
        "transform.map",
        "transform.reduce",
    ];
    kinds.sort_unstable();
    kinds
}

/// The JSON Schema of the arguments of a workflow's own step kinds.
#[must_use]
pub fn argument_schema(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "dsl.emit" => dsl_emit::ARGUMENTS,
        "finish" => finish::ARGUMENTS,
        "policy.apply" => policy_apply::ARGUMENTS,
        SWITCH => switch::ARGUMENTS,
        _ => return None,
    })
}

/// Whether the step of a workflow may change something outside the run. Kinds that are not known to leave
/// everything as it is may.
#[must_use]
pub(crate) fn has_effects(kind: &str) -> bool {
    const PURE: [&str; 11] = [
        "dsl.emit",
        "finish",
        "hopsworks.read_features",
        "http.get",
        "io.format_response",
        OPCUA_READ,
        "policy.apply",
        SWITCH,
        "transform.filter",
        "transform.map",
        "transform.reduce",
    ];
    !PURE.contains(&kind)
}

/// A required argument, filled. Arguments that are absent or of the wrong kind were reported by the
/// checker; a document from elsewhere fails here.
fn argument(call: &Call<'_>, scope: &Scope<'_>, name: &str) -> Result<Value, Failure> {
    optional_argument(call, scope, name)?.ok_or_else(|| {
        let message = format!("argument `{name}` is missing");
        Failure::new(stave_diag::codes::run::BAD_ARGUMENT, Kind::Configuration, message)
    })
}

fn optional_argument(call: &Call<'_>, scope: &Scope<'_>, name: &str) -> Result<Option<Value>, Failure> {
    match call.with.get(name) {
        None => Ok(None),
        Some(value) if call.run.plan.graph.reads_references() => {
            references::fill(value, call.inputs.get(name), scope)
        }
        Some(value) => scope.fill(value),
    }
}

/// An argument that is an address, filled. A value in it is encoded for its place; one that is the whole address is used
/// as it came.
fn address_argument(call: &Call<'_>, scope: &Scope<'_>, name: &str) -> Result<String, Failure> {
    let written = call.with.get(name).and_then(Value::as_str);
    let is_reference = |text: &str| {
        call.run.plan.graph.reads_references() && stave_engine::references::Reference::read(text).is_some()
    };
    let address = match written {
        Some(text) if !is_reference(text) => scope.fill_address(text)?.map(Value::String),
        _ => optional_argument(call, scope, name)?,
    };
    match address {
        Some(Value::String(address)) => {
            url_template::plain(&address).map_err(bad_address)?;
            Ok(address)
        }
        Some(_) => Err(bad_argument(name, "a text")),
        None => Err(bad_argument(name, "there")),
    }
}

/// An argument that is used as it is written: code and expressions are never filled in, so a value cannot
/// become part of them.
fn literal_text<'c>(call: &Call<'c>, name: &str) -> Result<&'c str, Failure> {
    call.with.get(name).and_then(Value::as_str).ok_or_else(|| bad_argument(name, "a text"))
}

fn list_argument(call: &Call<'_>, name: &str) -> Result<Vec<Value>, Failure> {
    match argument(call, &call.scope(), name)? {
        Value::Array(items) => Ok(items),
        other => Err(bad_argument(name, &format!("a list, and it is {}", other.kind()))),
    }
}

fn bad_argument(name: &str, wanted: &str) -> Failure {
    let message = format!("argument `{name}` must be {wanted}");
    Failure::new(stave_diag::codes::run::BAD_ARGUMENT, Kind::Value, message)
}
