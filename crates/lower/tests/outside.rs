//! What a step reaches outside the run, as its descriptor says, in both documents.

#![expect(clippy::expect_used, reason = "a test stops at what is not as it should be")]

use stave_canon::{Object, Value};
use stave_diag::Sources;
use stave_exec::wdl::{self, Dialect};
use stave_flow::CheckOptions;
use stave_flow::model::Flow;
use stave_lower::{
    ExecSettings, SystemFlow, SystemSettings, SystemSource, SystemWorkflow, flow_to_exec, flow_to_system,
};
use stave_operations::{Blank, operations};
use stave_system::knowledge::SNAPSHOT_PATH;
use stave_system::{NodeKind, SystemDocument, SystemNode};

fn settings() -> SystemSettings {
    SystemSettings {
        tenant_id: "acme".to_owned(),
        repo_id: "shop".to_owned(),
        policy_ref: "default".to_owned(),
        policy_sha256: None,
        snapshot_path: SNAPSHOT_PATH.to_owned(),
        default_model: None,
    }
}

fn flow_of(sources: &mut Sources, yaml: &str) -> Flow {
    let source = sources.add("flows/a.yaml", yaml);
    stave_flow::load(source, yaml, &CheckOptions::default()).flow.expect("a flow")
}

/// The system document of a flow, whether its edges are all there or not.
fn system(yaml: &str) -> SystemDocument {
    let mut sources = Sources::new();
    let flow = flow_of(&mut sources, yaml);
    let flows = [SystemFlow { flow: &flow, source_file: "flows/a.yaml" }];
    let source = SystemSource {
        flows: &flows,
        workflows: &[],
        sources: &sources,
        settings: &settings(),
        knowledge: None,
    };
    flow_to_system(source).expect("a document")
}

/// A flow with one node, as an editor begins it.
fn begun(blank: &Blank) -> String {
    let node: String = blank.node.lines().map(|line| format!("    {line}\n")).collect();
    format!("version: \"1.0\"\nmetadata: {{name: f}}\nnodes:\n  new:\n    type: transform\n{node}edges: []\n")
}

fn workflow_node<'d>(document: &'d SystemDocument, name: &str) -> &'d SystemNode {
    let found = document.nodes.iter().find(|node| node.kind == NodeKind::Workflow && node.name == name);
    found.expect("a workflow node")
}

fn integrations(document: &SystemDocument) -> Vec<&str> {
    let found = document.nodes.iter().filter(|node| node.kind == NodeKind::Integration);
    found.map(|node| node.name.as_str()).collect()
}

#[test]
fn every_operation_has_the_network_of_its_descriptor() {
    for operation in operations() {
        let document = system(&begun(&operation.blank.expect("a node to begin with")));
        let effects = workflow_node(&document, "new").effects.clone().expect("effects");
        assert_eq!(effects.network, operation.network, "{}", operation.name);
        assert_eq!(effects.tools, [operation.name]);
        let reaches = !integrations(&document).is_empty();
        assert_eq!(reaches, operation.network, "{} has an integration", operation.name);
    }
}

#[test]
fn tool_servers_plants_views_and_models_are_integrations() {
    let document = system(
        r#"version: "1.0"
metadata: {name: f}
nodes:
  call:
    type: transform
    outputs: [{name: a, type: object}]
    transform: {mode: declarative, spec: {op: mcp.call, args: {server: files, tool: read}}}
  plant:
    type: transform
    outputs: [{name: a, type: object}]
    transform: {mode: declarative, spec: {op: opcua.read, args: {endpoint: "opc.tcp://plant.example:4840", node_ids: [a]}}}
  view:
    type: transform
    outputs: [{name: a, type: object}]
    transform: {mode: declarative, spec: {op: hopsworks.read_features, args: {feature_view: churn, key: k}}}
  model:
    type: transform
    outputs: [{name: a, type: object}]
    transform: {mode: declarative, spec: {op: hopsworks.get_model, args: {name: predictor}}}
  ask:
    type: transform
    outputs: [{name: a, type: string}]
    prompt: {template: x, model: {provider: openai, name: m}, tools: [{name: t, description: d, parameters: {type: object}, mcp: web/find}]}
edges: []
"#,
    );
    let mut found = integrations(&document);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "feature_view:churn",
            "host:plant.example:4840",
            "mcp_server:files",
            "mcp_server:web",
            "model:predictor",
            "provider:openai"
        ]
    );
}

