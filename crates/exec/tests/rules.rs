//! Section 6 of the specification, rule by rule: each violation alone, and all of them at once.

#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at what is not as it should be")]

use stave_canon::{Object, Value, parse};
use stave_exec::{Acceptance, DocumentFault, read};

fn document() -> Value {
    parse(
        r#"{
        "version": "1.0.0",
        "flow": {"name": "plant.monitor", "timeout_ms": 600000},
        "constants": {"policyRef": "maint.default", "policy": {}},
        "inputs_schema": {},
        "graph": {
            "nodes": [
                {"id": "a", "type": "http.get", "with": {}, "timeout_ms": 0, "retry": {"max": 0, "backoff_ms": 0}},
                {"id": "b", "type": "mcp.call", "with": {}, "timeout_ms": 0, "retry": {"max": 0, "backoff_ms": 0}}
            ],
            "edges": [{"from": "a", "to": "b", "on": "success"}]
        },
        "metadata": {"generated_at": "2024-06-30T18:25:43.511Z", "source_file": "a.wdl.yaml"}
    }"#,
    )
    .expect("it is JSON")
}

/// The document with the value at a pointer replaced, or taken away.
fn with(pointer: &str, value: Option<&str>) -> Value {
    let mut document = document();
    set(&mut document, pointer, value);
    document
}

fn set(document: &mut Value, pointer: &str, value: Option<&str>) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let mut here = document;
    for part in parent.split('/').skip(1) {
        here = match here {
            Value::Object(object) => object.get_mut(part).expect(part),
            Value::Array(items) => items.get_mut(part.parse::<usize>().expect(part)).expect(part),
            _ => panic!("{pointer}"),
        };
    }
    let object: &mut Object = here.as_object_mut().expect("an object");
    match value {
        Some(value) => object.insert(key.to_owned(), parse(value).expect("it is JSON")),
        None => object.shift_remove(key),
    };
}

fn faults(document: &Value) -> Vec<(String, &'static str)> {
    let faults = read(document, Acceptance::Exact).err().unwrap_or_default();
    faults.into_iter().map(|DocumentFault { pointer, code, .. }| (pointer, code.0)).collect()
}

#[test]
fn the_specifications_example_is_valid() {
    assert_eq!(faults(&document()), []);
}

