//! The committed conformance rows of `flow.check`, run against the library.

use stave_canon::Value;
use stave_diag::Sources;
use stave_flow::{CheckOptions, load};

const ROWS: &str = include_str!("../../../tests/vectors/flow/check.jsonl");

const RUN_ROWS: &str = include_str!("../../../tests/vectors/flow/run.jsonl");

/// Rows that do not pass. The list is asserted exactly, so it can only be changed on purpose.
const FAILING: &[&str] = &[];

struct Verdict {
    lines: Vec<i64>,
    report: String,
}

fn verdict(yaml: &str) -> Verdict {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", yaml);
    let parsed = load(source, yaml, &CheckOptions::default());
    let errors = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let mut lines: Vec<i64> = errors
        .map(|error| i64::from(sources.place(error.primary).map_or(0, |(start, _)| start.line)))
        .collect();
    lines.sort_unstable();
    let report = parsed.diagnostics.iter().map(|diagnostic| {
        let line = sources.place(diagnostic.primary).map_or(0, |(start, _)| start.line);
        format!("\n    {line}: {} {}: {}", diagnostic.severity.word(), diagnostic.code, diagnostic.message)
    });
    Verdict { lines, report: report.collect() }
}

fn passes(expected: &Value, lines: &[i64]) -> bool {
    let wanted = match expected.get("error_lines") {
        Some(Value::Array(wanted)) => Some(wanted.iter().filter_map(Value::as_i64).collect::<Vec<_>>()),
        _ => None,
    };
    let ok = expected.get("ok").and_then(Value::as_bool) == Some(lines.is_empty());
    ok && match wanted {
        Some(wanted) => wanted == lines,
        None => lines.len() == 1,
    }
}

#[test]
fn exactly_the_listed_rows_do_not_pass() {
    let mut failing = Vec::new();
    for line in ROWS.lines() {
        let row = stave_canon::parse(line).unwrap();
        let text = |pointer: &str| row.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
        let name = text("/name");
        let expected = row.get("expected").unwrap();
        let verdict = verdict(&text("/input/yaml"));
        if !passes(expected, &verdict.lines) {
            println!("{name}: expected {expected}, found {:?}{}", verdict.lines, verdict.report);
            failing.push(name);
        }
    }
    assert_eq!(failing, FAILING);
}

/// The flows of the rows that are run pass the check, as far as the specification goes.
#[test]
fn flows_that_are_run_have_no_errors() {
    let mut wrong = Vec::new();
    for line in RUN_ROWS.lines() {
        let row = stave_canon::parse(line).unwrap();
        let text = |pointer: &str| row.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
        let verdict = verdict(&text("/input/yaml"));
        if !verdict.lines.is_empty() {
            wrong.push(format!("{}: {}", text("/name"), verdict.report));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
