//! A page for each construct of a flow: the YAML, then the exec document it becomes.

#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at what is not as it should be")]

use stave_canon::{Object, Value};
use stave_diag::{Diagnostic, Sources};
use stave_exec::{Acceptance, Document};
use stave_flow::CheckOptions;
use stave_lower::{DefaultModel, ExecSettings, flow_to_exec};

fn lower(name: &str, yaml: &str) -> Document {
    let mut sources = Sources::new();
    let source = sources.add(name, yaml);
    let parsed = stave_flow::load(source, yaml, &CheckOptions::default());
    let errors: Vec<&Diagnostic> = parsed.diagnostics.iter().filter(|found| found.is_error()).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
    let policy = stave_canon::parse(r#"{"limits": {"prompt_tokens": 4000}}"#).expect("it is JSON");
    let settings = ExecSettings {
        policy_ref: "default".to_owned(),
        policy: policy.as_object().cloned().unwrap_or_default(),
        default_model: Some(DefaultModel {
            provider: "openai".into(),
            name: "gpt-4o-mini".into(),
            endpoint: None,
        }),
        templates: Default::default(),
        generated_at: "2024-06-30T18:25:43Z".to_owned(),
        source_file: format!("flows/{name}"),
    };
    flow_to_exec(&parsed.flow.expect("a flow without errors has a model"), &sources, &settings)
}

#[test]
fn every_construct_has_its_page() {
    insta::glob!("exec_pages/*.yaml", |path| {
        let yaml = read(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let document = lower(&name, &yaml);
        let value = stave_exec::to_value(&document);
        stave_exec::read(&value, Acceptance::Exact).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        let page =
            format!("{}\n----------------------------------------\n{}", yaml.trim_end(), shown(&value));
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(page) });
    });
}

/// The document in few lines: a short value is on one.
fn shown(value: &Value) -> String {
    let mut text = String::new();
    show(value, 0, &mut text);
    text
}

fn show(value: &Value, depth: usize, text: &mut String) {
    let plain = value.to_string();
    let indent = "  ".repeat(depth + 1);
    match value {
        Value::Object(object) if plain.chars().count() > 100 => {
            text.push_str("{\n");
            for (index, (key, value)) in object.iter().enumerate() {
                text.push_str(&format!("{indent}{}: ", Value::from(key.as_str())));
                show(value, depth + 1, text);
                text.push_str(if index + 1 < object.len() { ",\n" } else { "\n" });
            }
            text.push_str(&format!("{}}}", "  ".repeat(depth)));
        }
        Value::Array(items) if plain.chars().count() > 100 => {
            text.push_str("[\n");
            for (index, value) in items.iter().enumerate() {
                text.push_str(&indent);
                show(value, depth + 1, text);
                text.push_str(if index + 1 < items.len() { ",\n" } else { "\n" });
            }
            text.push_str(&format!("{}]", "  ".repeat(depth)));
        }
        _ => text.push_str(&plain),
    }
}

#[expect(clippy::disallowed_methods, reason = "the pages are files, and a test may read them")]
fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_same_flow_gives_the_same_bytes() {
    let yaml = include_str!("exec_pages/condition.yaml");
    assert_eq!(stave_exec::encode(&lower("a.yaml", yaml)), stave_exec::encode(&lower("a.yaml", yaml)));
    let other: Object = lower("b.yaml", yaml).inputs_schema;
    assert_eq!(other, lower("a.yaml", yaml).inputs_schema);
}
