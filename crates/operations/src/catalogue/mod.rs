//! The list of all step kinds: one file per kind.

mod dsl_emit;
mod finish;
mod flow_input;
mod flow_output;
mod hopsworks_get_model;
mod hopsworks_read_features;
mod hopsworks_write_features;
mod http_get;
mod http_post;
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

pub use dsl_emit::DSL_EMIT;
pub use finish::FINISH;
pub use flow_input::FLOW_INPUT;
pub use flow_output::FLOW_OUTPUT;
pub use hopsworks_get_model::HOPSWORKS_GET_MODEL;
pub use hopsworks_read_features::HOPSWORKS_READ_FEATURES;
pub use hopsworks_write_features::HOPSWORKS_WRITE_FEATURES;
pub use http_get::HTTP_GET;
pub use http_post::HTTP_POST;
pub use human_approve::HUMAN_APPROVE;
pub use io_format_response::IO_FORMAT_RESPONSE;
pub use llm_chat::LLM_CHAT;
pub use mcp_call::MCP_CALL;
pub use opcua_read::OPCUA_READ;
pub use opcua_write::OPCUA_WRITE;
pub use policy_apply::POLICY_APPLY;
pub use python::PYTHON;
pub use switch::SWITCH;
pub use transform_each::TRANSFORM_EACH;
pub use transform_filter::TRANSFORM_FILTER;
pub use transform_map::TRANSFORM_MAP;
pub use transform_reduce::TRANSFORM_REDUCE;

use crate::{Descriptor, Form};

/// Every step kind: models and code, the operations of the specification in its order, those beyond it, the steps of
/// workflows, and the two ends of a flow.
pub static STEP_KINDS: &[&Descriptor] = &[
    &LLM_CHAT,
    &PYTHON,
    &HOPSWORKS_READ_FEATURES,
    &HOPSWORKS_WRITE_FEATURES,
    &HOPSWORKS_GET_MODEL,
    &HTTP_GET,
    &HTTP_POST,
    &TRANSFORM_FILTER,
    &TRANSFORM_MAP,
    &TRANSFORM_REDUCE,
    &IO_FORMAT_RESPONSE,
    &TRANSFORM_EACH,
    &HUMAN_APPROVE,
    &MCP_CALL,
    &OPCUA_READ,
    &OPCUA_WRITE,
    &SWITCH,
    &POLICY_APPLY,
    &DSL_EMIT,
    &FINISH,
    &FLOW_INPUT,
    &FLOW_OUTPUT,
];

/// Operations that later versions are to have. They are recognised and cannot be run.
pub static RESERVED: &[&str] = &["hopsworks.predict", "hopsworks.vector_search", "llm.generate"];

/// The step kind of this name.
#[must_use]
pub fn step_kind(name: &str) -> Option<&'static Descriptor> {
    STEP_KINDS.iter().copied().find(|kind| kind.name == name)
}

/// What a flow can name as `op`, in order.
pub fn operations() -> impl Iterator<Item = &'static Descriptor> + Clone {
    STEP_KINDS.iter().copied().filter(|kind| kind.form == Form::Operation)
}

/// The operation that a flow names by this `op`.
#[must_use]
pub fn operation(name: &str) -> Option<&'static Descriptor> {
    step_kind(name).filter(|kind| kind.form == Form::Operation)
}
