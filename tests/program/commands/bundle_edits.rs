//! `stave bundle check` makes a bundle again from its document and knowledge, and finds every edit of it.

use stave_canon::Value;

use crate::folder::Folder;
use crate::process::stave;

/// A workflow that reaches the network.
const WORKFLOW: &str = "version: dsl/v0
workflow: plant
inputs:
  readings: object
steps:
  - act(http.post):
      url: https://plant.example.com/act
outputs:
  result: $step.act
";

const KNOWLEDGE: &str = "constraints:
  - id: no-egress
    subject: plant
    predicate: forbidden
    object: internet
    kind: hard
    summary: no network egress
";

fn paths(folder: &Folder) -> Vec<String> {
    folder.files().into_iter().map(|(path, _)| path.to_string_lossy().into_owned()).collect()
}

/// A value with another one at a pointer.
fn edited(value: &Value, pointer: &str, with: &Value) -> String {
    let mut changed = value.clone();
    let mut place = &mut changed;
    for key in pointer.split('/').skip(1) {
        place = match place {
            Value::Array(items) => items.get_mut(key.parse::<usize>().unwrap()),
            other => other.as_object_mut().unwrap().get_mut(key),
        }
        .unwrap_or_else(|| panic!("no {pointer}"));
    }
    assert_ne!(place, with, "{pointer}");
    *place = with.clone();
    stave_canon::pretty_sorted_utf8(&changed)
}

fn bundle_of(folder: &Folder, out: &str) -> (String, Value) {
    let is_bundle = |path: &String| path.contains(&format!("{out}/.akc/runtime/"));
    let path = paths(folder).into_iter().find(is_bundle).expect("a bundle");
    let value = stave_canon::parse(&folder.read(&path)).unwrap();
    (path, value)
}

async fn compiled(tenant: &str) -> Folder {
    let folder = Folder::new();
    folder.write("stave.toml", format!("[project]\ntenant = \"{tenant}\"\nrepo = \"plants\"\n"));
    folder.write("flows/plant.wdl", WORKFLOW);
    folder.write("knowledge/rules.yaml", KNOWLEDGE);
    stave(&folder, ["compile", "flows", "--out", "out"]).finish().await.exits(0);
    folder
}

