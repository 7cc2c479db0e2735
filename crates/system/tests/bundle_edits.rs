//! Single edits of a bundle that is made again from its sources: each is found, and each has one finding.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use stave_canon::{Pointer, Value};
use stave_system::SystemDocument;
use stave_system::bundle::check::{BundleComparison, Derivation, Issue, check};
use stave_system::bundle::{Bundle, BundleOptions, BundleSource, Intent, Specifications, specifications};

/// A workflow with knowledge, an integration and a deployment.
const DOCUMENT: &str = r#"{"schema_kind": "akc_ir", "tenant_id": "acme", "repo_id": "plants", "nodes": [
  {"id": "goal", "tenant_id": "acme", "kind": "intent", "name": "plant",
   "properties": {"intent_id": "plant", "active_success_criteria": [{"success_criterion_id": "reads", "evaluation_mode": "tests"}]},
   "contract": {"contract_id": "accept", "contract_category": "acceptance",
     "triggers": [{"trigger_id": "t", "source": "compile.acceptance.evaluate"}],
     "io_contract": {"input_keys": ["intent_context"], "output_keys": ["acceptance_status"]}}},
  {"id": "hub", "tenant_id": "acme", "kind": "knowledge", "name": "knowledge_layer",
   "properties": {"persisted_snapshot_relpath": ".akc/knowledge/snapshot.json", "knowledge_assertion_ids": ["a1"],
     "knowledge_semantic_fingerprint_16": "0123456789abcdef"}},
  {"id": "rule", "tenant_id": "acme", "kind": "entity", "name": "constraint:a1", "depends_on": ["hub"],
   "properties": {"assertion_id": "a1", "kind": "hard", "predicate": "required", "summary": "keep readings"}},
  {"id": "host", "tenant_id": "acme", "kind": "integration", "name": "host:plant.example.com", "properties": {},
   "effects": {"network": true, "secrets": ["TOKEN"]}},
  {"id": "infra", "tenant_id": "acme", "kind": "infrastructure", "name": "deployment:plant",
   "properties": {"flow": "plant", "target": "kserve", "service_name": "plant"}, "effects": {"network": true},
   "contract": {"contract_id": "deploy", "contract_category": "deployment",
     "triggers": [{"trigger_id": "t", "source": "deploy"}],
     "io_contract": {"input_keys": ["image"], "output_keys": ["endpoint"]}}},
  {"id": "read", "tenant_id": "acme", "kind": "workflow", "name": "read", "depends_on": ["goal", "hub", "host", "infra"],
   "properties": {"plan_id": "plant", "order_idx": 0}, "effects": {"network": true, "tools": ["http.get"]},
   "provenance": [{"tenant_id": "acme", "kind": "file", "source_id": "plant.wdl", "locator": "L1-L4"}],
   "contract": {"contract_id": "run-read", "contract_category": "runtime", "triggers": [{"trigger_id": "t", "source": "s"}],
     "io_contract": {"input_keys": ["sensor"], "output_keys": ["reading"]}, "runtime_budget": {"max_seconds": 15}}},
  {"id": "judge", "tenant_id": "acme", "kind": "workflow", "name": "judge", "depends_on": ["read"],
   "properties": {"plan_id": "plant", "order_idx": 1}, "effects": {"tools": ["llm.complete"]},
   "contract": {"contract_id": "run-judge", "contract_category": "runtime", "triggers": [{"trigger_id": "t", "source": "s"}],
     "io_contract": {"input_keys": ["reading"], "output_keys": ["verdict"]}}}]}"#;

/// What another writer says about delivery. The keys of `supported_delivery_paths` are environments.
const DELIVERY_PLAN: &str = r#"{"tenant_id": "acme", "repo_id": "plants",
  "promotion_readiness": {"status": "blocked", "is_promotion_ready": false, "promotion_blockers": ["domain_name"]},
  "targets": [
    {"target_id": "infra", "target_class": "backend_service", "name": "deployment:plant",
     "supported_delivery_paths": {"staging": ["direct_apply", "workflow_handoff"], "local": ["direct_apply"]}},
    {"target_id": "host", "target_class": "integration", "name": "host:plant.example.com",
     "supported_delivery_paths": {"local": ["direct_apply"]}}]}"#;

