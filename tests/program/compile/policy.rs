//! `policy.apply` decides by the policy that was baked into the document, and by nothing else.

use stave_canon::{Object, Value};

use super::sample::{POLICY, workflow};
use crate::folder::Folder;
use crate::process::stave;

/// A document with one step that applies a policy, between a request and a response.
fn document(policy: &Value) -> String {
    let retry = r#""timeout_ms": 0, "retry": {"max": 0, "backoff_ms": 0}"#;
    format!(
        r#"{{
        "version": "1.0.0",
        "flow": {{"name": "plant", "timeout_ms": 0}},
        "constants": {{"policyRef": "plant", "policy": {policy}}},
        "inputs_schema": {{"type": "object", "properties": {{"readings": {{}}}}, "required": ["readings"]}},
        "graph": {{
            "nodes": [
                {{"id": "_input", "type": "flow.input", "with": {{}}, {retry}, "inputs": [], "outputs": []}},
                {{"id": "decide", "type": "policy.apply", "with": {{"values": "${{readings}}"}}, {retry},
                  "inputs": [{{"name": "readings", "type": "object"}}], "outputs": [{{"name": "decision", "type": "object"}}]}},
                {{"id": "_output", "type": "flow.output", "with": {{}}, {retry}, "inputs": [], "outputs": []}}
            ],
            "edges": [
                {{"from": "_input", "to": "decide", "on": "success", "from_port": "readings", "to_port": "readings"}},
                {{"from": "decide", "to": "_output", "on": "success", "from_port": "decision"}}
            ]
        }},
        "metadata": {{"generated_at": "2024-06-30T18:25:43Z", "source_file": "plant.wdl"}}
    }}"#
    )
}

#[tokio::test]
async fn a_baked_policy_decides() {
    let folder = Folder::new();
    folder.write("plant.wdl", workflow("plant"));
    folder.write("plant.pdl", POLICY);
    stave(&folder, ["compile", "plant.wdl", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    let compiled = stave_canon::parse(&folder.read("out/flows/plant.ir.json")).unwrap();
    let policy = compiled.pointer("/constants/policy").unwrap();
    folder.write("plant.ir.json", document(policy));
    for (readings, action) in [(r#"{"oven": "82.5"}"#, "cool"), (r#"{"oven": 20}"#, "none")] {
        folder.write("request.json", format!(r#"{{"readings": {readings}}}"#));
        let run = ["run", "plant.ir.json", "--input", "request.json", "--json"];
        let report = stave(&folder, run).finish().await.exits(0).json();
        assert_eq!(report.pointer("/output/action").and_then(Value::as_str), Some(action), "{report}");
    }
    folder.write("plant.ir.json", document(&Value::Object(Object::new())));
    let run = ["run", "plant.ir.json", "--input", "request.json", "--json"];
    let report = stave(&folder, run).finish().await.exits(1).json();
    assert_eq!(report.pointer("/error/code").and_then(Value::as_str), Some("expression-failed"), "{report}");
}
