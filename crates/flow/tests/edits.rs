//! Edits of the specification's example, as people would make them: what changes in the text, and that it
//! can be taken back.

#![expect(clippy::unwrap_used, reason = "a test helper fails by panicking")]

use stave_diag::SourceId;
use stave_flow::CheckOptions;
use stave_flow::edit::chat::{Meaning, understand};
use stave_flow::edit::{EditError, EditRequest, Edited, apply};

const EXAMPLE: &str = include_str!("../../../tests/program/data/complete_example.yaml");

fn edit(text: &str, commands: &str) -> Result<Edited, EditError> {
    let request = EditRequest::from_value(&stave_canon::parse(commands).unwrap()).unwrap();
    apply(text, &request, &CheckOptions::default())
}

/// The lines that an edit changes, after it was taken back once.
#[track_caller]
fn changed_lines(edited: &Edited) -> String {
    let back = apply(&edited.text, &edited.inverse, &CheckOptions::default()).unwrap();
    assert_eq!(back.text, EXAMPLE, "the inverse restores the bytes");
    let diff = similar::TextDiff::from_lines(EXAMPLE, edited.text.as_str());
    diff.unified_diff().context_radius(1).to_string()
}

#[test]
fn commands_change_few_lines_and_can_be_taken_back() {
    let table = [
        ("error handling", r#"[{"op": "add_error_handling", "node": "generate_response"}]"#),
        ("caching", r#"[{"op": "add_caching", "node": "fetch_customer"}]"#),
        ("rename node", r#"[{"op": "rename_node", "from": "fetch_customer", "to": "load"}]"#),
        (
            "rename input",
            r#"[{"op": "rename_port", "node": "update_conversation", "direction": "input", "from": "query", "to": "question"}]"#,
        ),
        (
            "rename output",
            r#"[{"op": "rename_port", "node": "get_conversation", "direction": "output", "from": "history", "to": "turns"}]"#,
        ),
        ("rename context", r#"[{"op": "rename_context", "from": "query", "to": "question"}]"#),
        (
            "settings",
            r#"[{"op": "set", "path": "/nodes/fetch_customer/runtime/timeout_ms", "value": 9}, {"op": "set_position", "node": "fetch_customer", "x": 1, "y": 2}, {"op": "add_context", "field": "locale", "optional": true}, {"op": "set", "path": "/deployment/kserve/resources/gpu", "value": "1"}, {"op": "unset", "path": "/nodes/generate_response/prompt/temperature"}]"#,
        ),
        (
            "template",
            r#"[{"op": "set_prompt", "node": "generate_response", "template": "{{ query }} {{ customer_data }} {{ history }}"}]"#,
        ),
        (
            "tool",
            r#"[{"op": "add_tool", "node": "generate_response", "tool": {"name": "note", "description": "Keeps a note.", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}, "mcp": "notes/add"}}]"#,
        ),
        (
            "remove",
            r#"[{"op": "remove_node", "id": "update_conversation"}, {"op": "remove_port", "node": "format_response", "direction": "input", "name": "success"}, {"op": "unset", "path": "/nodes/format_response/transform/spec/args/template/session_updated"}]"#,
        ),
    ];
    for (name, commands) in table {
        let edited = edit(EXAMPLE, commands).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        insta::assert_snapshot!(name.replace(" ", "_"), changed_lines(&edited));
    }
}

#[test]
fn the_sentences_of_the_specification_are_understood() {
    let flow = stave_flow::parse(SourceId(0), EXAMPLE).flow.unwrap();
    let table = [
        (
            "Add a node that fetches user features",
            r#"[{"op":"add_node","id":"fetch_user_features","node":{"type":"transform","inputs":[{"name":"user_id","type":"string"}],"outputs":[{"name":"user_features","type":"object"}],"transform":{"mode":"declarative","spec":{"op":"hopsworks.read_features","args":{"feature_group":"user_features","key":"${user_id}"}}}}},{"op":"connect","from":"_input.user_id","to":"fetch_user_features.user_id"}]"#,
        ),
        (
            "Connect the customer data to the LLM",
            r#"[{"op":"connect","from":"fetch_customer.customer_data","to":"generate_response.customer_data"}]"#,
        ),
        (
            "Add error handling to the response generation",
            r#"[{"op":"add_error_handling","node":"generate_response"}]"#,
        ),
        ("Add caching to the feature fetch", r#"[{"op":"add_caching","node":"fetch_customer"}]"#),
        (
            "please cache fetch_customer for 10 minutes.",
            r#"[{"op":"add_caching","node":"fetch_customer","ttl_seconds":600}]"#,
        ),
        (
            "Add a fallback to generate_response",
            r#"[{"op":"add_error_handling","node":"generate_response"}]"#,
        ),
        (
            "rename fetch_customer to load_customer",
            r#"[{"op":"rename_node","from":"fetch_customer","to":"load_customer"}]"#,
        ),
        (
            "retry the feature fetch 3 times",
            r#"[{"op":"set","path":"/nodes/fetch_customer/runtime/retries","value":3}]"#,
        ),
        (
            "set the timeout of the feature fetch to 5 seconds",
            r#"[{"op":"set","path":"/nodes/fetch_customer/runtime/timeout_ms","value":5000}]"#,
        ),
        (
            "disconnect the customer data from the LLM",
            r#"[{"op":"disconnect","from":"fetch_customer.customer_data","to":"generate_response.customer_data"}]"#,
        ),
    ];
    for (sentence, commands) in table {
        let wanted = EditRequest::from_value(&stave_canon::parse(commands).unwrap()).unwrap().commands;
        assert_eq!(understand(&flow, sentence), Meaning::Commands(wanted), "{sentence}");
    }
    for sentence in ["Make the LLM response more concise", "make the response generation shorter"] {
        let Meaning::Commands(commands) = understand(&flow, sentence) else { panic!("{sentence}") };
        let edited = apply(EXAMPLE, &EditRequest::new(commands), &CheckOptions::default()).unwrap();
        let paths: Vec<&str> = edited.diff.changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["/nodes/generate_response/prompt/system"], "only the system text is touched");
    }
    assert_eq!(understand(&flow, "sing a song"), Meaning::Unknown);
    assert!(matches!(understand(&flow, "add caching to the weather"), Meaning::Unclear(_)));
}

#[test]
fn an_edit_is_refused_when_it_would_add_errors_or_was_made_for_another_flow() {
    let adds = edit(EXAMPLE, r#"[{"op": "connect", "from": "fetch_customer.nothing", "to": "_output"}]"#);
    let Err(EditError::AddsErrors { diagnostics, .. }) = adds else { panic!("{adds:?}") };
    assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
    let session = edit(EXAMPLE, r#"[{"op": "rename_context", "from": "session_id", "to": "talk"}]"#);
    assert!(matches!(session, Err(EditError::AddsErrors { .. })));
    let other = edit(EXAMPLE, r#"{"base_hash": "sha256:0", "commands": []}"#);
    assert!(matches!(other, Err(EditError::OtherBase { .. })));
    let unknown = edit(EXAMPLE, r#"[{"op": "add_caching", "node": "fetch_custmer"}]"#).unwrap_err();
    assert!(
        matches!(&unknown, EditError::Unknown { help: Some(help), .. } if help.contains("fetch_customer"))
    );
}

const TESTED: &str = r#"version: "1.0"
metadata: {name: pay}
context: {requires: [amount], optional: [note]}
nodes:
  prepare:
    type: transform
    inputs: [{name: amount, type: number}]
    outputs: [{name: amount, type: number}]
    transform: {mode: python, code: "def transform(inputs, context, state):\n    return {'amount': inputs['amount']}"}
  draft:
    type: transform
    inputs: [{name: amount, type: number}]
    outputs: [{name: amount, type: number}]
    transform: {mode: declarative, spec: {op: human.approve, args: {}}}
edges:
  - {from: _input.amount, to: prepare.amount}
  - {from: prepare.amount, to: draft.amount}
  - {from: draft.amount, to: _output.amount}
tests:
  - name: approved
    request: {amount: 1, note: "draft"}
    decisions: {draft: approve}
    expect: {output: {amount: 1}, path: [prepare, "draft"]}
  - name: twice
    request: [{amount: 1}, {amount: 2}]
    decisions: {"draft": deny}
    expect: {status: error, skipped: [draft]}
"#;

#[test]
fn a_rename_reaches_the_tests_of_the_flow() {
    let renamed = edit(TESTED, r#"[{"op": "rename_node", "from": "draft", "to": "write"}]"#).unwrap();
    let expected = TESTED
        .replace("  draft:\n", "  write:\n")
        .replace("draft.amount", "write.amount")
        .replace("{draft: approve}", "{write: approve}")
        .replace("[prepare, \"draft\"]", "[prepare, \"write\"]")
        .replace("{\"draft\": deny}", "{\"write\": deny}")
        .replace("[draft]", "[write]");
    assert_eq!(renamed.text, expected);
    let diff = stave_flow::diff::diff_texts(TESTED, &expected);
    assert_eq!(diff.changes.len(), 1, "{diff:?}");
    let renamed = edit(TESTED, r#"[{"op": "rename_context", "from": "amount", "to": "sum"}]"#).unwrap();
    let expected = TESTED
        .replace("requires: [amount]", "requires: [sum]")
        .replace("_input.amount", "_input.sum")
        .replace("{amount: 1, note", "{sum: 1, note")
        .replace("[{amount: 1}, {amount: 2}]", "[{sum: 1}, {sum: 2}]");
    assert_eq!(renamed.text, expected);
}
