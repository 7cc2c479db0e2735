//! `Runtime.Capabilities`: which documents and steps this runtime takes.

use stave_canon::Value;

use super::{Host, VERSION};
use crate::steps::StepKinds;

pub(super) fn capabilities(host: &dyn Host) -> Value {
    let opcua = host.opcua();
    let kinds = StepKinds::with(opcua.as_ref());
    let limits = Value::from_iter([("concurrency", host.concurrency())]);
    Value::from_iter([
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("step_kinds", kinds.names().into()),
        ("limits", limits),
        ("ir_version", stave_exec::VERSION.into()),
        ("rep_version", VERSION.into()),
        ("runtime", Value::from_iter([("name", "stave"), ("version", env!("CARGO_PKG_VERSION"))])),
    ])
}
