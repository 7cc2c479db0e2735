//! The generated JSON Schemas say what the readers say, as far as a JSON Schema can say it.

#![expect(clippy::unwrap_used, reason = "a test stops at what is not as it should be")]

use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use stave_canon::{CountingIds, FixedClock, Timestamp, Value, parse};
use stave_prompt::compile::Templates;
use stave_prompt::governance::PolicySet;
use stave_prompt::{PromptFaultKind, from_dict};

use crate::changed::changed;

const ROWS: &str = include_str!("../../../tests/vectors/prompt/from_dict.jsonl");
const TEMPLATES: &str = include_str!("../templates/default.json");
const POLICIES: &str = r#"[
    {"mode": "strict", "extends": "default", "allow": ["a"], "policies": [
        {"name": "a", "type": "context_ref", "forbidden_patterns": ["/etc"], "match": "path", "only": ["src"], "action": "deny"},
        {"name": "b", "type": "content", "forbidden_keywords": ["x"], "match": "word", "allow": ["y"], "action": "Flag"},
        {"name": "c", "type": "model", "forbidden_models": ["m"], "action": "deny"},
        {"name": "d", "type": "number", "field": "priority", "minimum": 1, "maximum": 7.5, "action": "flag"}]},
    {"policies": [{"name": "e", "type": "intent", "forbidden_keywords": [], "only": [], "action": "flag"}]}
]"#;

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(&schema.to_serde()).unwrap()
}

/// What only a reader can check: JSON Schema knows neither `3000.0` from `3000` nor which texts are times.
fn is_beyond_a_schema(kind: &PromptFaultKind, value: &Value) -> bool {
    let float =
        |key: &str| value.get(key).and_then(Value::as_number).is_some_and(|number| !number.is_integer());
    match kind {
        PromptFaultKind::BadTimestamp(_) => true,
        PromptFaultKind::WrongType { expected: "integer", .. } => float("token_budget") || float("priority"),
        _ => false,
    }
}

/// Whether the reader takes a prompt, and whether its schema has to say the same.
fn prompt_agrees(document: &Value) -> Result<bool, String> {
    static SCHEMA: LazyLock<Validator> = LazyLock::new(|| validator(&stave_prompt::schema()));
    let by_schema = SCHEMA.is_valid(&document.to_serde());
    match from_dict(document, &CountingIds::new(), &FixedClock(Timestamp::UNIX_EPOCH)) {
        Ok(_) if !by_schema => Err(format!("the schema refuses {document}")),
        Ok(_) => Ok(true),
        Err(error) => {
            let beyond = error.faults.iter().all(|fault| is_beyond_a_schema(&fault.kind, document));
            if by_schema && !beyond {
                Err(format!("the schema takes {document}: {error}"))
            } else {
                Ok(false)
            }
        }
    }
}

fn rows() -> Vec<Value> {
    ROWS.lines().map(|line| parse(line).unwrap().get("input").unwrap().clone()).collect()
}

#[test]
fn the_schema_and_the_reader_agree_on_every_row() {
    let taken: Vec<bool> = rows().iter().map(|row| prompt_agrees(row).unwrap()).collect();
    let accepted = taken.iter().filter(|taken| **taken).count();
    assert!(accepted > 10 && taken.len() - accepted > 10, "{accepted} of {} accepted", taken.len());
}

#[test]
fn the_schema_names_every_field_of_the_dictionary() {
    let schema = stave_prompt::schema();
    let named: Vec<&String> = schema.get("properties").and_then(Value::as_object).unwrap().keys().collect();
    let prompt = stave_prompt::PromptIrBuilder::new("a", "b")
        .build(&CountingIds::new(), &FixedClock(Timestamp::UNIX_EPOCH))
        .unwrap();
    let dictionary = stave_prompt::to_dict(&prompt);
    assert_eq!(named, dictionary.as_object().unwrap().keys().collect::<Vec<_>>());
    assert!(validator(&schema).is_valid(&dictionary.to_serde()));
}

/// The rules that relate the keys of a policy are beyond its schema.
fn policies_agree(document: &Value) -> Result<(), String> {
    static SCHEMA: LazyLock<Validator> = LazyLock::new(|| validator(&stave_prompt::governance::schema()));
    // The specification's own forms are no files.
    if document.as_object().is_none() {
        return Ok(());
    }
    let by_schema = SCHEMA.is_valid(&document.to_serde());
    let faults = PolicySet::from_value(document).err().map(|error| error.faults).unwrap_or_default();
    let in_reach = faults.iter().filter(|fault| !fault.message.contains("` needs `")).count();
    if by_schema == (in_reach == 0) { Ok(()) } else { Err(format!("{by_schema} {faults:?}\n{document}")) }
}

#[test]
fn the_sample_policies_can_be_used() {
    for set in parse(POLICIES).unwrap().as_array().unwrap() {
        PolicySet::from_value(set).unwrap();
        policies_agree(set).unwrap();
    }
}

proptest! {
    #[test]
    fn schema_and_reader_agree_on_changed_prompts(document in changed(rows())) {
        prompt_agrees(&document).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn schema_and_reader_agree_on_changed_policies(
        document in changed(parse(POLICIES).unwrap().as_array().unwrap().to_vec())
    ) {
        policies_agree(&document).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn schema_and_reader_agree_on_changed_templates(document in changed(vec![parse(TEMPLATES).unwrap()])) {
        static SCHEMA: LazyLock<Validator> =
            LazyLock::new(|| validator(&stave_prompt::compile::template_schema()));
        let by_schema = SCHEMA.is_valid(&document.to_serde());
        let read = Templates::from_value(&document);
        prop_assert_eq!(by_schema, read.is_ok(), "{:?}\n{}", read.err(), document);
    }
}
