//! Which schemas are admitted, and that what is admitted is validated within its bound.

#![expect(clippy::unwrap_used, reason = "tests stop where something is not as it should be")]

use stave_canon::{Value, parse};
use stave_schema::{SchemaFault, SchemaValidator};

fn value(text: &str) -> Value {
    parse(text).unwrap()
}

fn compiled(text: &str) -> SchemaValidator {
    SchemaValidator::new(&value(text)).unwrap()
}

fn refused(text: &str) -> SchemaFault {
    SchemaValidator::new(&value(text)).unwrap_err()
}

/// Definitions, each of which applies the next one twice by way of some keywords.
fn doubling(levels: usize, twice: impl Fn(&str) -> String) -> String {
    let level = |index: usize| {
        let next = format!(r##"{{"$ref": "#/definitions/a{}"}}"##, index + 1);
        format!(r#""a{index}": {},"#, twice(&next))
    };
    let all: String = (0..levels).map(level).collect();
    format!(r##"{{"$ref": "#/definitions/a0", "definitions": {{{all} "a{levels}": {{"type": "object"}}}}}}"##)
}

#[test]
fn schemas_that_double_are_refused_whatever_doubles_them() {
    let ways: [fn(&str) -> String; 7] = [
        |next| format!(r#"{{"allOf": [{next}, {next}]}}"#),
        |next| format!(r#"{{"anyOf": [{next}, {{"not": {next}}}]}}"#),
        |next| format!(r#"{{"oneOf": [{next}, {next}]}}"#),
        |next| format!(r#"{{"if": {next}, "then": {next}}}"#),
        |next| format!(r#"{{"dependencies": {{"x": {next}, "y": {next}}}}}"#),
        |next| format!(r#"{{"allOf": [{{"items": {next}}}, {{"items": {next}}}]}}"#),
        |next| format!(r#"{{"patternProperties": {{"a": {next}, "b": {next}}}}}"#),
    ];
    for way in ways {
        let fault = refused(&doubling(40, way));
        assert!(fault.is_costly(), "{fault}");
    }
}

#[test]
fn shared_definitions_that_cost_little_are_admitted() {
    let tree = doubling(40, |next| format!(r#"{{"properties": {{"left": {next}, "right": {next}}}}}"#));
    assert!(compiled(&tree).is_valid(&value(r#"{"left": {"right": {}}}"#)));
    let recursive = compiled(
        r##"{"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}"##,
    );
    assert!(recursive.is_valid(&value(r#"{"children": [{"children": []}]}"#)));
    assert!(!recursive.is_valid(&value(r#"{"children": [{"children": 1}]}"#)));
}

#[test]
fn a_reference_that_leads_back_to_itself_is_refused() {
    for schema in [
        r##"{"$ref": "#"}"##,
        r##"{"allOf": [{"$ref": "#"}]}"##,
        r##"{"properties": {"a": {"$ref": "#/definitions/a"}},
            "definitions": {"a": {"not": {"$ref": "#/definitions/b"}}, "b": {"anyOf": [{"$ref": "#/definitions/a"}]}}}"##,
    ] {
        assert_eq!(refused(schema), SchemaFault::EndlessReference, "{schema}");
    }
}

#[test]
fn a_long_chain_of_references_is_refused() {
    assert_eq!(refused(&doubling(5_000, str::to_owned)), SchemaFault::TooNested);
}

#[test]
fn references_stay_inside_and_mean_a_place_from_the_root() {
    assert!(matches!(refused(r#"{"$ref": "http://example.com/a"}"#), SchemaFault::Remote(_)));
    assert!(matches!(refused(r##"{"$ref": "#/definitions/a"}"##), SchemaFault::Unresolved(_)));
    assert!(matches!(refused(r##"{"$dynamicRef": "#a"}"##), SchemaFault::Unsupported(_)));
    let nested = r##"{"$ref": "#/definitions/a/definitions/b",
        "definitions": {"a": {"$id": "http://x/", "definitions": {"b": {"$ref": "#/definitions/c"}}}, "c": {}}}"##;
    assert!(matches!(refused(nested), SchemaFault::Unsupported(_)));
    let encoded =
        compiled(r##"{"$ref": "#/definitions/a%20~1b", "definitions": {"a /b": {"type": "null"}}}"##);
    assert!(encoded.is_valid(&Value::Null) && !encoded.is_valid(&Value::Bool(true)));
}

#[test]
fn patterns_have_no_backtracking() {
    assert!(matches!(refused(r#"{"pattern": "(?=a)b"}"#), SchemaFault::Invalid { .. }));
    assert!(matches!(refused(r#"{"pattern": "(a)\\1"}"#), SchemaFault::Invalid { .. }));
    assert!(matches!(refused(r#"{"pattern": "((a{100}){100}){100}"}"#), SchemaFault::Invalid { .. }));
    let nested = compiled(r#"{"pattern": "^(a+)+$"}"#);
    assert!(!nested.is_valid(&Value::String(format!("{}!", "a".repeat(10_000)))));
}

/// A value that costs too much has one violation that says so.
fn too_costly(schema: &str, value: &Value) {
    let violations = compiled(schema).violations(value);
    assert!(violations.len() == 1 && violations[0].contains("takes more than"), "{violations:?}");
}

#[test]
fn values_that_cost_too_much_with_their_schema_are_refused() {
    let list = |count: usize, item: &dyn Fn(usize) -> String| {
        let items: Vec<String> = (0..count).map(item).collect();
        format!("[{}]", items.join(","))
    };
    let options = list(3_000, &|index| format!(r#"{{"a": {index}}}"#));
    let items = value(&list(20_000, &|_| r#"{"a": -1}"#.to_owned()));
    too_costly(&format!(r#"{{"items": {{"enum": {options}}}}}"#), &items);
    // Lists of different shapes that have the same hash.
    let shapes = value(&list(20_000, &|index| format!("[[{index}]]")));
    too_costly(r#"{"uniqueItems": true}"#, &shapes);
    let long = Value::String("ab".repeat(2_000_000));
    too_costly(r#"{"pattern": "(a|b){900}c"}"#, &long);
    let deep = value(&format!("{}{}", "[".repeat(60), "]".repeat(60)));
    too_costly(r##"{"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}"##, &deep);
    let names = list(12_000, &|index| format!(r#""p{index}""#)).replace(',', ":1,").replace(['[', ']'], "");
    let names = value(&format!("{{{names}:1}}"));
    let patterns = list(400, &|index| format!(r#""x{index}y""#)).replace(',', ":{},").replace(['[', ']'], "");
    too_costly(&format!(r#"{{"patternProperties": {{{patterns}:{{}}}}}}"#), &names);
}

#[test]
fn the_deepest_admitted_value_fits_the_stack_of_a_thread() {
    let nested = |levels: usize| value(&format!("{}{}", "[".repeat(levels), "]".repeat(levels)));
    for schema in [
        r##"{"items": {"$ref": "#"}}"##,
        r##"{"anyOf": [{"type": "null"}, {"items": {"$ref": "#"}}]}"##,
        r##"{"oneOf": [{"type": "string"}, {"allOf": [{"items": {"$ref": "#"}}]}]}"##,
        r##"{"if": {"type": "array"}, "then": {"items": {"not": {"not": {"$ref": "#"}}}}}"##,
    ] {
        let validator = compiled(schema);
        for levels in [20, 100, 140, 190, 250] {
            let violations = validator.violations(&nested(levels));
            assert!(violations.iter().all(|text| text.contains("nest too deeply")), "{violations:?}");
        }
        assert!(validator.violations(&nested(100)).is_empty());
    }
}

#[test]
fn violations_name_places_and_are_cut() {
    let validator = compiled(r#"{"items": {"type": "string"}}"#);
    let violations = validator.violations(&value("[1, 2, 3, 4, 5, 6, 7]"));
    assert_eq!(violations.len(), 6);
    assert!(violations[0].starts_with("/0: ") && violations[5] == "and 2 more", "{violations:?}");
    let long = validator.violations(&Value::Array(vec![Value::Array(vec![Value::Null; 5_000])]));
    assert!(long[0].chars().count() < 2_100);
}
