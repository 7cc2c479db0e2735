//! The rows of `tests/vectors/flow/`.

use stave_canon::Value;

use crate::folder::repository_file;
use crate::json::{count, items, text};

/// A flow that is checked.
#[derive(Debug, Clone)]
pub(crate) struct CheckRow {
    pub(crate) name: String,
    pub(crate) yaml: String,
    pub(crate) ok: bool,
    /// The lines of the errors in ascending order; `None` is one error on any line.
    pub(crate) error_lines: Option<Vec<i64>>,
}

/// A flow that is run on one or several requests.
#[derive(Debug, Clone)]
pub(crate) struct RunRow {
    pub(crate) name: String,
    pub(crate) yaml: String,
    pub(crate) requests: Vec<Value>,
    /// Whether the requests are turns of one session, with state kept between their processes.
    pub(crate) is_session: bool,
    pub(crate) model: Vec<Value>,
    pub(crate) http: Vec<Value>,
    /// What each request is expected to give.
    pub(crate) statuses: Vec<String>,
    pub(crate) outputs: Vec<Value>,
    /// Over all requests.
    pub(crate) model_calls: u64,
    pub(crate) http_calls: u64,
    /// The nodes skipped in any of the runs; `None` is not compared.
    pub(crate) skipped: Option<Vec<String>>,
}

pub(crate) fn check_rows() -> Vec<CheckRow> {
    let rows = rows("tests/vectors/flow/check.jsonl", "flow.check");
    rows.iter().map(|row| CheckRow::read(row).unwrap_or_else(|| panic!("not a check row: {row}"))).collect()
}

pub(crate) fn run_rows() -> Vec<RunRow> {
    run_rows_of("tests/vectors/flow/run.jsonl")
}

/// Rows of our own, in the same form: what each rule about running says, and what goes beyond the specification.
pub(crate) fn own_run_rows() -> Vec<RunRow> {
    run_rows_of("tests/program/data/run_rows.jsonl")
}

fn run_rows_of(path: &str) -> Vec<RunRow> {
    let rows = rows(path, "flow.run");
    rows.iter().map(|row| RunRow::read(row).unwrap_or_else(|| panic!("not a run row: {row}"))).collect()
}

fn rows(path: &str, op: &str) -> Vec<Value> {
    let text_of_file = repository_file(path);
    let lines = text_of_file.lines().filter(|line| !line.trim().is_empty());
    let rows: Vec<Value> = lines
        .map(|line| stave_canon::parse(line).unwrap_or_else(|error| panic!("{path}: {error}")))
        .collect();
    assert!(rows.iter().all(|row| text(row, "op") == Some(op)), "{path} has rows of another op");
    rows
}

impl CheckRow {
    pub(super) fn read(row: &Value) -> Option<Self> {
        let expected = row.get("expected")?;
        Some(CheckRow {
            name: text(row, "name")?.to_owned(),
            yaml: text(row.get("input")?, "yaml")?.to_owned(),
            ok: expected.get("ok")?.as_bool()?,
            error_lines: match expected.get("error_lines")? {
                Value::Null => None,
                lines => Some(lines.as_array()?.iter().map(Value::as_i64).collect::<Option<_>>()?),
            },
        })
    }
}

impl RunRow {
    pub(super) fn read(row: &Value) -> Option<Self> {
        let (input, expected) = (row.get("input")?, row.get("expected")?);
        let (request, output) = (input.get("request")?, expected.get("output")?);
        let is_session = matches!(request, Value::Array(_));
        let each = |value: &Value| match value {
            Value::Array(items) if is_session => items.clone(),
            sole => vec![sole.clone()],
        };
        let requests = each(request);
        let statuses = match expected.get("status")? {
            Value::String(status) => vec![status.clone(); requests.len()],
            list => list
                .as_array()?
                .iter()
                .map(|status| status.as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
        };
        let skipped = match expected.get("skipped") {
            None | Some(Value::Null) => None,
            Some(list) => {
                let names = list.as_array()?.iter().map(|name| name.as_str().map(str::to_owned));
                let mut names = names.collect::<Option<Vec<String>>>()?;
                names.sort();
                Some(names)
            }
        };
        let row = RunRow {
            name: text(row, "name")?.to_owned(),
            yaml: text(input, "yaml")?.to_owned(),
            is_session,
            model: items(input, "model").to_vec(),
            http: items(input, "http").to_vec(),
            outputs: each(output),
            statuses,
            requests,
            model_calls: count(expected, "model_calls")?,
            http_calls: count(expected, "http_calls")?,
            skipped,
        };
        // A session that fails has no list of outputs to compare.
        let fits = |length: usize| length == row.requests.len();
        let fails = row.statuses.iter().all(|status| status != "ok");
        (fits(row.statuses.len()) && (fails || fits(row.outputs.len()))).then_some(row)
    }
}
