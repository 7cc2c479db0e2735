//! The schema of recordings says what their reader says.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use stave_canon::{Value, parse};
use stave_llm::recording::{self, Recording};

use crate::changed::changed;

/// JSON is YAML, so that one text is read by both.
const SAMPLES: [&str; 2] = [
    r#"{"version": 1, "exchanges": [
        {"request": {"model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "name": "n",
            "content": [{"type": "text", "text": "t", "cache": "5m"}, {"type": "image", "source": {"url": "u"}},
            {"type": "document", "source": {"media_type": "a/b", "data": "x"}, "name": "d"},
            {"type": "tool_use", "id": "i", "name": "n", "arguments": {"a": 1}},
            {"type": "tool_result", "id": "i", "content": "r", "is_error": true},
            {"type": "thinking", "text": "t", "signature": "s"}, {"type": "other", "value": null}]}],
            "tools": [{"name": "f", "description": "d", "parameters": {}, "strict": true}, {"provider": {"type": "x"}}],
            "tool_choice": {"tool": "f"}, "parallel_tool_calls": false, "response_schema": {"name": "r", "schema": {}},
            "temperature": 0.5, "max_tokens": 7, "stop": ["a"], "seed": 1, "metadata": {"a": 1}},
         "times": 2, "response": {"id": "i", "content": "c", "stop": "end", "usage": {"input": 1, "output": 2}}}]}"#,
    r#"{"version": 1, "exchanges": [
        {"match": {"model": "m", "contains": "a", "excludes": ["b"]}, "times": "always",
         "response": {"json": {"a": 1}, "tool_calls": [{"name": "n", "arguments": "{}"}]}},
        {"match": {}, "response": "text"},
        {"match": {"last_contains": "x"}, "error": {"status": 429, "message": "m", "retry_after_ms": 5}}]}"#,
];

fn samples() -> Vec<Value> {
    SAMPLES.iter().map(|sample| parse(sample).unwrap()).collect()
}

/// That an exchange has one question and one answer is beyond the schema.
fn agree(document: &Value) -> Result<(), String> {
    static SCHEMA: LazyLock<Validator> =
        LazyLock::new(|| jsonschema::validator_for(&recording::schema().to_serde()).unwrap());
    let by_schema = SCHEMA.is_valid(&document.to_serde());
    let read = Recording::parse(&document.to_string());
    let is_beyond = read.as_ref().is_err_and(|error| error.message.starts_with("an exchange has either"));
    if is_beyond || by_schema == read.is_ok() {
        Ok(())
    } else {
        Err(format!("{by_schema} {read:?}\n{document}"))
    }
}

#[test]
fn the_samples_are_recordings() {
    for sample in samples() {
        Recording::parse(&sample.to_string()).unwrap();
        agree(&sample).unwrap();
    }
}

proptest! {
    #[test]
    fn schema_and_reader_agree_on_changed_recordings(document in changed(samples())) {
        agree(&document).map_err(TestCaseError::fail)?;
    }
}
