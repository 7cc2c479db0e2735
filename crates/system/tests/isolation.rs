//! Tenants never mix: no call in one tenant's name returns, refers to or hashes a row of another's.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use proptest::collection::vec;
use proptest::prelude::*;
use stave_canon::{Value, compact_utf8};
use stave_system::bundle::check::{BundleComparison, check};
use stave_system::bundle::{Bundle, BundleOptions, BundleSource, specifications};
use stave_system::sign::{Claim, SecretKey, Trust, TrustRefusal};
use stave_system::{LoadError, PlanContext, SystemDocument, codes, diff, plan_to_ir};

use crate::signing::{terms, trusting, verify};

use crate::documents::document;

/// A word that only rows of the other tenant have.
const LEAK: &str = "leaked-from-beta";

/// Everything that can be made from a document in its tenant's name, as one text.
fn everything(document: &SystemDocument) -> String {
    let specifications = specifications("run-1", document);
    let bundle = Bundle::emit(BundleSource {
        run_id: "run-1",
        document,
        intent: None,
        orchestration: &specifications.orchestration,
        coordination: &Value::Null,
        delivery_plan: None,
        options: BundleOptions { embed_system_ir: true, ..BundleOptions::default() },
    })
    .unwrap();
    [document.to_file_text(), document.fingerprint(), bundle.to_file_text(), bundle.fingerprint()].join("\n")
}

