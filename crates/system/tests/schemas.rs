//! The generated JSON Schemas say what the readers say, as far as a JSON Schema can say it.

#![expect(clippy::unwrap_used, reason = "a test stops at what is not as it should be")]

use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use stave_canon::{Value, parse, pretty_sorted_utf8};
use stave_system::bundle::Bundle;
use stave_system::manifest::RunManifest;
use stave_system::{LoadError, SystemDocument, SystemFault, bundle, codes, manifest};

use crate::changed::changed;
use crate::documents::document;

const BUNDLE: &str = r#"{"schema_version": 4, "schema_id": "akc:runtime_bundle:v4", "run_id": "r", "tenant_id": "t",
    "repo_id": "r", "referenced_ir_nodes": [], "referenced_contracts": [{}], "deployment_intents": [],
    "spec_hashes": {"a": "b"}, "runtime_policy_envelope": {}, "delivery_plan_ref": null}"#;

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(&schema.to_serde()).unwrap()
}

/// A rule that relates several values is beyond a schema.
fn is_beyond(fault: &SystemFault, document: &Value) -> bool {
    let known = |key: &str, versions: &[&str]| {
        document.get(key).is_none_or(|version| versions.contains(&version.to_string().as_str()))
    };
    match fault.code {
        codes::SYSTEM_CROSS_TENANT | codes::SYSTEM_DUPLICATE_ID | codes::SYSTEM_BROKEN_CONTRACT => true,
        codes::SYSTEM_UNSUPPORTED_VERSION
            if matches!(fault.pointer.as_str(), "/schema_version" | "/format_version") =>
        {
            known("schema_version", &["1", "2"]) && known("format_version", &["\"1.0\"", "\"2.0\""])
        }
        _ => {
            fault.message.starts_with("must name a path and the hash") || fault.message.contains("disagrees")
        }
    }
}

fn agree<T>(schema: &Validator, document: &Value, read: Result<T, LoadError>) -> Result<(), String> {
    let by_schema = schema.is_valid(&document.to_serde());
    let in_reach = match &read {
        Ok(_) => false,
        Err(error) => error.faults().iter().any(|fault| !is_beyond(fault, document)),
    };
    let reason = read.err().map(|error| error.to_string()).unwrap_or_default();
    if by_schema == in_reach { Err(format!("{by_schema} {reason}\n{document}")) } else { Ok(()) }
}

proptest! {
    #[test]
    fn schema_and_reader_agree_on_changed_documents(
        changed in document().prop_flat_map(|document| changed(vec![document.to_value()]))
    ) {
        static SCHEMA: LazyLock<Validator> = LazyLock::new(|| validator(&stave_system::schema()));
        agree(&SCHEMA, &changed, SystemDocument::from_value(&changed)).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn schema_and_reader_agree_on_changed_manifests(
        changed in crate::manifests::manifest().prop_flat_map(|manifest| changed(vec![manifest.to_value()]))
    ) {
        static SCHEMA: LazyLock<Validator> = LazyLock::new(|| validator(&manifest::schema()));
        let read = RunManifest::from_text(&pretty_sorted_utf8(&changed));
        agree(&SCHEMA, &changed, read).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn schema_and_reader_agree_on_changed_bundles(changed in changed(vec![parse(BUNDLE).unwrap()])) {
        static SCHEMA: LazyLock<Validator> = LazyLock::new(|| validator(&bundle::schema()));
        agree(&SCHEMA, &changed, Bundle::from_value(changed.clone())).map_err(TestCaseError::fail)?;
    }
}
