//! `stave system` and what `stave compile` makes of a project.

use stave_canon::Value;

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

/// A flow that asks a model, calls a host with a secret, remembers a session and is served.
pub(super) const FLOW: &str = r#"version: "1.0"
metadata:
  name: support
  description: Answers questions about orders.
context:
  requires: [query, session_id]
nodes:
  fetch:
    type: transform
    inputs:
      - {name: query, type: string}
    outputs:
      - {name: order, type: object}
    transform:
      mode: declarative
      spec:
        op: http.get
        args:
          url: "https://orders.example.com/find?q=${query}"
          headers:
            authorization: "Bearer ${secrets.ORDERS_TOKEN}"
    runtime: {timeout_ms: 5000, retries: 2}
  answer:
    type: transform
    inputs:
      - {name: query, type: string}
      - {name: order, type: object}
    outputs:
      - {name: reply, type: string}
    prompt:
      template: "Answer {{ query }} with {{ order }}."
      model: {provider: openai, name: gpt-4o-mini}
      max_tokens: 200
    state:
      scope: session
      key: "{context.session_id}"
      backend: BACKEND
edges:
  - {from: _input.query, to: fetch.query}
  - {from: _input.query, to: answer.query}
  - {from: fetch.order, to: answer.order}
  - {from: answer.reply, to: _output.reply}
deployment:
  target: kserve
  kserve:
    namespace: agents
    service_name: support
    min_replicas: 2
    max_replicas: 4
    target_rps: 20
    resources: {cpu: "1", memory: 1Gi}
"#;

/// The table of the project file that lets the flow read its secret.
const SECRETS: &str = "[secrets.ORDERS_TOKEN]\nhosts = [\"orders.example.com\"]\n";

/// A project with the flow above, whose sessions are kept in this backend.
pub(super) fn project(backend: &str) -> Folder {
    let folder = Folder::new();
    folder.write(
        "stave.toml",
        "[project]\ntenant = \"acme\"\nrepo = \"shop\"\n[secrets.ORDERS_TOKEN]\nhosts = [\"orders.example.com\"]\n",
    );
    folder.write("flows/support.yaml", FLOW.replace("BACKEND", backend));
    folder
}

/// Compiles the project; gives the run's id.
pub(super) async fn compiled(folder: &Folder) -> String {
    let arguments = ["compile", "flows", "--out", "build", "--emit", "exec,system,bundle,kserve", "--json"];
    let report = stave(folder, arguments).finish().await.exits(0).json();
    text(&report, "run_id").expect("a compile has a run id").to_owned()
}

fn document(folder: &Folder, run_id: &str) -> Value {
    stave_canon::parse(&folder.read(&format!("build/.akc/ir/{run_id}.json"))).expect("the document is JSON")
}

fn node<'v>(document: &'v Value, kind: &str, name: &str) -> &'v Value {
    let found = items(document, "nodes")
        .iter()
        .find(|node| text(node, "kind") == Some(kind) && text(node, "name") == Some(name));
    found.unwrap_or_else(|| panic!("no {kind} node {name}: {document}"))
}

