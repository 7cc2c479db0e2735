//! What a flow and a policy add to a document is checked like the document itself: everything that a runtime would refuse,
//! at once, and nothing that belongs to another compiler.

#![expect(clippy::expect_used, reason = "a test stops at what is not as it should be")]

use std::path::Path;

use stave_canon::{Object, Value, parse};
use stave_exec::dataflow::{
    Cast, EdgeData, NodeData, Ordered, Origin, PortType, StepCache, StepPort, StepState,
};
use stave_exec::{Acceptance, read};

/// A document with one node and one edge, which have these extra properties, under this policy.
fn document(node: &str, edge: &str, policy: &str) -> Value {
    let text = format!(
        r#"{{
        "version": "1.0.0",
        "flow": {{"name": "f", "timeout_ms": 0}},
        "constants": {{"policyRef": "p", "policy": {{{policy}}}}},
        "inputs_schema": {{}},
        "graph": {{
            "nodes": [{{"id": "a", "type": "python", "with": {{}}, "timeout_ms": 0, "retry": {{"max": 0, "backoff_ms": 0}}{node}}}],
            "edges": [{{"from": "a", "to": "a", "on": "success"{edge}}}]
        }},
        "metadata": {{"generated_at": "2024-06-30T18:25:43Z", "source_file": "f.yaml"}}
    }}"#
    );
    parse(&text).expect("it is JSON")
}

fn faults(document: &Value) -> Vec<String> {
    let faults = read(document, Acceptance::Exact).err().unwrap_or_default();
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(schema().is_valid(&document.to_serde()), lines.is_empty(), "{lines:?}");
    lines
}

#[expect(clippy::disallowed_methods, reason = "the schema is a file, and a test may read it")]
fn schema() -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/exec.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema can be read");
    let schema = parse(&text).expect("the schema is JSON").to_serde();
    jsonschema::validator_for(&schema).expect("the schema is a schema")
}

#[test]
fn every_fault_of_a_flow_s_properties_has_its_place() {
    let node = r#", "inputs": 3, "outputs": [{"name": "x", "type": "strng"}, {"type": "string"}], "effects": "yes",
        "state": {"scope": "forever", "key": 1}, "cache": {"ttl_seconds": -1}, "requires_context": [1],
        "origin": {"line": "x"}, "text_origins": {"code": {"line": 1}}, "contract": {"max_steps": -1}"#;
    let edge = r#", "from_port": 7, "cast": "zz", "else": 1, "origin": []"#;
    assert_lines(
        &faults(&document(node, edge, "")),
        &[
            "/graph/nodes/0/inputs: must be an array, not an integer [exec-wrong-type]",
            "/graph/nodes/0/outputs/0/type: must be \"string\", \"number\", \"boolean\", \"object\", \"array\", \"document\", \"table\" or \"embedding\", not \"strng\" [exec-unknown-word]",
            "/graph/nodes/0/outputs/1: `name` is missing [exec-missing-field]",
            "/graph/nodes/0/state/scope: must be \"request\" or \"session\", not \"forever\" [exec-unknown-word]",
            "/graph/nodes/0/state/key: must be a string, not an integer [exec-wrong-type]",
            "/graph/nodes/0/state: `backend` is missing [exec-missing-field]",
            "/graph/nodes/0/requires_context/0: must be a string, not an integer [exec-wrong-type]",
            "/graph/nodes/0/cache/ttl_seconds: must be between 0 and 4294967295, not -1 [exec-out-of-range]",
            "/graph/nodes/0/effects: must be a boolean, not a string [exec-wrong-type]",
            "/graph/nodes/0/origin/line: must be an integer, not a string [exec-wrong-type]",
            "/graph/nodes/0/origin: `column` is missing [exec-missing-field]",
            "/graph/nodes/0/text_origins/code: `column` is missing [exec-missing-field]",
            "/graph/nodes/0/contract: `contract_id` is missing [exec-missing-field]",
            "/graph/nodes/0/contract: `input_keys` is missing [exec-missing-field]",
            "/graph/nodes/0/contract: `output_keys` is missing [exec-missing-field]",
            "/graph/nodes/0/contract/max_steps: must be at least 0, not -1 [exec-out-of-range]",
            "/graph/edges/0/from_port: must be a string, not an integer [exec-wrong-type]",
            "/graph/edges/0/else: must be a boolean, not an integer [exec-wrong-type]",
            "/graph/edges/0/cast: must be \"text\" or \"single_row\", not \"zz\" [exec-unknown-word]",
            "/graph/edges/0/origin: must be an object, not an array [exec-wrong-type]",
        ],
    );
}

