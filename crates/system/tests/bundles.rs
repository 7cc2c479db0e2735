//! Laws of bundles: what is made from a document agrees with it, and nothing that is changed goes unseen.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use proptest::prelude::*;
use stave_canon::Value;
use stave_system::SystemDocument;
use stave_system::bundle::check::{BundleComparison, Derivation, check};
use stave_system::bundle::{
    Bundle, BundleError, BundleOptions, BundleSource, BundleVersion, Intent, Specifications, specifications,
};
use stave_system::policy::Check;
use stave_system::sign::{Claim, SecretKey, Trust, TrustRefusal};

use crate::documents::document;
use crate::signing::{terms, trusting, verify};

/// The fields that version 4 adds.
const VERSION_4: [&str; 5] = [
    "coordination_ref",
    "reconcile_desired_state_source",
    "deployment_provider_contract",
    "workflow_execution_contract",
    "coordination_execution_contract",
];

fn intent(document: &SystemDocument) -> Intent {
    let bounds = Value::from_iter([("allow_network", true)]);
    Intent::from_spec(Value::from_iter([
        ("intent_id", Value::from("i")),
        ("tenant_id", document.tenant_id.as_str().into()),
        ("repo_id", document.repo_id.as_str().into()),
        ("operating_bounds", bounds),
    ]))
}

fn emit(document: &SystemDocument, options: BundleOptions) -> (Bundle, Specifications) {
    let specifications = specifications("run-1", document);
    let bundle = Bundle::emit(BundleSource {
        run_id: "run-1",
        document,
        intent: Some(&intent(document)),
        orchestration: &specifications.orchestration,
        coordination: &specifications.coordination,
        delivery_plan: None,
        options,
    });
    (bundle.unwrap(), specifications)
}

fn issues(document: &SystemDocument, bundle: &Value, specifications: &Specifications) -> Vec<String> {
    let found = check(BundleComparison {
        document,
        bundle,
        orchestration: Some(&specifications.orchestration),
        coordination: Some(&specifications.coordination),
        expected_allow_network: Some(true),
        derivation: None,
    });
    found.iter().map(|issue| format!("{} {} {}", issue.code, issue.pointer, issue.message)).collect()
}

/// The issues of a bundle that is made again from its document and this intent.
fn derived_issues(document: &SystemDocument, bundle: &Value, specifications: &Specifications) -> Vec<String> {
    let intent = intent(document);
    let found = check(BundleComparison {
        document,
        bundle,
        orchestration: Some(&specifications.orchestration),
        coordination: Some(&specifications.coordination),
        expected_allow_network: None,
        derivation: Some(Derivation {
            intent: Some(&intent),
            specifications: Some(specifications),
            delivery_plan: None,
            demands_alignment: false,
        }),
    });
    found.iter().map(|issue| format!("{} {} {}", issue.code, issue.pointer, issue.message)).collect()
}

fn options() -> impl Strategy<Value = BundleOptions> {
    (proptest::sample::select(BundleVersion::ALL.to_vec()), any::<[bool; 4]>()).prop_map(
        |(version, flags)| BundleOptions {
            version,
            embed_system_ir: flags[0],
            embed_coordination_spec: flags[1],
            strict_alignment: flags[2],
            deploy_targets_from_ir_only: flags[3],
        },
    )
}