#[tokio::test]
async fn a_flow_becomes_a_document_that_says_what_it_touches() {
    let folder = project("redis");
    let run_id = compiled(&folder).await;
    let document = document(&folder, &run_id);
    assert_eq!((text(&document, "tenant_id"), text(&document, "repo_id")), (Some("acme"), Some("shop")));

    let fetch = node(&document, "workflow", "fetch");
    assert_eq!(fetch.pointer("/effects/network"), Some(&true.into()));
    assert_eq!(fetch.pointer("/effects/secrets"), Some(&vec!["ORDERS_TOKEN"].into()));
    assert_eq!(fetch.pointer("/contract/runtime_budget/max_seconds"), Some(&15_i64.into()));
    assert_eq!(fetch.pointer("/contract/io_contract/output_keys"), Some(&vec!["order"].into()));

    let answer = node(&document, "workflow", "answer");
    assert_eq!(answer.pointer("/effects/tools"), Some(&vec!["llm.complete"].into()));
    assert_eq!(answer.pointer("/effects/secrets"), Some(&vec!["OPENAI_API_KEY"].into()));
    let needs = items(answer, "depends_on");
    for (kind, name) in [("workflow", "fetch"), ("integration", "provider:openai"), ("policy", "default")] {
        assert!(needs.contains(node(&document, kind, name).get("id").expect("an id")), "{name}");
    }
    node(&document, "integration", "host:orders.example.com");
    node(&document, "entity", "state:support:session:{context.session_id}");

    // The place is the node's own lines, and their hash is that of the text.
    let flow = FLOW.replace("BACKEND", "redis");
    let lines: Vec<&str> = flow.lines().collect();
    let row = &items(fetch, "provenance")[0];
    assert_eq!((text(row, "source_id"), text(row, "kind")), (Some("flows/support.yaml"), Some("file")));
    let locator = text(row, "locator").expect("a locator");
    let (from, to) = locator.trim_start_matches('L').split_once("-L").expect("a range of lines");
    let (from, to): (usize, usize) = (from.parse().expect("a line"), to.parse().expect("a line"));
    assert_eq!(lines[from - 1].trim(), "fetch:");
    assert!(lines[to - 1].contains("retries: 2"), "{}", lines[to - 1]);
    let mut text_of_lines = lines[from - 1..to].join("\n");
    let hash = text(row, "sha256").expect("a hash");
    let without = stave_canon::sha256_hex(&text_of_lines);
    text_of_lines.push('\n');
    assert!([without, stave_canon::sha256_hex(&text_of_lines)].iter().any(|found| found == hash));
}

#[tokio::test]
async fn the_same_source_gives_the_same_bytes() {
    let (one, two) = (project("redis"), project("redis"));
    assert_eq!(compiled(&one).await, compiled(&two).await);
    let made = |folder: &Folder| -> Vec<(String, Vec<u8>)> {
        let root = folder.path().join("build");
        let files = folder
            .files()
            .into_iter()
            .filter(|(path, _)| path.starts_with(root.join(".akc")) || path.starts_with(root.join("deploy")))
            // Exec documents hold the time of their compile.
            .filter(|(path, _)| !path.to_string_lossy().ends_with(".ir.json"));
        files
            .map(|(path, bytes)| (path.strip_prefix(&root).expect("below").display().to_string(), bytes))
            .collect()
    };
    let (first, second) = (made(&one), made(&two));
    assert!(first.len() >= 7, "{:?}", first.iter().map(|(path, _)| path).collect::<Vec<_>>());
    assert_eq!(first, second);
}

#[tokio::test]
async fn what_was_compiled_is_valid_and_consistent() {
    let folder = project("redis");
    let run_id = compiled(&folder).await;
    let document = format!("build/.akc/ir/{run_id}.json");
    let report = stave(&folder, ["system", "validate", "--json", &document]).finish().await.exits(0).json();
    assert_eq!(items(&report, "diagnostics"), [], "{report}");
    let bundle = format!("build/.akc/runtime/{run_id}.runtime_bundle.json");
    let report = stave(&folder, ["bundle", "check", "--json", &bundle]).finish().await.exits(0).json();
    assert_eq!(items(&report, "diagnostics"), [], "{report}");
}

#[tokio::test]
async fn documents_are_shown_compared_drawn_and_bundled() {
    let folder = project("redis");
    let run_id = compiled(&folder).await;
    let path = format!("build/.akc/ir/{run_id}.json");
    let shown = stave(&folder, ["system", "show", &path, "--json"]).finish().await.exits(0).json();
    assert_eq!(shown.pointer("/kinds/workflow"), Some(&2_i64.into()));
    for format in ["mermaid", "dot", "svg"] {
        let drawn = stave(&folder, ["system", "graph", &path, "--format", format]).finish().await.exits(0);
        assert!(drawn.stdout.contains("fetch"), "{drawn}");
    }
    for version in ["1", "2", "3", "4"] {
        let arguments = ["system", "bundle", &path, "--run-id", "r", "--schema-version", version];
        let bundle = stave(&folder, arguments).finish().await.exits(0).json();
        assert_eq!(bundle.get("coordination_ref").is_some(), version == "4");
    }
    stave(&folder, ["system", "bundle", &path, "--run-id", "r", "--schema-version", "5"])
        .finish()
        .await
        .exits(2);

    let changed = folder.read(&path).replace("\"retries\": 2", "\"retries\": 3");
    folder.write("changed.json", changed);
    let difference =
        stave(&folder, ["system", "diff", &path, "changed.json", "--json"]).finish().await.exits(1).json();
    stave(&folder, ["system", "diff", &path, &path]).finish().await.exits(0);
    assert_eq!(
        difference.pointer("/changed/0/members"),
        Some(&vec!["/properties/retries"].into()),
        "{difference}"
    );
    folder.write("foreign.json", folder.read(&path).replace("\"acme\"", "\"globex\""));
    stave(&folder, ["system", "diff", &path, "foreign.json"]).finish().await.exits(3);
}