#[test]
fn every_fault_of_a_policy_s_limits_has_its_place() {
    let policy = r#""governance": 1, "constraints": [1], "limits": {"prompt_tokens": "x", "budget": {"tokens": -1,
        "cost_usd": -0.5, "calls": 1.5, "wall_ms": null}}"#;
    assert_lines(
        &faults(&document("", "", policy)),
        &[
            "/constants/policy/governance: must be an array of policies or an object, not an integer [exec-wrong-type]",
            "/constants/policy/constraints/0: must be a string, not an integer [exec-wrong-type]",
            "/constants/policy/limits/prompt_tokens: must be an integer, not a string [exec-wrong-type]",
            "/constants/policy/limits/budget/tokens: must be at least 0, not -1 [exec-out-of-range]",
            "/constants/policy/limits/budget/cost_usd: must be at least 0, not -0.5 [exec-out-of-range]",
            "/constants/policy/limits/budget/calls: must be an integer, not a number [exec-wrong-type]",
            "/constants/policy/limits/budget/wall_ms: must be an integer, not null [exec-wrong-type]",
        ],
    );
}

/// Compares line by line, so that a failure shows the line.
fn assert_lines(found: &[String], expected: &[&str]) {
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
}

#[test]
fn properties_of_another_compiler_stay_allowed() {
    for (node, edge, policy) in [
        ("", "", r#""id": "f", "strategy": "pdl/v0", "params": {"arms": {}}"#),
        (r#", "origin": "plant 3", "cache": "yes", "effects": 7, "state": [], "error": null"#, "", ""),
        (
            r#", "inputs": [], "outputs": [{"name": "x", "type": "string", "unit": "K"}], "team": {"id": 7}"#,
            "",
            "",
        ),
        ("", r#", "case": "A", "weight": 3"#, r#""limits": {"arms": 3}"#),
    ] {
        assert_eq!(faults(&document(node, edge, policy)), Vec::<String>::new(), "{node}{edge}{policy}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let origin = Origin { line: 3, column: 7 };
    let port = StepPort {
        name: "x".to_owned(),
        port_type: PortType::Table,
        schema: Some(Value::Null),
        optional: true,
        provenance: Some("user".to_owned()),
    };
    let state = |session| StepState {
        session,
        key: "k".to_owned(),
        ttl_seconds: Some(u32::MAX),
        backend: "redis".to_owned(),
    };
    let full = NodeData {
        inputs: vec![port.clone()],
        outputs: vec![StepPort { schema: None, optional: false, provenance: None, ..port.clone() }],
        error: Some(port),
        state: Some(state(true)),
        requires_context: vec!["tenant".to_owned()],
        concurrency: Some(0),
        cache: Some(StepCache { ttl_seconds: 1, key: Some("k".to_owned()), context: Some(Vec::new()) }),
        effects: true,
        tool: true,
        origin: Some(origin),
        text_origins: Ordered(vec![("z".to_owned(), origin), ("a".to_owned(), origin)]),
    };
    for data in [NodeData::default(), NodeData { state: Some(state(false)), ..full.clone() }, full] {
        assert_eq!(NodeData::read(&data.write()), Ok(Some(data)));
    }
    assert_eq!(Value::Object(NodeData::default().write()).to_string(), r#"{"inputs":[],"outputs":[]}"#);
    assert_eq!(NodeData::read(&Object::new()), Ok(None));
    let edge = EdgeData {
        from_port: Some("x".to_owned()),
        to_port: Some("y".to_owned()),
        case: Some("A".to_owned()),
        condition: Some("true".to_owned()),
        otherwise: true,
        transform: Some("x".to_owned()),
        cast: Some(Cast::SingleRow),
        origin: Some(origin),
    };
    for data in [EdgeData::default(), edge] {
        assert_eq!(EdgeData::read(&data.write()), Ok(data));
    }
    assert!(EdgeData::default().write().is_empty());
}
