//! Every fault of a document is reported at once, each with its pointer.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use stave_canon::{Value, locate, parse};
use stave_system::verify::verify;
use stave_system::{LoadError, SystemDocument};

fn faults(text: &str) -> String {
    SystemDocument::from_text(text).unwrap_err().to_string()
}

#[test]
fn a_document_full_of_faults_is_told_all_of_them() {
    let text = r#"{
      "schema_kind": "akc_intent", "schema_version": 2, "format_version": "1.0",
      "tenant_id": "acme", "repo_id": " ",
      "nodes": [
        7,
        {"id": "a", "tenant_id": "other", "kind": "Service", "name": 1.5, "depends_on": ["b", 2],
         "effects": {"network": "false", "tools": {"k": 1}, "secrets": null},
         "provenance": [3, {"tenant_id": "stranger", "kind": "file", "sha256": "abc"}]},
        {"id": " a ", "tenant_id": " acme", "name": "n", "properties": {}, "contract": {
          "contract_category": "deployment", "extra": 1,
          "triggers": [{"trigger_id": "t", "source": ""}, {"trigger_id": " t", "source": "s", "details": null}],
          "io_contract": {"input_keys": [], "output_keys": ["x", " "]},
          "state_machine": {"initial_state": "A", "transitions": [
            {"transition_id": "1", "from_state": "A", "to_state": "B", "trigger_id": "missing"},
            {"transition_id": "1", "from_state": "B", "to_state": 4, "guard": null}]},
          "runtime_budget": {"max_steps": -1, "max_seconds": true},
          "acceptance": null}}
      ]}"#;
    insta::assert_snapshot!(faults(text));
    let LoadError::Faults(faults) = SystemDocument::from_text(text).unwrap_err() else { unreachable!() };
    for fault in faults {
        assert!(locate(text, fault.pointer.as_str()).is_some(), "{fault} has no place");
    }
}

#[test]
fn a_text_that_is_no_json_is_told_where_it_breaks() {
    insta::assert_snapshot!(faults("{\n  \"nodes\": [1,]\n}"), @"not JSON: expected a value, found ']' at line 2 column 15");
    insta::assert_snapshot!(faults("3"), @"the document: must be an object, not an integer [system-wrong-type]");
}

#[test]
fn numbers_that_json_does_not_have_are_refused_in_every_strict_document() {
    let document = |number: &str| {
        format!(
            r#"{{"schema_kind": "akc_ir", "tenant_id": "t", "repo_id": "r", "run_id": "x",
              "nodes": [{{"id": "w", "tenant_id": "t", "name": "n", "properties": {{"n": {number}}}}}]}}"#
        )
    };
    assert!(SystemDocument::from_text(&document("1e300")).is_ok());
    assert!(stave_system::sign::Claim::of(&document("1e300")).is_some());
    for number in ["NaN", "Infinity", "-Infinity", "1e400"] {
        let text = document(number);
        assert!(faults(&text).starts_with("not JSON"), "{text}");
        assert!(stave_system::sign::Claim::of(&text).is_none(), "{text}");
        let bundle = stave_system::bundle::Bundle::from_text(&text).map(|_| ());
        assert!(matches!(bundle, Err(LoadError::Syntax(_))), "{bundle:?}: {text}");
    }
}

#[test]
fn white_space_around_a_dependency_does_not_count_and_a_blank_one_is_a_finding() {
    let text = |first: &str, second: &str| {
        format!(
            r#"{{"schema_kind": "akc_ir", "tenant_id": "t", "repo_id": "r", "nodes": [
              {{"id": "a", "tenant_id": "t", "name": "n", "properties": {{}}, "depends_on": {first}}},
              {{"id": "b", "tenant_id": "t", "name": "n", "properties": {{}}, "depends_on": {second}}}]}}"#
        )
    };
    let found = |first: &str, second: &str| -> Vec<String> {
        let document = SystemDocument::from_text(&text(first, second)).unwrap();
        verify(&document)
            .into_iter()
            .map(|finding| format!("{} [{}]", finding.pointer, finding.rule.code()))
            .collect()
    };
    assert_eq!(found(r#"[" b "]"#, "[]"), [] as [String; 0]);
    assert_eq!(found(r#"[" b ", ""]"#, "[]"), ["/nodes/0/depends_on/1 [system-unknown-dependency]"]);
    assert_eq!(found(r#"["\ta"]"#, "[]"), ["/nodes/0/depends_on/0 [system-unknown-dependency]"]);
    assert_eq!(found(r#"[" b "]"#, r#"["a\n"]"#), ["/nodes/0/depends_on [system-dependency-cycle]"]);
}

#[test]
fn findings_name_the_rule_the_place_and_the_circle() {
    let text = r#"{"schema_kind": "akc_ir", "tenant_id": "t", "repo_id": "r", "nodes": [
      {"id": "w", "tenant_id": "t", "kind": "workflow", "name": "n", "properties": {}, "depends_on": ["x", "w", " "]},
      {"id": "x", "tenant_id": "t", "kind": "service", "name": "n", "properties": {}, "depends_on": ["y"]},
      {"id": "y", "tenant_id": "t", "name": "n", "properties": {}, "depends_on": ["z"]},
      {"id": "z", "tenant_id": "t", "name": "n", "properties": {}, "depends_on": ["x", "gone"]},
      {"id": "k1", "tenant_id": "t", "kind": "knowledge", "name": "n", "properties": {"knowledge_assertion_ids": [1]}},
      {"id": "k2", "tenant_id": "t", "kind": "knowledge", "name": "n", "properties": {}},
      {"id": "p", "tenant_id": "t", "kind": "policy", "name": "n",
       "properties": {"metadata": {"note": 1, "runtime_allow_actions": [2]}, "deny_runtime_actions": "all"}}]}"#;
    let findings = verify(&SystemDocument::from_text(text).unwrap());
    let lines =
        findings.iter().map(|found| format!("{} {}: {}", found.rule.name(), found.pointer, found.message));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn chains_of_dependencies_may_be_long() {
    let node = |index: usize| {
        let depends_on = if index == 0 { Vec::new() } else { vec![Value::from(format!("n{}", index - 1))] };
        Value::from_iter([
            ("id", Value::from(format!("n{index}"))),
            ("tenant_id", "t".into()),
            ("name", "n".into()),
            ("properties", parse("{}").unwrap()),
            ("depends_on", Value::Array(depends_on)),
        ])
    };
    let document = Value::from_iter([
        ("schema_kind", Value::from("akc_ir")),
        ("tenant_id", "t".into()),
        ("repo_id", "r".into()),
        ("nodes", Value::Array((0..20_000).rev().map(node).collect())),
    ]);
    assert_eq!(verify(&SystemDocument::from_value(&document).unwrap()), []);
}

#[test]
fn a_document_or_bundle_that_names_a_key_twice_is_refused() {
    for text in [
        r#"{"tenant_id": "a", "tenant_id": "b", "nodes": []}"#,
        r#"{"nodes": [{"id": "x", "type": "intent", "type": "policy"}]}"#,
    ] {
        let document = SystemDocument::from_text(text);
        assert!(
            matches!(&document, Err(LoadError::Syntax(error)) if error.message.contains("duplicate key")),
            "{document:?}"
        );
        assert!(stave_system::sign::Claim::of(text).is_none());
    }
}
