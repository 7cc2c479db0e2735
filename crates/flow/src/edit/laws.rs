//! Laws of editing, over the flows of the conformance rows and over made-up ones: what is written is what
//! was meant, and the replacements that undo it restore the bytes.

use stave_canon::Value;

use super::apply::inverse;
use super::change::change;
use super::state::State;
use super::{EditError, FlowEdit};

const ROWS: &str = include_str!("../../../../tests/vectors/flow/check.jsonl");

fn flows() -> Vec<String> {
    ROWS.lines()
        .map(|line| stave_canon::parse(line).unwrap())
        .filter_map(|row| row.pointer("/input/yaml").and_then(Value::as_str).map(str::to_owned))
        .collect()
}

/// A flow of many nodes in several styles, with comments.
fn generated(nodes: usize) -> String {
    let mut text = String::from(
        "version: \"1.0\"\nmetadata: {name: big}\ncontext:\n  requires: [n]  # the number\nnodes:\n",
    );
    for index in 0..nodes {
        text.push_str(&format!(
            "  # node {index}\n  n{index}:\n    type: transform\n    inputs:\n      - name: n  # in\n        type: number\n    outputs: [{{name: n, type: number}}]\n    transform:\n      mode: code\n      spec: |\n        def transform(inputs, context, state):\n            # double\n            return {{'n': inputs['n'] * 2}}\n    position: {{x: {index}, y: 0}}\n\n"
        ));
    }
    text.push_str("edges:\n  - {from: _input.n, to: n0.n}\n");
    for index in 1..nodes {
        text.push_str(&format!("  - {{from: n{}.n, to: n{index}.n}}  # edge {index}\n", index - 1));
    }
    text.push_str(&format!("  - {{from: n{}.n, to: _output}}\n", nodes - 1));
    text
}

/// Applies a command and takes it back. `None` when it was refused for its layout.
fn there_and_back(text: &str, command: &FlowEdit) -> Option<String> {
    let state = State::read(text.to_owned()).unwrap();
    let edits = match change(&state, command) {
        Ok(edits) => edits,
        Err(EditError::Layout { .. } | EditError::Alias { .. }) => return None,
        Err(_) => return Some(text.to_owned()),
    };
    let changed = stave_diag::apply(text, &edits).unwrap();
    let mut back = State::read(changed.clone()).unwrap();
    for undo in inverse(text, &edits).iter().rev() {
        let edits = change(&back, undo).unwrap();
        let text = stave_diag::apply(&back.text, &edits).unwrap();
        // Between two replacements of one edit the text need not be a flow.
        back.text = text;
    }
    assert_eq!(back.text, text, "{command:?}");
    Some(changed)
}

fn pointers(value: &Value, here: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            pointers(value, &format!("{here}/{}", key.replace('~', "~0").replace('/', "~1")), out);
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, value)| pointers(value, &format!("{here}/{index}"), out)),
        _ => {}
    }
    out.push(here.to_owned());
}

#[test]
fn any_field_of_any_row_is_set_removed_and_restored() {
    let parse = |text: &str| stave_canon::parse(text).unwrap();
    let mut tried = 0;
    let mut refused: Vec<String> = Vec::new();
    for (row, text) in flows().iter().enumerate() {
        // What is anchored cannot be changed in one place only; that has a test of its own.
        let Ok(state) = State::read(text.clone()) else { continue };
        if text.contains(": &") || text.contains("- &") {
            continue;
        }
        let mut paths = Vec::new();
        pointers(&state.value(), "", &mut paths);
        for (index, path) in paths.iter().enumerate().skip(row % 53).step_by(53) {
            let scalar = ["plain", "two\nlines\n", "# no: comment", "${x}", "yes", ""][index % 6];
            let commands = [
                FlowEdit::Set { path: path.clone(), value: Value::from(scalar) },
                FlowEdit::Set {
                    path: path.clone(),
                    value: parse(r#"{"a": {"b": [1, {"c": "d e"}]}, "f": []}"#),
                },
                FlowEdit::Set {
                    path: format!("{path}/-"),
                    value: parse(r#"{"name": "added", "type": "string"}"#),
                },
                FlowEdit::Set { path: format!("{path}/added"), value: Value::from(1_u64) },
                FlowEdit::Unset { path: path.clone() },
            ];
            for command in commands {
                tried += 1;
                if there_and_back(text, &command).is_none() {
                    refused.push(format!("row {row}: {command:?}"));
                }
            }
        }
    }
    assert!(tried > 500, "{tried} edits");
    assert!(refused.len() * 100 <= tried, "{} of {tried} refused:\n{}", refused.len(), refused.join("\n"));
}

#[test]
fn edits_of_a_flow_of_two_hundred_nodes_touch_only_their_lines() {
    let text = generated(200);
    let parse = |text: &str| stave_canon::parse(text).unwrap();
    let table = [
        (parse(r#"{"op": "set", "path": "/nodes/n70/position/x", "value": 5}"#), 1, 1),
        (parse(r#"{"op": "remove_node", "id": "n199"}"#), 17, 0),
        (parse(r#"{"op": "connect", "from": "n3.n", "to": "n9.n", "condition": "value > 1"}"#), 0, 1),
        (parse(r#"{"op": "rename_node", "from": "n7", "to": "seven"}"#), 3, 3),
        (
            parse(
                r#"{"op": "rename_port", "node": "n7", "direction": "input", "from": "n", "to": "number"}"#,
            ),
            3,
            3,
        ),
        (parse(r#"{"op": "add_caching", "node": "n7"}"#), 0, 3),
        (
            parse(
                r#"{"op": "add_port", "node": "n7", "direction": "input", "port": {"name": "m", "type": "number", "optional": true}}"#,
            ),
            0,
            3,
        ),
    ];
    for (command, gone, come) in table {
        let command = FlowEdit::from_value(&command).unwrap();
        let changed = there_and_back(&text, &command).unwrap();
        let diff = similar::TextDiff::from_lines(text.as_str(), changed.as_str());
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let lines = (count(similar::ChangeTag::Delete), count(similar::ChangeTag::Insert));
        assert_eq!(lines, (gone, come), "{command:?}\n{}", diff.unified_diff().context_radius(1));
    }
}

#[test]
fn comments_go_with_what_they_are_about_and_stay_with_what_stays() {
    let text = generated(4);
    let changed = there_and_back(&text, &FlowEdit::RemoveNode { id: "n2".to_owned() }).unwrap();
    assert!(!changed.contains("# node 2") && changed.contains("# node 1") && changed.contains("# node 3"));
    assert!(!changed.contains("# edge 2") && changed.contains("# edge 1"));
}

#[test]
fn a_value_behind_an_alias_is_not_changed() {
    let text = "version: \"1.0\"\nmetadata: {name: a}\ncontext: {requires: []}\nnodes:\n  a: &a\n    type: transform\n    inputs: []\n    outputs: []\n  b: *a\nedges: []\n";
    let command = FlowEdit::Set { path: "/nodes/b/type".to_owned(), value: Value::from("x") };
    let state = State::read(text.to_owned()).unwrap();
    assert!(matches!(change(&state, &command), Err(EditError::Alias { .. })));
    let command = FlowEdit::Set { path: "/nodes/a/type".to_owned(), value: Value::from("x") };
    assert!(change(&state, &command).is_err(), "the alias would change too");
}
