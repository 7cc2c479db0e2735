//! RFC 8785 is written as ECMAScript's `JSON.stringify` writes values whose keys are in UTF-16 order.

use crate::other;
use crate::random::{Random, from_neutral, neutral};
use stave_canon::{Value, parse, rfc8785};

const RANDOM_VALUES: usize = 100_000;

#[test]
fn random_values_are_written_as_ecmascript_writes_them() {
    let Some(node) = other::start("node", "ecmascript_json.js", &[]) else { return };
    let mut random = Random::new(2);
    let values: Vec<Value> = (0..RANDOM_VALUES).map(|_| random.value()).collect();
    let lines: Vec<String> = values.iter().map(neutral).collect();
    other::converse(node, &lines, |index, answer| {
        let expected = parse(answer).unwrap();
        assert_eq!(rfc8785(&values[index]), expected.as_str().unwrap(), "value {index}");
    });
}

#[test]
fn the_committed_sample_is_written_as_ecmascript_wrote_it() {
    let sample = include_str!("../data/ecmascript_sample.jsonl");
    assert!(sample.lines().count() >= 300);
    for line in sample.lines() {
        let row = parse(line).unwrap();
        let value = from_neutral(row.get("value").unwrap());
        assert_eq!(rfc8785(&value), row.get("rfc8785").unwrap().as_str().unwrap());
    }
}
