//! Rows and their answers, as lines of JSON.

use std::panic::{AssertUnwindSafe, catch_unwind};

use stave_canon::{ParseError, ParseOptions, Value, compact_ascii, locate, locate_key, parse, parse_with};

use crate::ops::{self, Refusal};

/// What is answered for an op that is not built.
const UNSUPPORTED: &str = "unsupported op";

/// One conformance row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: Value,
    pub op: String,
    pub input: Value,
    pub expectation: Option<RowExpectation>,
}

/// What a row says its answer must be.
#[derive(Debug, Clone, PartialEq)]
pub enum RowExpectation {
    Output(Value),
    Error,
}

/// What came of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum RowResult {
    Output(Value),
    /// The op refused its input.
    Refused(String),
    Unsupported,
    /// The op panicked, which is a defect and never counts as a refusal.
    Panicked,
}

impl Row {
    /// Reads one line. The error carries what is known of the row's name, so that its answer can name it.
    pub fn parse(line: &str) -> Result<Row, (Value, String)> {
        let options = ParseOptions { non_finite: true, ..ParseOptions::default() };
        let row = parse_with(line, options).map_err(|fault| (name_in(line), malformed(&fault)))?;
        let Value::Object(mut row) = row else {
            return Err((Value::Null, format!("malformed row: expected an object, found {}", row.kind())));
        };
        let name = row.get("name").cloned().unwrap_or_default();
        let Some(op) = row.get("op").and_then(Value::as_str).map(str::to_owned) else {
            return Err((name, "malformed row: `op` must be a string".to_owned()));
        };
        let expectation = match (row.swap_remove("expected"), row.get("error").and_then(Value::as_bool)) {
            (Some(expected), _) => Some(RowExpectation::Output(expected)),
            (None, Some(true)) => Some(RowExpectation::Error),
            (None, _) => None,
        };
        let Some(input) = row.swap_remove("input") else {
            return Err((name, "malformed row: `input` is missing".to_owned()));
        };
        Ok(Row { name, op, input, expectation })
    }

    /// Runs the row's op on its input.
    #[must_use]
    pub fn answer(&self) -> RowResult {
        let Some(op) = ops::find(&self.op) else {
            return RowResult::Unsupported;
        };
        // One defect must not take the answers of all later rows with it.
        match catch_unwind(AssertUnwindSafe(|| op(&self.input))) {
            Ok(Ok(output)) => RowResult::Output(output),
            Ok(Err(Refusal(message))) => RowResult::Refused(message),
            Err(_) => RowResult::Panicked,
        }
    }
}

/// The answer to one line of input, as one line of JSON without its line feed.
#[must_use]
pub fn answer_line(line: &str) -> String {
    let (name, answer) = match Row::parse(line) {
        Ok(row) => (row.name.clone(), row.answer()),
        Err((name, message)) => (name, RowResult::Refused(message)),
    };
    let (key, value) = match answer {
        RowResult::Output(output) => ("output", output),
        RowResult::Refused(message) => ("error", message.into()),
        RowResult::Unsupported => ("error", UNSUPPORTED.into()),
        RowResult::Panicked => ("error", "internal: the op panicked".into()),
    };
    compact_ascii(&Value::from_iter([("name", name), (key, value)]))
}

/// The name of a row that cannot be read whole, when it is before the fault.
fn name_in(line: &str) -> Value {
    let name = locate_key(line, "/name").and_then(|_| locate(line, "/name"));
    name.and_then(|range| parse(line.get(range)?).ok()).unwrap_or_default()
}

fn malformed(fault: &ParseError) -> String {
    format!("malformed row: {} at column {}", fault.message, fault.column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_rows_are_answered_and_never_stop_the_run() {
        for (line, answer) in [
            ("[1]", r#"{"name":null,"error":"malformed row: expected an object, found array"}"#),
            (r#"{"name":"a"}"#, r#"{"name":"a","error":"malformed row: `op` must be a string"}"#),
            (
                r#"{"name":"a","op":"block.build"}"#,
                r#"{"name":"a","error":"malformed row: `input` is missing"}"#,
            ),
            (r#"{"name":"a","op":"no.such","input":{}}"#, r#"{"name":"a","error":"unsupported op"}"#),
        ] {
            assert_eq!(answer_line(line), answer);
        }
        assert!(answer_line("{").starts_with(r#"{"name":null,"error":"malformed row: "#));
        let broken = r#"{"name": "kept", "op": "system.load", "input": {"text": "\ud800"}}"#;
        assert!(answer_line(broken).starts_with(r#"{"name":"kept","error":"malformed row: lone surrogate"#));
    }
}
