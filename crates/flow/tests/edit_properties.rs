//! No text makes an edit, a diff or a merge fail, and edits of broken flows can be taken back.

#![expect(clippy::unwrap_used, reason = "a test helper fails by panicking")]

use proptest::prelude::*;
use stave_flow::CheckOptions;
use stave_flow::diff::diff_texts;
use stave_flow::edit::chat::understand;
use stave_flow::edit::{EditRequest, FlowEdit, apply};
use stave_flow::merge::merge;

const EXAMPLE: &str = include_str!("../../../tests/program/data/complete_example.yaml");

const COMMANDS: &[&str] = &[
    r#"{"op": "add_error_handling", "node": "generate_response"}"#,
    r#"{"op": "add_caching", "node": "fetch_customer"}"#,
    r#"{"op": "rename_node", "from": "fetch_customer", "to": "load"}"#,
    r#"{"op": "rename_port", "node": "generate_response", "direction": "input", "from": "query", "to": "q"}"#,
    r#"{"op": "remove_node", "id": "format_response"}"#,
    r#"{"op": "set", "path": "/nodes/fetch_customer/inputs/-", "value": {"name": "x", "type": "string"}}"#,
    r#"{"op": "unset", "path": "/nodes/generate_response/prompt"}"#,
    r#"{"op": "disconnect", "from": "_input.query", "to": "generate_response.query"}"#,
    r#"{"op": "set_prompt", "node": "generate_response", "append_to_system": "More."}"#,
    r#"{"op": "add_node", "id": "extra", "node": {"type": "transform", "inputs": [], "outputs": [{"name": "y", "type": "object"}], "transform": {"mode": "declarative", "spec": {"op": "io.format_response", "args": {"template": {"a": 1}}}}}}"#,
    r#"{"op": "connect", "from": "fetch_customer.customer_data", "to": "update_conversation.response", "condition": "value['age'] > 1"}"#,
    r#"{"op": "add_port", "node": "fetch_customer", "direction": "input", "port": {"name": "z", "type": "number", "optional": true}}"#,
    r#"{"op": "remove_port", "node": "generate_response", "direction": "error", "name": "generation_error"}"#,
    r#"{"op": "add_context", "field": "locale", "optional": true}"#,
    r#"{"op": "remove_context", "field": "auth_token"}"#,
    r#"{"op": "rename_context", "from": "session_id", "to": "talk_id"}"#,
    r#"{"op": "add_tool", "node": "generate_response", "tool": {"name": "look", "description": "looks", "parameters": {"type": "object"}}}"#,
    r#"{"op": "remove_tool", "node": "generate_response", "name": "look"}"#,
    r#"{"op": "set_position", "node": "fetch_customer", "x": 7, "y": -3.5}"#,
    r#"{"op": "replace_text", "at": 0, "remove": "version", "insert": "x-mark: 1\nversion"}"#,
];

/// The example with some bytes taken out and others put in.
fn mutated(at: usize, removed: usize, inserted: &str) -> String {
    let floor = |offset: usize| {
        (0..=offset.min(EXAMPLE.len())).rev().find(|at| EXAMPLE.is_char_boundary(*at)).unwrap()
    };
    let mut text = EXAMPLE.to_owned();
    text.replace_range(floor(at)..floor(at + removed), inserted);
    text
}

/// Applies commands and takes them back.
fn there_and_back(text: &str, commands: Vec<FlowEdit>) {
    let request = EditRequest { allow_errors: true, ..EditRequest::new(commands) };
    if let Ok(edited) = apply(text, &request, &CheckOptions::default()) {
        let undo = EditRequest { allow_errors: true, ..edited.inverse };
        assert_eq!(apply(&edited.text, &undo, &CheckOptions::default()).unwrap().text, text);
    }
}

fn command(index: usize) -> FlowEdit {
    FlowEdit::from_value(&stave_canon::parse(COMMANDS[index % COMMANDS.len()]).unwrap()).unwrap()
}

#[test]
fn every_command_is_tried_and_its_inverse_restores_the_bytes() {
    // A tool is there for the command that removes one.
    let with_tool = |text: &str| {
        let tool = EditRequest::new(vec![command(
            COMMANDS.iter().position(|known| known.contains("add_tool")).unwrap(),
        )]);
        apply(text, &EditRequest { allow_errors: true, ..tool }, &CheckOptions::default()).unwrap().text
    };
    let mut tried: Vec<String> = Vec::new();
    for (index, written) in COMMANDS.iter().enumerate() {
        let text = if written.contains("remove_tool") { with_tool(EXAMPLE) } else { EXAMPLE.to_owned() };
        let request = EditRequest { allow_errors: true, ..EditRequest::new(vec![command(index)]) };
        let edited = apply(&text, &request, &CheckOptions::default());
        let edited = edited.unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_ne!(edited.text, text, "{written}");
        let undo = EditRequest { allow_errors: true, ..edited.inverse };
        assert_eq!(apply(&edited.text, &undo, &CheckOptions::default()).unwrap().text, text, "{written}");
        let value = stave_canon::parse(written).unwrap();
        tried.push(value.get("op").and_then(stave_canon::Value::as_str).unwrap().to_owned());
    }
    for shape in stave_flow::edit::COMMANDS {
        assert!(tried.iter().any(|op| op == shape.name), "{} is not tried", shape.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn edits_of_broken_flows_are_refused_or_can_be_taken_back(
        at in 0_usize..6000, removed in 0_usize..30, inserted in "[a-z:\\- {}'\"é\n]{0,5}",
        first in 0..COMMANDS.len(), second in 0..COMMANDS.len(),
    ) {
        let text = mutated(at, removed, &inserted);
        there_and_back(&text, vec![command(first), command(second)]);
    }

    #[test]
    fn any_text_can_be_edited_compared_and_merged(
        text in "\\PC{0,60}|[a-z:\\- {}\\[\\]\"'|#&*\n]{0,60}", other in "[a-z:\\- {}\n]{0,40}", index in 0..COMMANDS.len(),
    ) {
        there_and_back(&text, vec![command(index)]);
        let _ = diff_texts(&text, &other);
        let _ = merge(&text, &other, &text);
    }

    #[test]
    fn a_side_that_changed_nothing_leaves_the_other_as_it_is(first in 0_usize..9, second in 0_usize..9) {
        let edited = |index: usize| {
            let request = EditRequest { allow_errors: true, ..EditRequest::new(vec![command(index)]) };
            apply(EXAMPLE, &request, &CheckOptions::default()).unwrap().text
        };
        let (one, two) = (edited(first), edited(second));
        prop_assert_eq!(merge(EXAMPLE, &one, EXAMPLE).unwrap().text, one.clone());
        prop_assert_eq!(merge(EXAMPLE, EXAMPLE, &two).unwrap().text, two.clone());
        let merged = merge(EXAMPLE, &one, &two).unwrap();
        prop_assert!(diff_texts(&merged.text, &merged.text).is_empty());
        if first == second {
            prop_assert_eq!(merged.text, one);
        }
    }

    #[test]
    fn any_sentence_is_understood_or_not(sentence in "\\PC{0,60}|(add|make|connect|cache|rename|retry|set|remove)( [a-z_.]{1,9}){0,6}") {
        let flow = stave_flow::parse(stave_diag::SourceId(0), EXAMPLE).flow.unwrap();
        let _ = understand(&flow, &sentence);
    }
}
