//! The labels of a flow, as they are baked into the policy of its document.

#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

use stave_diag::Sources;
use stave_lower::{ExecSettings, flow_to_exec};

const FLOW: &str = r#"version: "1.0"
metadata: {name: labels}
context:
  requires: [question, diagnosis]
  sensitivity: {diagnosis: restricted}
nodes:
  copy:
    type: transform
    inputs: [{name: text, type: string}]
    outputs: [{name: text, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "${text}"}}}
  strip:
    type: transform
    inputs: [{name: text, type: string}]
    outputs: [{name: text, type: string, sensitivity: public}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "${text}"}}}
  ask:
    type: transform
    inputs: [{name: q, type: string}, {name: d, type: string}, {name: s, type: string}]
    outputs: [{name: a, type: string}]
    prompt: {template: "{{ q }} {{ d }} {{ s }}", model: {provider: openai, name: gpt-4o-mini}}
edges:
  - {from: _input.question, to: ask.q}
  - {from: _input.diagnosis, to: copy.text}
  - {from: copy.text, to: ask.d}
  - {from: _input.diagnosis, to: strip.text}
  - {from: strip.text, to: ask.s}
  - {from: ask.a, to: _output.a}
"#;

fn baked(text: &str) -> String {
    baked_with(text, stave_canon::Object::new())
}

fn baked_with(text: &str, policy: stave_canon::Object) -> String {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text);
    let loaded = stave_flow::load(source, text, &stave_flow::CheckOptions::default());
    let flow = loaded.flow.expect("a leak is no reason not to read the flow");
    let settings = ExecSettings {
        policy_ref: "default".to_owned(),
        policy,
        default_model: None,
        templates: Default::default(),
        generated_at: "2026-01-02T03:04:05Z".to_owned(),
        source_file: "flow.yaml".to_owned(),
    };
    let document = flow_to_exec(&flow, &sources, &settings);
    document.constants.policy.get("sensitivity").map(ToString::to_string).unwrap_or_default()
}

#[test]
fn labels_travel_to_the_prompts_that_they_reach() {
    let expected = concat!(
        r#"{"context":{"diagnosis":"restricted"},"#,
        r#""inputs":{"ask":{"d":"restricted","s":"restricted"},"copy":{"text":"restricted"},"strip":{"text":"restricted"}},"#,
        r#""outputs":{"ask":"restricted","copy":"restricted","strip":"restricted"},"replies":{"ask":"restricted"},"#,
        r#""errors":{"ask":"restricted","copy":"restricted","strip":"restricted"},"#,
        r#""reads":{"ask":"restricted","copy":"restricted","strip":"restricted"}}"#,
    );
    assert_eq!(baked(FLOW), expected);
}

#[test]
fn an_output_is_lower_only_with_the_projects_consent() {
    let policy = r#"{"sensitivity":{"declassify":{"labels/strip.text":"it is cleaned"}}}"#;
    let policy = stave_canon::parse(policy).expect("JSON").as_object().expect("an object").clone();
    let baked = baked_with(FLOW, policy);
    assert!(baked.contains(r#""inputs":{"ask":{"d":"restricted"},"#), "{baked}");
    assert!(baked.contains(r#""outputs":{"ask":"restricted","copy":"restricted"}"#), "{baked}");
}

#[test]
fn a_flow_without_labels_bakes_none() {
    let plain = FLOW.replace("\n  sensitivity: {diagnosis: restricted}", "");
    assert_eq!(baked(&plain.replace(", sensitivity: public", "")), "");
}