#[tokio::test]
async fn every_fault_of_a_document_is_told_at_its_place() {
    let folder = Folder::new();
    let broken = "{\"schema_kind\": \"akc_ir\", \"tenant_id\": \"t\", \"repo_id\": \" \",\n \"nodes\": [\n  {\"id\": \"a\", \"tenant_id\": \"u\", \"name\": 1, \"properties\": {}}\n ]}";
    folder.write("broken.json", broken);
    let report =
        stave(&folder, ["system", "validate", "--json", "broken.json"]).finish().await.exits(2).json();
    let found: Vec<(Option<&str>, Option<i64>)> = items(&report, "diagnostics")
        .iter()
        .map(|one| (text(one, "code"), one.get("line").and_then(Value::as_i64)))
        .collect();
    assert_eq!(
        found,
        [
            (Some("system-bad-value"), Some(1)),
            (Some("system-cross-tenant"), Some(3)),
            (Some("system-wrong-type"), Some(3)),
        ],
        "{report}"
    );
}

#[tokio::test]
async fn levels_come_from_the_project_and_from_the_command_line() {
    let folder = Folder::new();
    let loose = r#"{"schema_kind": "akc_ir", "tenant_id": "t", "repo_id": "r", "nodes": [
      {"id": "w", "tenant_id": "t", "kind": "workflow", "name": "n", "properties": {}}]}"#;
    folder.write("loose.json", loose);
    let severity = async |options: &[&str], code: i32| -> Option<String> {
        let arguments =
            ["system", "validate", "--json", "loose.json"].into_iter().chain(options.iter().copied());
        let report = stave(&folder, arguments).finish().await.exits(code).json();
        items(&report, "diagnostics").first().and_then(|one| text(one, "severity")).map(str::to_owned)
    };
    assert_eq!(severity(&[], 0).await.as_deref(), Some("warning"));
    assert_eq!(severity(&["--ir-operational-structure-policy", "error"], 2).await.as_deref(), Some("error"));
    assert_eq!(severity(&["--ir-operational-structure-policy", "off"], 0).await, None);
    folder.write("stave.toml", "[checks]\nir_operational_structure_policy = \"error\"\n");
    assert_eq!(severity(&[], 2).await.as_deref(), Some("error"));
    assert_eq!(severity(&["--ir-operational-structure-policy", "warn"], 0).await.as_deref(), Some("warning"));
    folder.write("stave.toml", "[checks]\nir_operational_structure_policy = \"loud\"\n");
    let report = stave(&folder, ["check", "--format", "json", "stave.toml"]).finish().await.exits(2).json();
    assert_eq!(text(&items(&report, "diagnostics")[0], "code"), Some("bad-project-value"));
}