struct Sources {
    document: SystemDocument,
    specifications: Specifications,
    intent: Intent,
    /// Whether the intent is at hand, as it is for documents that were lowered from flows.
    has_intent: bool,
    delivery_plan: Option<Value>,
}

impl Sources {
    fn new(has_intent: bool, delivery_plan: Option<&str>) -> Sources {
        let document = SystemDocument::from_text(DOCUMENT).unwrap();
        let intent = Intent::from_spec(Value::from_iter([
            ("intent_id", Value::from("plant")),
            ("tenant_id", "acme".into()),
            ("repo_id", "plants".into()),
            ("spec_version", 1_i64.into()),
            ("goal_statement", "Judges readings.".into()),
            ("success_criteria", Value::Array(vec!["reads".into()])),
            ("operating_bounds", Value::from_iter([("allow_network", true)])),
            ("policies", Value::Array(Vec::new())),
        ]));
        Sources {
            specifications: specifications("run-1", &document),
            document,
            intent,
            has_intent,
            delivery_plan: delivery_plan.map(|text| stave_canon::parse(text).unwrap()),
        }
    }

    fn bundle(&self) -> Bundle {
        let made = Bundle::emit(BundleSource {
            run_id: "run-1",
            document: &self.document,
            intent: Some(&self.intent),
            orchestration: &self.specifications.orchestration,
            coordination: &self.specifications.coordination,
            delivery_plan: self.delivery_plan.as_ref(),
            options: BundleOptions {
                strict_alignment: true,
                embed_coordination_spec: true,
                embed_system_ir: true,
                ..BundleOptions::default()
            },
        });
        made.unwrap()
    }

    fn issues(&self, bundle: &Value) -> Vec<Issue> {
        check(BundleComparison {
            document: &self.document,
            bundle,
            orchestration: Some(&self.specifications.orchestration),
            coordination: Some(&self.specifications.coordination),
            expected_allow_network: None,
            derivation: Some(Derivation {
                intent: self.has_intent.then_some(&self.intent),
                specifications: self.has_intent.then_some(&self.specifications),
                delivery_plan: self.delivery_plan.as_ref(),
                demands_alignment: self.has_intent,
            }),
        })
    }
}

/// Every place of a value, with the value there.
fn places(value: &Value, pointer: &Pointer, found: &mut Vec<(String, Value)>) {
    found.push((pointer.to_string(), value.clone()));
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| places(value, &pointer.key(key), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, &pointer.index(index), found));
        }
        _ => {}
    }
}

/// The value at a pointer.
fn at<'v>(value: &'v mut Value, pointer: &str) -> &'v mut Value {
    pointer.split('/').skip(1).fold(value, |here, token| match here {
        Value::Object(members) => members.get_mut(&token.replace("~1", "/").replace("~0", "~")).unwrap(),
        Value::Array(items) => &mut items[token.parse::<usize>().unwrap()],
        _ => unreachable!(),
    })
}

/// Edits of one place each: scalars changed, items removed and repeated.
fn edits(bundle: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    places(bundle, &Pointer::root(), &mut found);
    let mut edits = Vec::new();
    let mut edit = |pointer: &str, what: &str, with: Value| {
        let mut changed = bundle.clone();
        *at(&mut changed, pointer) = with;
        edits.push((format!("{pointer} {what}"), changed));
    };
    for (pointer, value) in found {
        match value {
            Value::Bool(flag) => edit(&pointer, "flipped", (!flag).into()),
            Value::String(text) => edit(&pointer, "longer", format!("{text}x").into()),
            Value::Null => edit(&pointer, "set", "x".into()),
            Value::Number(number) => edit(&pointer, "raised", (number.as_i64().unwrap() + 1).into()),
            Value::Array(items) if items.is_empty() => edit(&pointer, "filled", vec!["x"].into()),
            Value::Array(items) => {
                let (_, rest) = items.split_last().unwrap();
                edit(&pointer, "shorter", rest.to_vec().into());
                let repeated: Vec<Value> = items.iter().chain(items.first()).cloned().collect();
                edit(&pointer, "repeated", repeated.into());
            }
            Value::Object(_) => {}
        }
    }
    edits
}