/// A document of tenant `t` in which some nodes and provenance rows are the other tenant's.
fn mixed() -> impl Strategy<Value = (SystemDocument, SystemDocument)> {
    let marks = vec((any::<bool>(), any::<bool>()), 8);
    (document(), marks).prop_map(|(own, marks)| {
        let mut mixed = own.clone();
        for (node, (is_foreign, has_foreign_row)) in mixed.nodes.iter_mut().zip(marks) {
            if is_foreign {
                node.tenant_id = "beta".to_owned();
                node.name = LEAK.to_owned();
                for row in &mut node.provenance {
                    row.tenant_id = "beta".to_owned();
                }
            } else if let Some(row) = node.provenance.first_mut().filter(|_| has_foreign_row) {
                row.tenant_id = "beta".to_owned();
                row.source_id = LEAK.to_owned();
            }
        }
        (own, mixed)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_mixed_document_is_refused_and_every_foreign_row_is_named((own, mixed) in mixed()) {
        let value = mixed.to_value();
        let foreign = mixed != own;
        match SystemDocument::from_value(&value) {
            Ok(loaded) => {
                prop_assert!(!foreign);
                prop_assert_eq!(everything(&loaded), everything(&own.checked().unwrap()));
            }
            Err(LoadError::Faults(faults)) => {
                prop_assert!(foreign);
                for fault in &faults {
                    prop_assert_eq!(fault.code, codes::SYSTEM_CROSS_TENANT);
                    // The report of a refusal names the place, not the value there.
                    prop_assert!(!fault.message.contains(LEAK));
                }
                let rows = mixed.nodes.iter().filter(|node| node.tenant_id == "beta").count();
                prop_assert!(faults.len() >= rows);
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
        // A document that was built in memory is held to the same.
        prop_assert_eq!(mixed.checked().is_ok(), !foreign);
    }

    #[test]
    fn documents_of_two_tenants_are_not_compared(own in document(), other in document()) {
        let mut other = other;
        other.tenant_id = "beta".to_owned();
        for node in &mut other.nodes {
            node.tenant_id = "beta".to_owned();
            for row in &mut node.provenance {
                row.tenant_id = "beta".to_owned();
            }
        }
        prop_assert!(diff(&own, &other).is_err());
        let specifications = specifications("run-1", &other);
        let emit = |document, coordination| {
            Bundle::emit(BundleSource {
                run_id: "run-1",
                document,
                intent: None,
                orchestration: &specifications.orchestration,
                coordination,
                delivery_plan: None,
                options: BundleOptions::default(),
            })
        };
        prop_assert!(emit(&own, &Value::Null).is_err(), "another tenant's orchestration was taken");
        let foreign = emit(&other, &Value::Null).unwrap();
        let issues = check(BundleComparison {
            document: &own,
            bundle: foreign.value(),
            orchestration: None,
            coordination: None,
            expected_allow_network: None,
            derivation: None,
        });
        prop_assert!(issues.iter().any(|issue| issue.code == codes::BUNDLE_CROSS_TENANT));
        // Nor does a good signature of the other tenant open the door.
        let text = foreign.to_file_text();
        let key = SecretKey::from_seed(&[7; 32]);
        let signature = key.sign(Claim::of(&text).unwrap(), terms());
        let settings = trusting(&[key.public()]);
        let trust = Trust { settings: &settings, tenant_id: "t", repo_id: "r", name: None };
        let refusal = verify(&text, Some(&signature), trust);
        let is_foreign = matches!(refusal, Err(TrustRefusal::ForeignScope { field: "tenant", .. }));
        prop_assert!(is_foreign);
    }

    #[test]
    fn a_plan_takes_nothing_of_another_tenant(owners in vec(any::<bool>(), 1..5), in_step in any::<bool>()) {
        let rows: Vec<Value> = owners
            .iter()
            .enumerate()
            .map(|(index, is_own)| {
                let (tenant, source) = if *is_own { ("acme", format!("d{index}")) } else { ("beta", LEAK.to_owned()) };
                Value::from_iter([("tenant_id", tenant), ("kind", "doc_chunk"), ("source_id", source.as_str())])
            })
            .collect();
        let evidence = Value::from_iter([("resolved_provenance_pointers", rows.clone())]);
        let entry = Value::from_iter([("assertion_id", Value::from("a")), ("evidence", evidence)]);
        let constraint = Value::from_iter([("assertion_id", "a"), ("summary", "s")]);
        let snapshot = Value::from_iter([
            ("canonical_constraints", vec![constraint]),
            ("evidence_by_assertion", vec![entry]),
        ]);
        let retrieval = Value::from_iter([("provenance", rows)]);
        let outputs = if in_step {
            Value::from_iter([("retrieval_snapshot", retrieval)])
        } else {
            Value::from_iter([("knowledge_snapshot", snapshot)])
        };
        let step = Value::from_iter([
            ("id", Value::from("s")),
            ("title", "S".into()),
            ("order_idx", 0_i64.into()),
            ("inputs", Value::Null),
            ("outputs", outputs),
        ]);
        let plan = Value::from_iter([
            ("id", Value::from("p")),
            ("tenant_id", "acme".into()),
            ("repo_id", "r".into()),
            ("steps", vec![step].into()),
        ]);
        let has_foreign = owners.iter().any(|own| !own);
        match plan_to_ir(&plan, PlanContext::default()) {
            // Evidence is filtered; the provenance of a step must be its own.
            Ok(document) => {
                prop_assert!(!in_step || !has_foreign);
                prop_assert!(!compact_utf8(&document.to_value()).contains(LEAK));
                prop_assert!(!everything(&document).contains("beta"));
            }
            Err(error) => {
                prop_assert!(in_step && has_foreign);
                prop_assert!(!error.to_string().contains(LEAK));
            }
        }
    }
}

#[test]
fn an_intent_of_another_tenant_makes_no_document() {
    let plan = r#"{"id": "p", "tenant_id": "acme", "repo_id": "r", "steps": []}"#;
    let spec = r#"{"intent_id": "i", "tenant_id": "beta", "repo_id": "r"}"#;
    let (plan, spec) = (stave_canon::parse(plan).unwrap(), stave_canon::parse(spec).unwrap());
    let context = PlanContext { intent_spec: Some(&spec), ..PlanContext::default() };
    let error = plan_to_ir(&plan, context).unwrap_err();
    assert!(error.faults().iter().any(|fault| fault.code == codes::SYSTEM_CROSS_TENANT), "{error}");
}