async fn findings(folder: &Folder, path: &str) -> Vec<String> {
    let check = stave(folder, ["bundle", "check", path, "--json"]).finish().await;
    let report = stave_canon::parse(&check.stdout).unwrap();
    let found = report.get("diagnostics").and_then(Value::as_array).unwrap();
    found.iter().map(|one| one.get("message").and_then(Value::as_str).unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_edit_of_a_bundle_has_one_finding() {
    let folder = compiled("acme").await;
    let (path, bundle) = bundle_of(&folder, "out");
    assert_eq!(findings(&folder, &path).await, Vec::<String>::new());
    let edits: [(&str, Value); 14] = [
        ("/runtime_policy_envelope/tenant_isolation_required", false.into()),
        ("/runtime_policy_envelope/allow_network", true.into()),
        ("/runtime_policy_envelope/knowledge_network_forbidden", false.into()),
        (
            "/runtime_policy_envelope/coordination_role_isolation_profiles/retriever/execution_allow_network",
            true.into(),
        ),
        (
            "/runtime_policy_envelope/coordination_role_isolation_profiles/planner/allowed_tools",
            vec!["shell.exec"].into(),
        ),
        ("/deployment_provider_contract/mutation_mode", "mutate".into()),
        ("/promotion_readiness/status", "ready".into()),
        ("/intent_policy_projection/operating_bounds_effective/allow_network", false.into()),
        ("/intent_ref/stable_intent_sha256", "0".repeat(64).into()),
        ("/knowledge_layer_ref/knowledge_semantic_fingerprint_16", "0".repeat(16).into()),
        ("/coordination_execution_contract/max_in_flight_steps", 400_i64.into()),
        ("/workflow_execution_contract/allowed_routes/0", "shell".into()),
        ("/deployment_intents/0/target_class", "cluster".into()),
        ("/reconcile_desired_state_source", "deployment_intents".into()),
    ];
    for (pointer, with) in edits {
        folder.write(&path, edited(&bundle, pointer, &with));
        let found = findings(&folder, &path).await;
        assert_eq!(found.len(), 1, "{pointer}: {found:?}");
    }
}

#[tokio::test]
async fn members_that_are_removed_or_added_are_found_without_a_manifest() {
    let folder = compiled("acme").await;
    let (path, bundle) = bundle_of(&folder, "out");
    let run_id = bundle.get("run_id").and_then(Value::as_str).unwrap().to_owned();
    std::fs::remove_file(folder.path().join(format!("out/.akc/run/{run_id}.manifest.json"))).unwrap();
    for key in ["coordination_ref", "schema_id", "schema_version", "delivery_plan_ref"] {
        let mut changed = bundle.clone();
        changed.as_object_mut().unwrap().shift_remove(key).unwrap();
        folder.write(&path, stave_canon::pretty_sorted_utf8(&changed));
        assert!(!findings(&folder, &path).await.is_empty(), "{key} was removed");
    }
    for key in ["system_ir_ref", "coordination_ref", "spec_hashes"] {
        let mut changed = bundle.clone();
        let reference = changed.as_object_mut().unwrap().get_mut(key).unwrap().as_object_mut().unwrap();
        reference.insert("url".to_owned(), "http://elsewhere.example".into());
        folder.write(&path, stave_canon::pretty_sorted_utf8(&changed));
        assert_eq!(findings(&folder, &path).await.len(), 1, "{key} got a member");
    }
}

#[tokio::test]
async fn edits_beside_a_bundle_are_found_and_a_started_tree_is_accepted() {
    let folder = compiled("acme").await;
    let (path, bundle) = bundle_of(&folder, "out");
    let run_id = bundle.get("run_id").and_then(Value::as_str).unwrap().to_owned();
    let manifest_path = format!("out/.akc/run/{run_id}.manifest.json");
    let manifest = stave_canon::parse(&folder.read(&manifest_path)).unwrap();
    folder.write(&manifest_path, edited(&manifest, "/ir_sha256", &"0".repeat(64).into()));
    assert_eq!(findings(&folder, &path).await.len(), 1);

    // A runtime that started the bundle writes its fingerprint.
    let fingerprint = stave_canon::sha256_of(&bundle, &stave_canon::Layout::COMPACT_UTF8);
    folder.write(&manifest_path, edited(&manifest, "/runtime_bundle/sha256", &fingerprint.into()));
    assert_eq!(findings(&folder, &path).await, Vec::<String>::new());
    folder.write(&manifest_path, stave_canon::pretty_sorted_utf8(&manifest));

    // A manifest that is none, or that lists nothing, vouches for nothing.
    for with in ["[]", "{}", "{\"schema_kind\": \"run_manifest\"}"] {
        folder.write(&manifest_path, with);
        assert!(!findings(&folder, &path).await.is_empty(), "{with}");
    }
    folder.write(&manifest_path, stave_canon::pretty_sorted_utf8(&manifest));
    let document = "out/flows/plant.ir.json";
    let kept = folder.read(document);
    folder.write(document, kept.replace("plant.example.com", "evil.example.com"));
    let found = findings(&folder, &path).await;
    assert!(matches!(found.as_slice(), [only] if only.contains("plant.ir.json")), "{found:?}");
    folder.write(document, kept);

    let snapshot = "out/.akc/knowledge/snapshot.json";
    let text = folder.read(snapshot);
    folder.write(snapshot, text.replace("forbidden", "required"));
    let found = findings(&folder, &path).await;
    assert!(matches!(found.as_slice(), [only] if only.contains("snapshot.json")), "{found:?}");
}

#[tokio::test]
async fn knowledge_holds_for_workflows_and_changes_the_run_id() {
    let folder = compiled("acme").await;
    let (_, held) = bundle_of(&folder, "out");
    assert_eq!(held.pointer("/runtime_policy_envelope/allow_network"), Some(&false.into()));
    assert!(held.get("knowledge_layer_ref").is_some(), "{held}");
    folder.write("knowledge/rules.yaml", KNOWLEDGE.replace("hard", "soft"));
    stave(&folder, ["compile", "flows", "--out", "other"]).finish().await.exits(0);
    let (_, free) = bundle_of(&folder, "other");
    assert_eq!(free.pointer("/runtime_policy_envelope/allow_network"), Some(&true.into()));
    assert_ne!(held.get("run_id"), free.get("run_id"));
    let run_id = free.get("run_id").and_then(Value::as_str).unwrap();
    let manifest = folder.read(&format!("other/.akc/run/{run_id}.manifest.json"));
    assert!(manifest.contains("knowledge/rules.yaml"), "{manifest}");
}

#[tokio::test]
async fn each_tenant_has_its_own_snapshot() {
    let folder = Folder::new();
    for (tenant, summary) in [("acme", "acme forbids the network"), ("zeta", "zeta likes tea")] {
        let settings = format!("[project]\ntenant = \"{tenant}\"\nrepo = \"r\"\n");
        folder.write(&format!("{tenant}/stave.toml"), settings);
        let workflow = WORKFLOW.replace("workflow: plant", &format!("workflow: {tenant}"));
        folder.write(&format!("{tenant}/flows/{tenant}.wdl"), workflow);
        let knowledge = KNOWLEDGE.replace("no network egress", summary);
        folder.write(&format!("{tenant}/knowledge/rules.yaml"), knowledge);
    }
    stave(&folder, ["compile", "acme", "zeta", "--out", "out"]).finish().await.exits(0);
    let mut bundles = paths(&folder);
    bundles.retain(|path| path.ends_with(".runtime_bundle.json"));
    assert_eq!(bundles.len(), 2, "{bundles:?}");
    for path in bundles {
        let bundle = stave_canon::parse(&folder.read(&path)).unwrap();
        let tenant = bundle.get("tenant_id").and_then(Value::as_str).unwrap();
        let other = if tenant == "acme" { "zeta" } else { "acme" };
        let snapshot = bundle.pointer("/knowledge_layer_ref/persisted_snapshot_relpath").unwrap();
        let snapshot = folder.read(&format!("out/{}", snapshot.as_str().unwrap()));
        assert!(snapshot.contains(tenant) && !snapshot.contains(other), "{snapshot}");
        stave(&folder, ["bundle", "check", path.as_str()]).finish().await.exits(0);
    }
}