/// The edits that do not have exactly one finding.
fn not_once(sources: &Sources, edits: &[(String, Value)]) -> Vec<String> {
    let found = edits.iter().map(|(edit, bundle)| (edit, sources.issues(bundle)));
    let wrong = found.filter(|(_, issues)| issues.len() != 1).map(|(edit, issues)| {
        let lines =
            issues.iter().map(|issue| format!("\n    {} {} {}", issue.code, issue.pointer, issue.message));
        format!("{edit}: {}{}", issues.len(), lines.collect::<String>())
    });
    wrong.collect()
}

#[test]
fn every_single_edit_of_a_bundle_has_exactly_one_finding() {
    let sources = Sources::new(true, Some(DELIVERY_PLAN));
    let bundle = sources.bundle();
    assert_eq!(sources.issues(bundle.value()), []);
    let edits = edits(bundle.value());
    assert!(edits.len() >= 200, "{} edits", edits.len());
    let wrong = not_once(&sources, &edits);
    assert!(wrong.is_empty(), "{} of {} edits:\n{}", wrong.len(), edits.len(), wrong.join("\n"));
}

#[test]
fn an_edit_of_another_writers_bundle_has_one_finding_where_a_source_gives_the_value() {
    let sources = Sources::new(false, Some(DELIVERY_PLAN));
    let bundle = sources.bundle();
    assert_eq!(sources.issues(bundle.value()), []);
    let edits = edits(bundle.value());
    // These follow from that writer's intent alone, or mean the same.
    let free = [
        "/runtime_policy_envelope/network_allow_reason longer",
        "/runtime_policy_envelope/require_reconcile_evidence flipped",
        "/intent_policy_projection/spec_version raised",
        "/intent_policy_projection/policies filled",
        "/depends_on repeated",
    ];
    let mut wrong = not_once(&sources, &edits);
    wrong.retain(|line| !(line.ends_with(": 0") && free.iter().any(|free| line.contains(free))));
    assert!(wrong.is_empty(), "{} of {} edits:\n{}", wrong.len(), edits.len(), wrong.join("\n"));
}

#[test]
fn every_member_that_is_removed_has_exactly_one_finding() {
    let sources = Sources::new(true, Some(DELIVERY_PLAN));
    let bundle = sources.bundle();
    let mut removed = Vec::new();
    for key in bundle.value().as_object().unwrap().keys() {
        let mut changed = bundle.value().clone();
        changed.as_object_mut().unwrap().shift_remove(key).unwrap();
        // Whether the coordination is inline is an option of the compile, which the run manifest's hash vouches for.
        if key != "coordination_spec" {
            removed.push((format!("{key} removed"), changed));
        }
    }
    let wrong = not_once(&sources, &removed);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_row_has_the_environments_and_paths_of_its_delivery_target() {
    let bundle = Sources::new(false, Some(DELIVERY_PLAN)).bundle();
    let rows = bundle.value().get("deployment_intents").and_then(Value::as_array).unwrap();
    let row = rows.iter().find(|row| row.get("node_id") == Some(&"infra".into())).unwrap();
    assert_eq!(row.get("environment_support"), Some(&vec!["local", "staging"].into()));
    assert_eq!(row.pointer("/delivery_paths/staging/1"), Some(&"workflow_handoff".into()));
    assert_eq!(row.get("target_class"), Some(&"backend_service".into()));
}

#[test]
fn a_harmless_difference_adds_no_finding_to_an_edit() {
    let sources = Sources::new(false, None);
    let mut changed = sources.bundle().value().clone();
    // The second list means the same; a reader must not take it for a second edit.
    *at(&mut changed, "/deployment_intents/1/depends_on") = vec![" "].into();
    assert_eq!(sources.issues(&changed), []);
    *at(&mut changed, "/deployment_intents/0/node_id") = "ghost".into();
    let found = sources.issues(&changed);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn two_edits_have_a_finding_each() {
    let sources = Sources::new(true, None);
    let mut changed = sources.bundle().value().clone();
    *at(&mut changed, "/deployment_intents/0/name") = "other".into();
    *at(&mut changed, "/referenced_ir_nodes/0/id") = "other".into();
    *at(&mut changed, "/runtime_policy_envelope/tenant_isolation_required") = false.into();
    let found = sources.issues(&changed);
    assert_eq!(found.len(), 3, "{found:?}");
}
