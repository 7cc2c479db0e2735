//! The binary's own behaviour: an answer a line, counts on request, and an exit code that says whether all rows passed.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use std::io::Write;
use std::process::{Command, Stdio};

fn conform(arguments: &[&str], rows: &[u8]) -> (String, Option<i32>) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_conform"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(rows).unwrap();
    let output = process.wait_with_output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn every_line_that_is_not_blank_is_answered_in_order() {
    let rows = b"{\"name\":\"one\",\"op\":\"system.stable_node_id\",\"input\":{\"kind\":\"service\",\"name\":\"api\"}}\r\n\
        \n\
        {\"name\":\"two\",\"op\":\"no.such\",\"input\":null}\n\
        \xff\n\
        {\"name\":\"four\",\"op\":\"system.stable_node_id\",\"input\":{\"kind\":\"service\",\"name\":\" \"}}";
    let (answers, code) = conform(&[], rows);
    let expected = "{\"name\":\"one\",\"output\":\"irn_772299ee26625e7e\"}\n\
        {\"name\":\"two\",\"error\":\"unsupported op\"}\n\
        {\"name\":null,\"error\":\"malformed row: expected a value, found '\\ufffd' at column 1\"}\n\
        {\"name\":\"four\",\"error\":\"`name` must not be blank\"}\n";
    assert_eq!(answers, expected);
    assert_eq!(code, Some(0));
}

#[test]
fn a_summary_counts_by_op_and_fails_with_its_rows() {
    let good = r#"{"name":"a","op":"system.stable_node_id","input":{"kind":"service","name":"api"},"expected":"irn_772299ee26625e7e"}"#;
    let bad =
        r#"{"name":"b","op":"system.stable_node_id","input":{"kind":"service","name":"api"},"error":true}"#;
    let (summary, code) = conform(&["--summary"], good.as_bytes());
    assert!(
        summary.ends_with("total                                  1       0            0\n"),
        "{summary}"
    );
    assert_eq!(code, Some(0));
    let (summary, code) = conform(&["--summary"], format!("{good}\n{bad}\n").as_bytes());
    assert!(summary.starts_with("system.stable_node_id \"b\" failed: should have been refused"), "{summary}");
    assert_eq!(code, Some(1));
}

#[test]
fn an_unknown_argument_is_refused() {
    assert_eq!(conform(&["--help-me"], b""), (String::new(), Some(2)));
}