/// Every place of a value that holds a scalar.
fn scalars(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                scalars(value, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                scalars(item, &format!("{path}/{index}"), found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

fn replace(value: &mut Value, path: &str, with: Value) {
    let mut here = value;
    for token in path.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        here = match here {
            Value::Object(members) => members.get_mut(&token).unwrap(),
            Value::Array(items) => &mut items[token.parse::<usize>().unwrap()],
            _ => unreachable!(),
        };
    }
    *here = with;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_bundle_agrees_with_its_document(document in document(), options in options()) {
        let (bundle, specifications) = emit(&document, options);
        prop_assert_eq!(issues(&document, bundle.value(), &specifications), Vec::<String>::new());
        prop_assert_eq!(&Bundle::from_text(&bundle.to_file_text()).unwrap(), &bundle);
    }

    #[test]
    fn a_bundle_does_not_depend_on_the_order_of_nodes(document in document(), options in options()) {
        let mut turned = document.clone();
        turned.nodes.reverse();
        for node in &mut turned.nodes {
            node.depends_on.reverse();
            node.provenance.reverse();
        }
        prop_assert_eq!(emit(&document, options).0.to_file_text(), emit(&turned, options).0.to_file_text());
    }

    #[test]
    fn a_field_is_there_only_from_its_version_on(document in document(), options in options()) {
        let (bundle, _) = emit(&document, options);
        let has = |key: &str| bundle.value().get(key).is_some();
        let version = options.version;
        for key in VERSION_4 {
            prop_assert_eq!(has(key), version >= BundleVersion::V4, "{}", key);
        }
        prop_assert_eq!(has("coordination_spec"), version >= BundleVersion::V4 && options.embed_coordination_spec);
        prop_assert_eq!(has("deployment_intents_ir_alignment"), version >= BundleVersion::V4 && options.strict_alignment);
        prop_assert_eq!(
            has("reconcile_deploy_targets_from_ir_only"),
            version >= BundleVersion::V4 && options.deploy_targets_from_ir_only
        );
        prop_assert_eq!(has("embed_system_ir"), version >= BundleVersion::V3);
        prop_assert_eq!(has("system_ir"), options.embed_system_ir);
    }

    /// Whatever the bundle repeats of the document cannot be changed unseen.
    #[test]
    fn a_changed_copy_of_the_document_is_noticed(
        document in document(),
        options in options(),
        pick in any::<proptest::sample::Index>(),
    ) {
        let (bundle, specifications) = emit(&document, options);
        let mut places = Vec::new();
        for key in ["referenced_ir_nodes", "referenced_contracts", "system_ir_ref", "spec_hashes", "tenant_id", "repo_id"] {
            if let Some(part) = bundle.value().get(key) {
                scalars(part, &format!("/{key}"), &mut places);
            }
        }
        let path = pick.get(&places).clone();
        let mut changed = bundle.value().clone();
        replace(&mut changed, &path, Value::from("changed by a test"));
        prop_assert!(!issues(&document, &changed, &specifications).is_empty(), "{} changed unseen", path);
    }

    /// No scalar of a bundle can be changed unseen when the bundle is made again. What is compared with what was made again
    /// has one finding.
    #[test]
    fn every_edit_of_a_bundle_that_is_made_again_is_found(
        document in document(),
        options in options(),
        pick in any::<proptest::sample::Index>(),
    ) {
        let (bundle, specifications) = emit(&document, options);
        prop_assert_eq!(derived_issues(&document, bundle.value(), &specifications), Vec::<String>::new());
        let mut places = Vec::new();
        scalars(bundle.value(), "", &mut places);
        let path = pick.get(&places).clone();
        let mut changed = bundle.value().clone();
        replace(&mut changed, &path, Value::from("changed by a test"));
        let found = derived_issues(&document, &changed, &specifications);
        prop_assert!(!found.is_empty(), "{} changed unseen", path);
        let is_derived = ["_contract", "intent_", "promotion_", "reconcile_", "delivery_"].iter().any(|part| {
            path.split('/').nth(1).is_some_and(|member| member.contains(part)) && !path.contains("/deployment_intents/")
        });
        if is_derived && !path.starts_with("/referenced_contracts") {
            prop_assert_eq!(found.len(), 1, "{}: {:?}", path, found);
        }
    }

    /// A signature sees every byte, whether or not it means anything.
    #[test]
    fn any_changed_byte_of_a_signed_bundle_is_refused(
        document in document(),
        seed in any::<[u8; 32]>(),
        pick in any::<proptest::sample::Index>(),
        with in any::<u8>(),
    ) {
        let (bundle, _) = emit(&document, BundleOptions::default());
        let text = bundle.to_file_text();
        let key = SecretKey::from_seed(&seed);
        let signature = key.sign(Claim::of(&text).unwrap(), terms());
        let settings = trusting(&[key.public()]);
        let (tenant_id, repo_id) = (bundle.text("tenant_id"), bundle.text("repo_id"));
        let trust = Trust { settings: &settings, tenant_id, repo_id, name: None };
        prop_assert_eq!(verify(&text, Some(&signature), trust), Ok(()));
        let mut bytes = text.clone().into_bytes();
        let at = pick.index(bytes.len());
        prop_assume!(bytes[at] != with);
        bytes[at] = with;
        // A text that is not UTF-8 is refused before its signature is looked at.
        if let Ok(changed) = String::from_utf8(bytes) {
            prop_assert_eq!(verify(&changed, Some(&signature), trust), Err(TrustRefusal::Tampered));
        }
    }
}

#[test]
fn a_row_that_drifts_from_its_node_is_misaligned() {
    let text = r#"{"schema_kind": "akc_ir", "tenant_id": "t", "repo_id": "r", "nodes": [
      {"id": "svc", "tenant_id": "t", "kind": "service", "name": "api", "properties": {}, "depends_on": ["db", "net"],
       "effects": {"network": true, "secrets": ["KEY"]}},
      {"id": "db", "tenant_id": "t", "kind": "integration", "name": "db", "properties": {}, "effects": {}},
      {"id": "net", "tenant_id": "t", "kind": "infrastructure", "name": "net", "properties": {}, "effects": {}}]}"#;
    let document = SystemDocument::from_text(text).unwrap();
    let (bundle, specifications) = emit(&document, BundleOptions::default());
    let row = bundle.value().get("deployment_intents").unwrap().as_array().unwrap();
    let index = row.iter().position(|row| row.get("node_id") == Some(&"svc".into())).unwrap();
    let drifts: [(&str, Value); 7] = [
        ("kind", "agent".into()),
        ("name", "other".into()),
        ("effects", Value::Null),
        ("contract_id", "c".into()),
        ("depends_on", vec!["db"].into()),
        ("node_id", "ghost".into()),
        ("node_id", " ".into()),
    ];
    for (key, with) in drifts {
        let mut changed = bundle.value().clone();
        replace(&mut changed, &format!("/deployment_intents/{index}/{key}"), with);
        let found = check(BundleComparison {
            document: &document,
            bundle: &changed,
            orchestration: Some(&specifications.orchestration),
            coordination: Some(&specifications.coordination),
            expected_allow_network: None,
            derivation: None,
        });
        assert!(!found.is_empty(), "{key} drifted unseen");
        assert!(found.iter().all(|issue| issue.check == Check::IntentAlignment), "{key}: {found:?}");
    }
    // The same dependencies in another order are the same.
    let mut turned = bundle.value().clone();
    replace(&mut turned, &format!("/deployment_intents/{index}/depends_on"), vec!["net", "db", "net"].into());
    assert_eq!(issues(&document, &turned, &specifications), Vec::<String>::new());
}

