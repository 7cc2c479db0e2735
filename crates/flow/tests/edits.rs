//! Laws of editing: the text holds what was meant, and the inverse restores the bytes.

#![expect(clippy::unwrap_used, reason = "a test helper fails by panicking")]

use stave_canon::Value;
use stave_flow::Options;
use stave_flow::edit::{Command, EditError, EditRequest, Edited, apply};

const ROWS: &str = include_str!("../../../tests/vectors/flow/check.jsonl");
const EXAMPLE: &str = include_str!("../../../tests/program/data/complete_example.yaml");

fn edit(text: &str, commands: &str) -> Result<Edited, EditError> {
    let request = EditRequest::from_value(&stave_canon::parse(commands).unwrap()).unwrap();
    apply(text, &request, &Options::default())
}

#[track_caller]
fn restores(text: &str, edited: &Edited) {
    let back = apply(&edited.text, &edited.inverse, &Options::default()).unwrap();
    assert_eq!(back.text, text, "the inverse restores the bytes");
}

fn line_diff(before: &str, after: &str) -> String {
    let diff = similar::TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(1).to_string()
}

#[track_caller]
fn changes(commands: &str) -> String {
    let edited = edit(EXAMPLE, commands).unwrap();
    restores(EXAMPLE, &edited);
    line_diff(EXAMPLE, &edited.text)
}

#[test]
fn probe() {
    for commands in [
        r#"[{"op":"add_error_handling","node":"generate_response"}]"#,
        r#"[{"op":"add_caching","node":"fetch_customer"}]"#,
        r#"[{"op":"rename_node","from":"fetch_customer","to":"load"}]"#,
        r#"[{"op":"rename_port","node":"generate_response","direction":"input","from":"customer_data","to":"customer"}]"#,
        r#"[{"op":"rename_context","from":"session_id","to":"conversation_id"}]"#,
        r#"[{"op":"set_prompt","node":"generate_response","append_to_system":"Answer in two sentences."}]"#,
        r#"[{"op":"remove_node","id":"update_conversation"},{"op":"remove_port","node":"format_response","direction":"input","name":"success"},{"op":"unset","path":"/nodes/format_response/transform/spec/args/template/session_updated"}]"#,
        r#"[{"op":"set","path":"/nodes/fetch_customer/runtime/timeout_ms","value":9},{"op":"set_position","node":"fetch_customer","x":1,"y":2},{"op":"add_context","field":"locale","optional":true},{"op":"set","path":"/deployment/kserve/resources/gpu","value":"1"}]"#,
        r#"[{"op":"set","path":"/nodes/generate_response/prompt/template","value":"Hi {{ query }} {{ customer_data }} {{ history }}"}]"#,
    ] {
        println!("{commands}\n{}", changes(commands));
    }
}

/// Every value of every flow of the conformance rows is replaced, removed, and given neighbours; whatever
/// is accepted holds exactly the value that was meant and can be undone.
#[test]
#[ignore]
fn any_field_of_any_flow_can_be_set_and_restored() {
    let mut tried = 0;
    let mut refused = Vec::new();
    for line in ROWS.lines() {
        let row = stave_canon::parse(line).unwrap();
        let text = row.pointer("/input/yaml").and_then(Value::as_str).unwrap();
        let Some(root) = stave_flow::yaml::read(stave_diag::SourceId(0), text).root else { continue };
        let value = root.to_value();
        if value.as_object().is_none() { continue; }
        let mut paths = Vec::new();
        pointers(&value, String::new(), &mut paths);
        for (index, path) in paths.iter().enumerate().skip(1).step_by(29) {
            let new = ["plain", "two\nlines\n", "# no: comment", "${x}"][index % 4];
            let commands = [
                Command::Set { path: path.clone(), value: Value::from(new) },
                Command::Unset { path: path.clone() },
                Command::Set { path: path.clone(), value: stave_canon::parse(r#"{"a": {"b": [1, {"c": "d e"}]}, "f": []}"#).unwrap() },
                Command::Set { path: format!("{path}/-"), value: stave_canon::parse(r#"{"name": "added", "type": "string"}"#).unwrap() },
                Command::Set { path: format!("{path}/added"), value: Value::from(1_u64) },
            ];
            for command in commands {
                let request = EditRequest { allow_errors: true, ..EditRequest::new(vec![command.clone()]) };
                tried += 1;
                match apply(text, &request, &Options::default()) {
                    Ok(edited) => {
                        let undo = EditRequest { allow_errors: true, ..edited.inverse };
                        let back = apply(&edited.text, &undo, &Options::default()).unwrap();
                        assert_eq!(back.text, text, "{command:?}");
                    }
                    Err(EditError::Layout { .. } | EditError::Alias { .. }) => refused.push((row.get("name").cloned(), command)),
                    Err(_) => {}
                }
            }
        }
    }
    println!("{} of {tried} refused", refused.len());
    for (name, command) in refused.iter().take(40) { println!("{name:?} {command:?}"); }
    assert!(refused.len() * 50 < tried, "{} of {tried}", refused.len());
}

fn pointers(value: &Value, here: String, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| pointers(value, format!("{here}/{}", key.replace('~', "~0").replace('/', "~1")), out)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| pointers(value, format!("{here}/{index}"), out)),
        _ => {}
    }
    out.push(here);
}
