//! Every committed row except the flow line's, which run through the `stave` binary.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it cannot read")]

use std::path::Path;

use stave_canon::Value;
use stave_conform::{Row, RowVerdict, Tally, judge};

/// Op, rows that pass, rows whose op is not built. A row may never fail, so these add up to the rows there
/// are; a change of either number is progress or a regression, and shows here.
const TABLE: &[(&str, usize, usize)] = &[
    ("block.build", 5, 0),
    ("block.canonicalize", 11, 0),
    ("block.economics", 4, 0),
    ("exec.policy", 14, 0),
    ("exec.validate", 54, 0),
    ("exec.wdl_compile", 47, 0),
    ("exec.wdl_lint", 52, 0),
    ("prompt.budget", 62, 0),
    ("prompt.digest", 13, 0),
    ("prompt.from_dict", 79, 0),
    ("prompt.governance", 47, 0),
    ("prompt.hash", 36, 0),
    ("prompt.phase_lookup", 23, 0),
    ("prompt.process", 45, 0),
    ("system.acceptance_contract_id", 2, 0),
    ("system.bundle", 20, 0),
    ("system.consistency", 19, 0),
    ("system.diff", 6, 0),
    ("system.document_fingerprint", 24, 0),
    ("system.load", 129, 0),
    ("system.node_fingerprint", 6, 0),
    ("system.plan_to_ir", 8, 0),
    ("system.runtime_contract_id", 3, 0),
    ("system.stable_json_fingerprint", 5, 0),
    ("system.stable_node_id", 9, 0),
    ("system.to_json", 3, 0),
    ("system.validate", 32, 0),
    ("system.workflow_order", 2, 0),
];

/// Rows that no implementation can pass beside another one: op, name, and the row with the same input and
/// another expectation.
const CONTRADICTED: &[(&str, &str, &str)] = &[("system.consistency", "align_effects_drift", "clean")];

#[test]
fn every_row_of_a_built_op_passes_and_the_table_is_true() {
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    for line in ["prompt", "system", "exec", "block"] {
        for (file, text) in files_of(line) {
            for (index, row) in text.lines().filter(|row| !row.trim().is_empty()).enumerate() {
                let row = Row::parse(row)
                    .unwrap_or_else(|(_, message)| panic!("{file} row {}: {message}", index + 1));
                assert!(row.expectation.is_some(), "{file} row {} cannot fail", index + 1);
                if CONTRADICTED.iter().any(|(op, name, _)| row.op == *op && row.name == Value::from(*name)) {
                    continue;
                }
                let verdict = judge(&row);
                tally.count(&row.op, &verdict);
                if let RowVerdict::Failed(why) = verdict {
                    failures.push(format!("{file} row {} {}: {why}", index + 1, row.name));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} rows fail\n{}", failures.len(), failures.join("\n"));
    let found: Vec<_> =
        tally.0.iter().map(|(op, counts)| (op.as_str(), counts.passed, counts.unsupported)).collect();
    assert_eq!(found, TABLE, "the table in this file should read:\n{}", as_source(&found));
}

/// A row is only left out while its twin contradicts it.
#[test]
fn a_row_that_is_left_out_contradicts_another() {
    for (op, name, twin) in CONTRADICTED {
        let (line, file) = op.split_once('.').unwrap();
        let (_, text) = files_of(line).into_iter().find(|(found, _)| found == file).unwrap();
        let find = |name: &str| {
            let rows = text.lines().map(|row| Row::parse(row).unwrap());
            rows.into_iter().find(|row| row.name == Value::from(name)).unwrap()
        };
        let (row, twin) = (find(name), find(twin));
        assert_eq!(row.input, twin.input, "{name} has an input of its own and can pass");
        assert_ne!(row.expectation, twin.expectation, "{name} and its twin agree");
    }
}

fn files_of(line: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(line);
    let mut files: Vec<(String, String)> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), read(&path)))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no rows in {}", folder.display());
    files
}

#[expect(clippy::disallowed_methods, reason = "the rows are files, and a test may read them")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn as_source(found: &[(&str, usize, usize)]) -> String {
    found.iter().map(|row| format!("    {row:?},\n")).collect()
}