#[test]
fn what_belongs_to_another_tenant_makes_no_bundle() {
    let document = SystemDocument::from_text(
        r#"{"schema_kind": "akc_ir", "tenant_id": "acme", "repo_id": "r", "nodes": []}"#,
    )
    .unwrap();
    let own = specifications("run-1", &document);
    let foreign = Value::from_iter([("tenant_id", "other")]);
    for (orchestration, coordination, plan) in [
        (&foreign, &own.coordination, None),
        (&own.orchestration, &foreign, None),
        (&own.orchestration, &own.coordination, Some(&foreign)),
    ] {
        let emitted = Bundle::emit(BundleSource {
            run_id: "run-1",
            document: &document,
            intent: None,
            orchestration,
            coordination,
            delivery_plan: plan,
            options: BundleOptions::default(),
        });
        assert!(matches!(emitted, Err(BundleError::Scope { field: "tenant_id", .. })), "{emitted:?}");
    }
}

#[test]
fn a_run_id_can_not_leave_its_folder() {
    let document = SystemDocument::from_text(
        r#"{"schema_kind": "akc_ir", "tenant_id": "t", "repo_id": "r", "nodes": []}"#,
    )
    .unwrap();
    for run_id in ["", " ", "../x", "a/b", "a\\b", ".hidden"] {
        let emitted = Bundle::emit(BundleSource {
            run_id,
            document: &document,
            intent: None,
            orchestration: &Value::Null,
            coordination: &Value::Null,
            delivery_plan: None,
            options: BundleOptions::default(),
        });
        assert!(matches!(emitted, Err(BundleError::RunId(_))), "{run_id:?}: {emitted:?}");
    }
}
