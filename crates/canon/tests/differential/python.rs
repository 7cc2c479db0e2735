//! Every layout of specifications 000, 003 and 004 writes what CPython's `json` writes, byte for byte.

use crate::other;
use crate::random::{Random, from_neutral, neutral};
use stave_canon::{
    Value, compact_ascii, compact_utf8, parse, pretty_insertion_ascii, pretty_sorted_utf8, python_spaced,
    sha256_hex,
};

type Write = fn(&Value) -> String;

const LAYOUTS: [(&str, Write); 5] = [
    ("python_spaced", python_spaced),
    ("compact_utf8", compact_utf8),
    ("pretty_sorted_utf8", pretty_sorted_utf8),
    ("pretty_insertion_ascii", pretty_insertion_ascii),
    ("compact_ascii", compact_ascii),
];

const RANDOM_VALUES: usize = 100_000;

#[test]
fn random_values_are_written_as_cpython_writes_them() {
    let Some(python) = other::start("python3", "python_json.py", &[]) else { return };
    let mut random = Random::new(1);
    let values: Vec<Value> = (0..RANDOM_VALUES).map(|_| random.value()).collect();
    let lines: Vec<String> = values.iter().map(neutral).collect();
    other::converse(python, &lines, |index, answer| {
        let (value, answer) = (&values[index], parse(answer).unwrap());
        let spaced = answer.get("python_spaced").unwrap().as_str().unwrap();
        assert_eq!(parse(spaced).as_ref(), Ok(value), "value {index} reads back differently");
        for (name, write) in LAYOUTS {
            let expected = answer.get(name).unwrap().as_str().unwrap();
            let text = write(value);
            let same = text == expected || sha256_hex(&text) == expected;
            assert!(same, "value {index} in {name}: wrote {text}, CPython's spaced text is {spaced}");
        }
    });
}

#[test]
fn the_committed_sample_is_written_as_cpython_wrote_it() {
    let sample = include_str!("../data/python_sample.jsonl");
    assert!(sample.lines().count() >= 300);
    for line in sample.lines() {
        let row = parse(line).unwrap();
        let value = from_neutral(row.get("value").unwrap());
        for (name, write) in LAYOUTS {
            assert_eq!(write(&value), row.get(name).unwrap().as_str().unwrap(), "{name}");
        }
        assert_eq!(parse(row.get("python_spaced").unwrap().as_str().unwrap()), Ok(value));
    }
}