#[test]
fn the_steps_of_a_workflow_have_the_network_of_their_descriptors() {
    let text = "version: dsl/v0\nworkflow: lab.w\ninputs:\n  q: string\nsteps:\n  \
        - call(mcp.call):\n      server: files\n      tool: read\n  \
        - rows(hopsworks.read_features):\n      feature_group: g\n      key: $input.q\n  \
        - far(crm.lookup):\n      id: $input.q\noutputs:\n  r: $step.rows\n";
    let checked = wdl::check_workflow(stave_diag::SourceId(0), text, Dialect::Extended);
    let workflow = checked.value.expect("a workflow");
    let settings = wdl::LoweringOptions {
        policy: None,
        generated_at: "2024-06-30T18:25:43Z",
        source_file: "flows/a.wdl",
        dialect: Dialect::Extended,
    };
    let document = wdl::lower(&workflow, &settings).0.expect("a document");
    let lowered = flow_to_system(SystemSource {
        flows: &[],
        workflows: &[SystemWorkflow {
            document: &document,
            source_file: "flows/a.wdl",
            source_text: text,
            triggers: &[],
        }],
        sources: &Sources::new(),
        settings: &self::settings(),
        knowledge: None,
    })
    .expect("a system document");
    for (name, network) in [("call", true), ("rows", true), ("far", true)] {
        let effects = workflow_node(&lowered, name).effects.clone().expect("effects");
        assert_eq!(effects.network, network, "{name}");
    }
    assert_eq!(integrations(&lowered), ["mcp_server:files", "feature_group:g"]);
}

/// The word for where the input of `ask` comes from.
fn provenance(source: &str) -> String {
    let yaml = format!(
        r#"version: "1.0"
metadata: {{name: f}}
nodes:
  source:
    type: transform
    outputs: [{{name: results, type: array}}]
    transform: {{mode: declarative, spec: {source}}}
  fetch:
    type: transform
    inputs: [{{name: id, type: string}}]
    outputs: [{{name: a, type: object}}]
    transform: {{mode: declarative, spec: {{op: http.get, args: {{url: "https://a.example.com/${{id}}"}}}}}}
  ask:
    type: transform
    inputs: [{{name: text, type: array}}]
    outputs: [{{name: a, type: string}}]
    prompt: {{template: "{{{{ text }}}}", model: {{provider: openai, name: m}}}}
edges:
  - {{from: source.results, to: ask.text}}
  - {{from: ask.a, to: _output}}
"#
    );
    let mut sources = Sources::new();
    let flow = flow_of(&mut sources, &yaml);
    let settings = ExecSettings {
        policy_ref: "default".to_owned(),
        policy: Object::new(),
        default_model: None,
        templates: Default::default(),
        generated_at: "2024-06-30T18:25:43Z".to_owned(),
        source_file: "flows/a.yaml".to_owned(),
    };
    let document = flow_to_exec(&flow, &sources, &settings);
    let node = document.node("ask").expect("the prompt");
    let input =
        node.extra.get("inputs").and_then(|inputs| inputs.as_array()?.first()?.get("provenance").cloned());
    input.as_ref().and_then(Value::as_str).expect("a word").to_owned()
}

#[test]
fn what_comes_from_outside_is_never_taken_for_the_authors_text() {
    assert_eq!(provenance("{op: mcp.call, args: {server: s, tool: t}}"), "tool");
    assert_eq!(
        provenance("{op: opcua.read, args: {endpoint: \"opc.tcp://p:1\", node_ids: [a]}}"),
        "retrieval"
    );
    assert_eq!(provenance("{op: transform.each, args: {input: [a, b], node: fetch}}"), "retrieval");
    assert_eq!(provenance("{op: io.format_response, args: {template: [a]}}"), "developer");
}
