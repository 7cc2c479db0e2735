//! The published JSON Schema says what `from_dict` says, as far as a JSON Schema can say it.

use stave_canon::{CountingIds, FixedClock, Timestamp, Value};
use stave_prompt::{FaultKind, from_dict};

const SCHEMA: &str = include_str!("../../../schemas/prompt.schema.json");
const ROWS: &str = include_str!("../../../tests/vectors/prompt/from_dict.jsonl");

/// What only a reader can tell: JSON Schema knows neither `3000.0` from `3000` nor which texts are times.
fn is_beyond_a_schema(kind: &FaultKind, value: &Value) -> bool {
    let float =
        |key: &str| value.get(key).and_then(Value::as_number).is_some_and(|number| !number.is_integer());
    match kind {
        FaultKind::BadTimestamp(_) => true,
        FaultKind::WrongType { expected: "integer", .. } => float("token_budget") || float("priority"),
        _ => false,
    }
}

#[test]
fn the_schema_and_the_reader_agree_on_every_row() {
    let schema = stave_canon::parse(SCHEMA).unwrap().to_serde();
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let (mut accepted, mut refused) = (0, 0);
    for line in ROWS.lines() {
        let row = stave_canon::parse(line).unwrap();
        let input = row.get("input").unwrap();
        let is_valid = validator.is_valid(&input.to_serde());
        match from_dict(input, &CountingIds::new(), &FixedClock(Timestamp::UNIX_EPOCH)) {
            Ok(_) => {
                assert!(is_valid, "the schema refuses {line}");
                accepted += 1;
            }
            Err(error) => {
                let beyond = error.faults.iter().all(|fault| is_beyond_a_schema(&fault.kind, input));
                assert!(!is_valid || beyond, "the schema takes {line}: {error}");
                refused += 1;
            }
        }
    }
    assert!(accepted > 10 && refused > 10, "{accepted} accepted, {refused} refused");
}

#[test]
fn the_schema_names_every_field_of_the_dictionary() {
    let schema = stave_canon::parse(SCHEMA).unwrap();
    let named: Vec<&String> = schema.get("properties").and_then(Value::as_object).unwrap().keys().collect();
    let prompt = stave_prompt::PromptIrBuilder::new("a", "b")
        .build(&CountingIds::new(), &FixedClock(Timestamp::UNIX_EPOCH))
        .unwrap();
    let dictionary = stave_prompt::to_dict(&prompt);
    assert_eq!(named, dictionary.as_object().unwrap().keys().collect::<Vec<_>>());
    assert!(jsonschema::draft7::new(&schema.to_serde()).unwrap().is_valid(&dictionary.to_serde()));
}
