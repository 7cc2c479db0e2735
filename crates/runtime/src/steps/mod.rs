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
use stave_operations::{self as operations, Descriptor, step_kind};
use stave_script::url_template;

use crate::opcua::Opcua;
use crate::run::Call;
use crate::{
    Failure,
    failure::FailureKind,
    interpolate::{PathScope, bad_address},
    references,
};

/// What a step kind does.
#[async_trait]
pub trait Step: Send + Sync + fmt::Debug {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure>;
}

/// The output of a step, before it is laid onto the output ports.
#[derive(Debug, Clone, PartialEq)]
pub enum StepOutput {
    /// Values by port name.
    Ports(Object),
    /// One value: for a sole port all of it, for several ports its members by name.
    Whole(Value),
}

/// The step kinds that an engine has: its own, and those it was given.
#[derive(Debug, Clone, Default)]
pub struct StepKinds(HashMap<String, Arc<dyn Step>>);

/// Makes a step, given the ports that only some builds have; none without a port that it needs.
type Make = fn(Option<&Arc<dyn Opcua>>) -> Option<Arc<dyn Step>>;

/// The step of each kind in the catalogue.
static STEPS: &[(&Descriptor, Make)] = &[
    (&operations::DSL_EMIT, |_| step(dsl_emit::Emit)),
    (&operations::FINISH, |_| step(finish::Finish)),
    (&operations::FLOW_INPUT, |_| step(flow_input::FlowInput)),
    (&operations::FLOW_OUTPUT, |_| step(flow_output::FlowOutput)),
    (&operations::HOPSWORKS_GET_MODEL, |_| step(hopsworks_get_model::GetModel)),
    (&operations::HOPSWORKS_READ_FEATURES, |_| step(hopsworks_read_features::ReadFeatures)),
    (&operations::HOPSWORKS_WRITE_FEATURES, |_| step(hopsworks_write_features::WriteFeatures)),
    (&operations::HTTP_GET, |_| step(http_request::HttpRequest::GET)),
    (&operations::HTTP_POST, |_| step(http_request::HttpRequest::POST)),
    (&operations::HUMAN_APPROVE, |_| step(human_approve::HumanApprove)),
    (&operations::IO_FORMAT_RESPONSE, |_| step(io_format_response::FormatResponse)),
    (&operations::LLM_CHAT, |_| step(llm_chat::LlmChat)),
    (&operations::MCP_CALL, |_| step(mcp_call::McpCall)),
    (&operations::OPCUA_READ, |opcua| step(opcua_read::OpcuaRead(Arc::clone(opcua?)))),
    (&operations::OPCUA_WRITE, |opcua| step(opcua_write::OpcuaWrite(Arc::clone(opcua?)))),
    (&operations::POLICY_APPLY, |_| step(policy_apply::PolicyApply)),
    (&operations::PYTHON, |_| step(python::Python)),
    (&operations::SWITCH, |_| step(switch::Switch)),
    (&operations::TRANSFORM_EACH, |_| step(transform_each::Each)),
    (&operations::TRANSFORM_FILTER, |_| step(transform_filter::Filter)),
    (&operations::TRANSFORM_MAP, |_| step(transform_map::Map)),
    (&operations::TRANSFORM_REDUCE, |_| step(transform_reduce::Reduce)),
];

fn step(step: impl Step + 'static) -> Option<Arc<dyn Step>> {
    Some(Arc::new(step))
}

impl StepKinds {
    /// The runtime's own kinds, and those that need the given ports.
    #[must_use]
    pub fn with(opcua: Option<&Arc<dyn Opcua>>) -> StepKinds {
        let mut kinds = StepKinds::default();
        for (descriptor, make) in STEPS.iter().filter(|(_, make)| make(None).is_none()) {
            if let Some(step) = make(opcua) {
                kinds.add(descriptor.name, step);
            }
        }
        kinds
    }

    /// The names of all kinds, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let own =
            STEPS.iter().filter(|(_, make)| make(None).is_some()).map(|(descriptor, _)| descriptor.name);
        let mut names: Vec<&str> = own.chain(self.0.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names
    }

    /// What is to be done about a kind that is not there, where something can be.
    #[must_use]
    pub fn advice(kind: &str) -> String {
        let feature = step_kind(kind).and_then(|kind| kind.feature);
        feature.map_or_else(String::new, |feature| {
            format!("; this build has no {}: {}", feature.title, feature.advice)
        })
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

/// The step of a kind that every build has.
#[must_use]
pub(crate) fn registry(kind: &str) -> Option<Arc<dyn Step>> {
    let (_, make) = STEPS.iter().find(|(descriptor, _)| descriptor.name == kind)?;
    make(None)
}

/// Whether a step bounds the time of its parts and repeats them itself, as a model step does for each of its
/// requests. Every other step is bounded and repeated as a whole.
#[must_use]
pub(crate) fn repeats_by_part(kind: &str) -> bool {
    step_kind(kind).is_some_and(Descriptor::repeats_by_part)
}

/// A required argument, filled. Arguments that are absent or of the wrong kind were reported by the
/// checker; a document from elsewhere fails here.
fn argument(call: &Call<'_>, scope: &PathScope<'_>, name: &str) -> Result<Value, Failure> {
    optional_argument(call, scope, name)?.ok_or_else(|| {
        let message = format!("argument `{name}` is missing");
        Failure::new(stave_diag::codes::run::BAD_ARGUMENT, FailureKind::Configuration, message)
    })
}

fn optional_argument(call: &Call<'_>, scope: &PathScope<'_>, name: &str) -> Result<Option<Value>, Failure> {
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
fn address_argument(call: &Call<'_>, scope: &PathScope<'_>, name: &str) -> Result<String, Failure> {
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
            url_template::plain(&address).map_err(|error| bad_address(&error))?;
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
    Failure::new(stave_diag::codes::run::BAD_ARGUMENT, FailureKind::Value, message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::STEPS;

    #[test]
    fn the_catalogue_and_the_steps_name_the_same_kinds() {
        let described: BTreeSet<&str> = stave_operations::STEP_KINDS.iter().map(|kind| kind.name).collect();
        let done: BTreeSet<&str> = STEPS.iter().map(|(descriptor, _)| descriptor.name).collect();
        assert_eq!(described, done);
        assert_eq!(STEPS.len(), done.len(), "a kind has two steps");
    }

    #[test]
    fn a_step_is_missing_only_where_the_descriptor_names_a_feature() {
        for (descriptor, make) in STEPS {
            assert_eq!(make(None).is_none(), descriptor.feature.is_some(), "{}", descriptor.name);
        }
    }
}