#[tokio::test]
async fn a_document_of_version_1_is_migrated_with_a_report() {
    let folder = Folder::new();
    let old = r#"{"schema_kind": "akc_ir", "schema_version": 1, "format_version": "1.0", "tenant_id": "t", "repo_id": "r",
      "owner": "plant", "note": null,
      "nodes": [{"id": "b", "tenant_id": "t", "name": " n ", "colour": "red", "properties": {}, "depends_on": ["a", "a"]},
                {"id": "a", "tenant_id": "t", "kind": "workflow", "name": "n", "properties": {}}]}"#;
    folder.write("old.json", old);
    let arguments = ["system", "migrate", "old.json", "--out", "new.json", "--json"];
    let report = stave(&folder, arguments).finish().await.exits(0).json();
    let places: Vec<Option<&str>> =
        items(&report, "changes").iter().map(|change| text(change, "pointer")).collect();
    let wanted = [
        "/schema_version",
        "/format_version",
        "/nodes/0/name",
        "/nodes/0/depends_on",
        "/nodes",
        "/owner",
        "/nodes/0/colour",
    ];
    assert_eq!(places, wanted.map(Some), "{report}");
    assert_eq!(text(&items(&report, "open")[0], "code"), Some("system-wrong-contract"));
    assert_ne!(text(&report, "fingerprint_before"), text(&report, "fingerprint_after"));
    let shown = stave(&folder, ["system", "show", "new.json", "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&shown, "fingerprint"), text(&report, "fingerprint_after"));
    assert_eq!(shown.get("schema_version"), Some(&2_i64.into()));
    let again = stave(&folder, ["system", "migrate", "new.json", "--json"]).finish().await.exits(0).json();
    assert_eq!(items(&again, "changes"), [], "what was migrated has nothing to drop");
}

#[tokio::test]
async fn a_knowledge_folder_becomes_the_hub_and_forbids_what_it_forbids() {
    let folder = project("redis");
    folder.write("knowledge/rules.yaml", "constraints:\n  - id: no-egress\n    subject: support\n    predicate: forbidden\n    object: internet\n    kind: hard\n    summary: no network egress\n    evidence: [policy.md]\ndecisions:\n  - id: no-egress\n    selected: true\n    resolved: true\n");
    folder.write("knowledge/policy.md", "The network is off limits.\n");
    let run_id = compiled(&folder).await;
    let document = document(&folder, &run_id);
    let hub = node(&document, "knowledge", "knowledge_layer");
    assert_eq!(hub.pointer("/properties/knowledge_assertion_ids"), Some(&vec!["no-egress"].into()));
    let constraint = node(&document, "entity", "knowledge_constraint:no-egress");
    assert_eq!(items(constraint, "depends_on"), [hub.get("id").expect("an id").clone()]);
    let sources: Vec<Option<&str>> =
        items(constraint, "provenance").iter().map(|row| text(row, "source_id")).collect();
    assert_eq!(sources, [Some("knowledge/policy.md"), Some("knowledge/rules.yaml")]);
    assert!(folder.has("build/.akc/knowledge/snapshot.json"));
    let bundle = folder.read(&format!("build/.akc/runtime/{run_id}.runtime_bundle.json"));
    let bundle = stave_canon::parse(&bundle).expect("the bundle is JSON");
    assert_eq!(bundle.pointer("/runtime_policy_envelope/allow_network"), Some(&false.into()));
    assert_eq!(bundle.pointer("/knowledge_layer_ref/knowledge_hub_node_id"), hub.get("id"));

    folder.write("knowledge/rules.yaml", "constraints:\n  - subject: x\nrumours: []\n");
    let stopped =
        stave(&folder, ["compile", "flows", "--out", "build", "--emit", "system"]).finish().await.exits(2);
    assert!(stopped.stderr.contains("needs an `id`"), "{stopped}");
}

#[tokio::test]
async fn two_tenants_never_share_a_document() {
    let folder = Folder::new();
    for tenant in ["acme", "globex"] {
        folder.write(
            &format!("{tenant}/stave.toml"),
            format!("[project]\ntenant = \"{tenant}\"\nrepo = \"shop\"\n{SECRETS}"),
        );
        let flow =
            FLOW.replace("BACKEND", "redis").replace("name: support\n", &format!("name: support-{tenant}\n"));
        folder.write(&format!("{tenant}/flows/support.yaml"), flow);
    }
    let arguments = ["compile", "acme/flows", "globex/flows", "--out", "build", "--emit", "system,bundle"];
    stave(&folder, arguments).finish().await.exits(0);
    let documents: Vec<String> = folder
        .files()
        .into_iter()
        .filter(|(path, _)| path.components().any(|part| part.as_os_str() == ".akc"))
        .map(|(_, bytes)| String::from_utf8(bytes).expect("JSON is UTF-8"))
        .collect();
    assert!(documents.len() >= 10, "{}", documents.len());
    assert!(documents.iter().all(|text| !(text.contains("acme") && text.contains("globex"))));
}
