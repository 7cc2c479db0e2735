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
    let edits: [(&str, Value); 20] = [
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
        ("/referenced_ir_nodes/0/id", "irn_0000000000000000".into()),
        ("/referenced_ir_nodes/0/tenant_id", "other".into()),
        ("/deployment_intents/0/node_id", "irn_0000000000000000".into()),
        ("/deployment_intents/0/effects/network", false.into()),
        ("/spec_hashes/coordination_spec_sha256", "0".repeat(64).into()),
        ("/run_id", "run_0000000000000000".into()),
    ];
    for (pointer, with) in edits {
        folder.write(&path, edited(&bundle, pointer, &with));
        let found = findings(&folder, &path).await;
        assert_eq!(found.len(), 1, "{pointer}: {found:?}");
    }
}

#[tokio::test]
async fn a_bundle_of_a_document_is_made_as_the_project_says_and_passes_its_check() {
    let folder = compiled("acme").await;
    let (path, compiled) = bundle_of(&folder, "out");
    let run_id = compiled.get("run_id").and_then(Value::as_str).unwrap();
    let document = format!("out/.akc/ir/{run_id}.json");
    let bundled = async |more: &[&str]| {
        let arguments = ["system", "bundle", document.as_str(), "--run-id", run_id];
        let made = stave(&folder, arguments.into_iter().chain(more.iter().copied())).finish().await;
        made.exits(0).json()
    };
    assert_eq!(bundled(&[]).await, compiled);
    // The run manifest is of the compiled bundle.
    std::fs::remove_file(folder.path().join(format!("out/.akc/run/{run_id}.manifest.json"))).unwrap();
    let older = bundled(&["--schema-version", "3", "--embed-system-ir"]).await;
    assert_eq!(older.get("schema_version"), Some(&3_i64.into()));
    folder.write(&path, stave_canon::pretty_sorted_utf8(&older));
    assert_eq!(findings(&folder, &path).await, Vec::<String>::new());

    let settings = folder.read("stave.toml") + "[bundle]\nembed_system_ir = true\ncoordination_spec = true\n";
    folder.write("stave.toml", settings);
    stave(&folder, ["compile", "flows", "--out", "whole"]).finish().await.exits(0);
    let (path, whole) = bundle_of(&folder, "whole");
    assert_ne!(whole.get("run_id"), compiled.get("run_id"), "what changes an output changes the run id");
    assert_eq!(whole.get("embed_system_ir"), Some(&true.into()));
    assert!(whole.get("system_ir").is_some() && whole.get("coordination_spec").is_some());
    assert_eq!(findings(&folder, &path).await, Vec::<String>::new());
    let settings = folder.read("stave.toml").replace("embed_system_ir = true", "version = 2");
    folder.write("stave.toml", settings);
    stave(&folder, ["compile", "flows", "--out", "second"]).finish().await.exits(0);
    let (path, second) = bundle_of(&folder, "second");
    assert_eq!(second.get("schema_id"), Some(&"akc:runtime_bundle:v2".into()));
    assert!(second.get("coordination_ref").is_none() && second.get("system_ir").is_none());
    assert_eq!(findings(&folder, &path).await, Vec::<String>::new());
    folder.write("stave.toml", folder.read("stave.toml").replace("version = 2", "version = 5"));
    stave(&folder, ["compile", "flows", "--out", "second"]).finish().await.exits(2);
}

#[tokio::test]
async fn a_flow_without_a_description_is_for_what_its_name_says() {
    let folder = compiled("acme").await;
    let (_, bundle) = bundle_of(&folder, "out");
    let goal = bundle.pointer("/intent_ref/goal_text_fingerprint").and_then(Value::as_str).unwrap();
    assert_eq!(goal.len(), 16, "{bundle}");
}

/// A bundle as another writer leaves it: with an intent that is not in the document, sentences of its own, members without
/// a value, and deployment rows from a delivery plan whose targets list their paths by environment.
#[tokio::test]
async fn another_writers_tree_with_a_delivery_plan_is_accepted() {
    let folder = compiled("acme").await;
    let (path, mut bundle) = bundle_of(&folder, "out");
    let run_id = bundle.get("run_id").and_then(Value::as_str).unwrap().to_owned();
    std::fs::remove_file(folder.path().join(format!("out/.akc/run/{run_id}.manifest.json"))).unwrap();
    let node = bundle.pointer("/deployment_intents/0/node_id").cloned().unwrap();
    let paths = "{\"production\": [\"workflow_handoff\"], \"local\": [\"direct_apply\"]}";
    let target = format!(
        "{{\"target_id\": {node}, \"target_class\": \"integration\", \"supported_delivery_paths\": {paths}}}"
    );
    let readiness = "{\"status\": \"blocked\", \"promotion_blockers\": [\"domain_name\"]}";
    let plan = format!(
        "{{\"run_id\": \"{run_id}\", \"promotion_readiness\": {readiness}, \"targets\": [{target}]}}"
    );
    let plan_path = format!(".akc/deployment/{run_id}.delivery_plan.json");
    folder.write(&format!("out/{plan_path}"), &plan);

    let parsed = |text: &str| stave_canon::parse(text).unwrap();
    let hash = |text: &str| stave_canon::sha256_of(&parsed(text), &stave_canon::Layout::COMPACT_UTF8);
    let members = bundle.as_object_mut().unwrap();
    let Some(Value::Array(rows)) = members.get_mut("deployment_intents") else { panic!("no rows") };
    let row = rows.first_mut().unwrap().as_object_mut().unwrap();
    row.insert("target_class".to_owned(), "integration".into());
    row.insert("environment_support".to_owned(), vec!["local", "production"].into());
    row.insert("delivery_paths".to_owned(), parsed(paths));
    row.insert("operational_profile_fingerprint".to_owned(), hash(&target).into());
    members.insert("promotion_readiness".to_owned(), parsed(readiness));
    let reference = [("path", plan_path), ("fingerprint", hash(&plan))];
    members.insert("delivery_plan_ref".to_owned(), reference.into_iter().collect());
    for (part, prefix) in [("intent_ref", ""), ("intent_policy_projection", "intent_")] {
        let part = members.get_mut(part).unwrap().as_object_mut().unwrap();
        part.insert("intent_id".to_owned(), "their-intent".into());
        part.insert("stable_intent_sha256".to_owned(), "1".repeat(64).into());
        part.insert(format!("{prefix}semantic_fingerprint"), "2".repeat(16).into());
        part.insert(format!("{prefix}goal_text_fingerprint"), "3".repeat(16).into());
    }
    members
        .get_mut("knowledge_layer_ref")
        .unwrap()
        .as_object_mut()
        .unwrap()
        .insert("theirs".to_owned(), Value::Null);
    members.insert("coordination_spec".to_owned(), Value::Null);
    folder.write(&path, stave_canon::pretty_sorted_utf8(&bundle));
    assert_eq!(findings(&folder, &path).await, Vec::<String>::new());
    let edit = edited(&bundle, "/deployment_intents/0/delivery_paths/local/0", &"gitops_handoff".into());
    folder.write(&path, edit);
    assert_eq!(findings(&folder, &path).await.len(), 1);
    // The reference to the coordination only repeats a hash.
    bundle.as_object_mut().unwrap().shift_remove("coordination_ref").unwrap();
    folder.write(&path, stave_canon::pretty_sorted_utf8(&bundle));
    assert_eq!(findings(&folder, &path).await, Vec::<String>::new());
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

    // A file that is not a manifest, or one that lists nothing, vouches for nothing.
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
