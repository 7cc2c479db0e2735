//! The published JSON Schema says what the code says, as far as a schema can.

#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at what is not as it should be")]

use std::path::Path;

use proptest::prelude::*;
use stave_canon::{Value, parse};
use stave_exec::{Acceptance, read};

/// What a schema cannot say: rules 3, 4 and 7.
const BEYOND: [&str; 3] = ["exec-duplicate-node", "exec-unknown-node", "exec-bad-timestamp"];

#[expect(clippy::disallowed_methods, reason = "the schema and the rows are files, and a test may read them")]
fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn schema() -> jsonschema::Validator {
    let schema = parse(&file("schemas/exec.schema.json")).expect("the schema is JSON").to_serde();
    jsonschema::validator_for(&schema).expect("the schema is a schema")
}

fn agree(schema: &jsonschema::Validator, document: &Value) -> Result<(), String> {
    let faults = read(document, Acceptance::Exact).err().unwrap_or_default();
    let in_reach = faults.iter().filter(|fault| !BEYOND.contains(&fault.code.0)).count();
    let by_schema = schema.is_valid(&document.to_serde());
    if by_schema == (in_reach == 0) {
        Ok(())
    } else {
        Err(format!("schema: {by_schema}, code: {faults:?}\n{document}"))
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads and writes the file it is about")]
fn the_committed_file_is_what_is_generated() {
    let text = format!("{}\n", stave_canon::pretty_insertion_utf8(&stave_exec::schema()).trim_end());
    if std::env::var_os("STAVE_BLESS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/exec.schema.json");
        std::fs::write(path, text).expect("the file can be written");
        return;
    }
    assert_eq!(file("schemas/exec.schema.json"), text, "run with STAVE_BLESS=1");
}

#[test]
fn schema_and_code_agree_on_every_row() {
    let schema = schema();
    let mut count = 0;
    for line in file("tests/vectors/exec/validate.jsonl").lines() {
        let row = parse(line).expect("a row is JSON");
        let document = row.pointer("/input/ir").expect("a row has a document");
        agree(&schema, document).unwrap_or_else(|reason| panic!("{reason}"));
        count += 1;
    }
    assert!(count > 50);
}

/// Values that are put into documents.
fn values() -> impl Strategy<Value = Value> {
    let texts = [
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "5.0",
        "2147483647",
        "2147483648",
        "\"\"",
        "\"a\"",
        "\"a b\"",
        "[]",
        "{}",
        "[{}]",
        "\"success\"",
        "\"1.0.0\"",
        "\"1.1.0\"",
        "\"2024-06-30T18:25:43Z\"",
        "{\"max\": 1, \"backoff_ms\": 2}",
    ];
    prop::sample::select(texts.to_vec()).prop_map(|text| parse(text).expect("it is JSON"))
}

/// Changes a document at the place that `path` leads to, taking each number modulo what is there.
fn change(value: &mut Value, path: &[usize], new: Option<Value>) {
    match (path.split_first(), &mut *value) {
        (Some((step, rest)), Value::Object(object)) if !object.is_empty() => {
            let key =
                object.get_index(step % object.len()).map(|(key, _)| key.clone()).expect("there is one");
            if rest.is_empty() && new.is_none() {
                object.shift_remove(&key);
            } else if let Some(inner) = object.get_mut(&key) {
                change(inner, rest, new);
            }
        }
        (Some((step, rest)), Value::Array(items)) if !items.is_empty() => {
            let index = step % items.len();
            change(&mut items[index], rest, new);
        }
        (_, value) => *value = new.unwrap_or_default(),
    }
}

proptest! {
    #[test]
    fn schema_and_code_agree_on_changed_documents(
        row in 0..50usize,
        changes in prop::collection::vec((prop::collection::vec(0..8usize, 1..6), prop::option::of(values())), 1..3),
    ) {
        let rows = file("tests/vectors/exec/validate.jsonl");
        let row = parse(rows.lines().nth(row).expect("a row")).expect("a row is JSON");
        let mut document = row.pointer("/input/ir").expect("a row has a document").clone();
        for (path, new) in changes {
            change(&mut document, &path, new);
        }
        let schema = schema();
        agree(&schema, &document).map_err(TestCaseError::fail)?;
    }
}
