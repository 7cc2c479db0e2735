//! What a runtime relies on in a bundle. The rest of a bundle is its writer's own.

use stave_canon::Value;
use stave_shape::{Definitions, Place, Reader, Shape, ValueKind, ValueNode};

use super::BundleVersion;
use super::check::version_faults;
use crate::codec::leaves::text;
use crate::codec::{finish, note};
use crate::{LoadError, codes};

/// The projection of a system document that a runtime is handed. Beyond the schema, the schema id says the same as the
/// schema version.
#[derive(Debug, Shape)]
#[shape(open, not_null, name = "RuntimeBundle")]
struct BundleForm {
    /// Which fields the bundle has.
    #[shape(with = schema_version)]
    schema_version: Option<Present>,
    /// The name of the schema, which ends with the same number.
    #[shape(with = schema_id)]
    schema_id: Option<Present>,
    /// The run that made the bundle.
    #[shape(with = text)]
    run_id: String,
    /// Whose system it is.
    #[shape(with = text)]
    tenant_id: String,
    /// The repository that the system belongs to.
    #[shape(with = text)]
    repo_id: String,
    /// The nodes that the runtime needs, in canonical form.
    #[shape(with = list)]
    referenced_ir_nodes: Present,
    /// The contracts of these nodes.
    #[shape(with = list)]
    referenced_contracts: Present,
    /// What is to be deployed.
    #[shape(with = list)]
    deployment_intents: Present,
    /// Hashes of the orchestration and the coordination.
    #[shape(with = part)]
    spec_hashes: Present,
    /// What the runtime may do.
    #[shape(with = part)]
    runtime_policy_envelope: Present,
}

/// A part that is there. Its content stays in the bundle's value.
#[derive(Debug, Clone, Copy)]
struct Present;

/// The JSON Schema of a bundle.
#[must_use]
pub fn schema() -> Value {
    stave_shape::document::<BundleForm>("urn:stave:bundle:4", "Runtime bundle")
}

/// Says everything that is wrong with a bundle.
pub(super) fn check(value: &Value) -> Result<(), LoadError> {
    let mut reader = Reader::new();
    let form = BundleForm::read(value, &Place::root(), &mut reader);
    for (pointer, message) in version_faults(value) {
        note(&mut reader, codes::BUNDLE_BAD_SHAPE, &pointer, message);
    }
    finish(reader, form).map(|_| ())
}

/// A part whose content is judged elsewhere or not at all.
macro_rules! present {
    ($name:ident, $is_fault:expr, $wanted:literal, $schema:expr) => {
        mod $name {
            use super::*;

            pub(super) fn read<N: ValueNode>(
                node: N,
                at: &Place<'_>,
                reader: &mut Reader,
            ) -> Option<Present> {
                let is_fault: fn(ValueKind) -> bool = $is_fault;
                if is_fault(node.kind()) {
                    reader.wrong_type(node, at, $wanted);
                    return None;
                }
                Some(Present)
            }

            /// A bundle is written as the value it is.
            pub(super) fn write(_: &Present) -> Value {
                Value::Null
            }

            pub(super) fn schema(_: &mut Definitions) -> Value {
                $schema
            }
        }
    };
}

present!(list, |kind| kind != ValueKind::Array, "an array", Value::from_iter([("type", "array")]));
present!(part, |kind| kind != ValueKind::Object, "an object", Value::from_iter([("type", "object")]));
present!(schema_version, |_| false, "a version", {
    let numbers = BundleVersion::ALL.map(|version| Value::from(version.number()));
    Value::from_iter([("enum", Value::Array(numbers.to_vec()))])
});
present!(schema_id, |_| false, "a schema id", {
    let ids = BundleVersion::ALL.map(|version| Value::from(version.schema_id()));
    Value::from_iter([("enum", Value::Array(ids.to_vec()))])
});