#[test]
fn every_rule_has_a_code_and_a_pointer() {
    let cases: &[(&str, Option<&str>, &str, &str)] = &[
        // Rule 1: strings are not empty.
        ("/constants/policyRef", Some(r#""""#), "/constants/policyRef", "exec-empty-string"),
        ("/graph/nodes/0/type", Some(r#""""#), "/graph/nodes/0/type", "exec-empty-string"),
        ("/metadata/source_file", Some(r#""""#), "/metadata/source_file", "exec-empty-string"),
        ("/metadata/generated_at", Some(r#""""#), "/metadata/generated_at", "exec-empty-string"),
        // Rule 2: identifiers.
        ("/flow/name", Some(r#""my flow""#), "/flow/name", "exec-bad-identifier"),
        ("/flow/name", Some(r#""a\n""#), "/flow/name", "exec-bad-identifier"),
        // Rule 4: edges join existing nodes.
        ("/graph/edges/0/to", Some(r#""c""#), "/graph/edges/0/to", "exec-unknown-node"),
        ("/graph/edges/0/from", Some(r#""c""#), "/graph/edges/0/from", "exec-unknown-node"),
        // Rule 5: the transition reasons of the schema.
        ("/graph/edges/0/on", Some(r#""timeout""#), "/graph/edges/0/on", "exec-unknown-transition"),
        // Rule 6: ranges.
        ("/flow/timeout_ms", Some("-1"), "/flow/timeout_ms", "exec-out-of-range"),
        ("/flow/timeout_ms", Some("2147483648"), "/flow/timeout_ms", "exec-out-of-range"),
        ("/flow/timeout_ms", Some("true"), "/flow/timeout_ms", "exec-wrong-type"),
        ("/flow/timeout_ms", Some("1.5"), "/flow/timeout_ms", "exec-wrong-type"),
        ("/graph/nodes/0/retry/max", Some("-1"), "/graph/nodes/0/retry/max", "exec-out-of-range"),
        // Rule 7: an RFC 3339 timestamp in UTC.
        ("/metadata/generated_at", Some(r#""yesterday""#), "/metadata/generated_at", "exec-bad-timestamp"),
        (
            "/metadata/generated_at",
            Some(r#""2024-06-30T18:25:43+02:00""#),
            "/metadata/generated_at",
            "exec-bad-timestamp",
        ),
        // Rule 8: the schema.
        ("/version", Some(r#""2.0.0""#), "/version", "exec-unsupported-version"),
        ("/flow/owner", Some(r#""me""#), "/flow/owner", "exec-unknown-property"),
        ("/graph/nodes/0/retry/jitter", Some("1"), "/graph/nodes/0/retry/jitter", "exec-unknown-property"),
        ("/inputs_schema", Some("[]"), "/inputs_schema", "exec-wrong-type"),
        ("/constants", None, "", "exec-missing-field"),
        ("/graph/nodes/0/with", None, "/graph/nodes/0", "exec-missing-field"),
    ];
    for (pointer, value, at, code) in cases {
        assert_eq!(faults(&with(pointer, *value)), [((*at).to_owned(), *code)], "{pointer} = {value:?}");
    }
    // Rule 3: at least one node, unique ids.
    let mut twice = with("/graph/nodes/1/id", Some(r#""a""#));
    set(&mut twice, "/graph/edges", Some("[]"));
    assert_eq!(faults(&twice), [("/graph/nodes/1/id".to_owned(), "exec-duplicate-node")]);
    let mut empty = document();
    set(&mut empty, "/graph/nodes", Some("[]"));
    set(&mut empty, "/graph/edges", Some("[]"));
    assert_eq!(faults(&empty), [("/graph/nodes".to_owned(), "exec-no-nodes")]);
}

#[test]
fn all_violations_are_reported_at_once() {
    let mut document = document();
    set(&mut document, "/flow/name", Some(r#""my flow""#));
    set(&mut document, "/graph/nodes/0/with", None);
    set(&mut document, "/graph/nodes/1/id", Some(r#""a""#));
    set(&mut document, "/graph/edges/0/to", Some(r#""nowhere""#));
    set(&mut document, "/graph/edges/0/on", Some(r#""later""#));
    set(&mut document, "/metadata/generated_at", Some(r#""now""#));
    let mut codes: Vec<&str> = faults(&document).into_iter().map(|(_, code)| code).collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        [
            "exec-bad-identifier",
            "exec-bad-timestamp",
            "exec-duplicate-node",
            "exec-missing-field",
            "exec-unknown-node",
            "exec-unknown-transition",
        ]
    );
}

#[test]
fn a_later_minor_release_is_taken_additively_and_another_major_never() {
    let mut later = document();
    set(&mut later, "/version", Some(r#""1.4.0""#));
    set(&mut later, "/flow/owner", Some(r#""me""#));
    set(&mut later, "/graph/nodes/0/retry/jitter", Some("true"));
    assert!(read(&later, Acceptance::Exact).is_err());
    assert!(read(&later, Acceptance::Additive).is_ok());
    for version in ["2.0.0", "0.9.0", "1.0", "1.0.0.0", "01.0.0", "1.0.x", "v1.0.0"] {
        let document = with("/version", Some(&format!("{version:?}")));
        assert!(read(&document, Acceptance::Additive).is_err(), "{version}");
    }
}

#[test]
fn properties_that_the_schema_leaves_room_for_are_kept() {
    let mut extra = document();
    set(&mut extra, "/owner", Some(r#"{"team": "plant"}"#));
    set(&mut extra, "/graph/nodes/0/origin", Some(r#"{"line": 3}"#));
    set(&mut extra, "/graph/edges/0/case", Some(r#""A""#));
    set(&mut extra, "/metadata/commit", Some(r#""abc""#));
    let read = read(&extra, Acceptance::Exact).expect("it is valid");
    assert_eq!(stave_exec::to_value(&read), extra);
}
