//! `conform < rows.jsonl` answers rows; `conform --summary < rows.jsonl` judges them and prints counts.

use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;

use stave_conform::{Row, RowVerdict, Tally, answer_line, judge};

const USAGE: &str = "usage: conform [--summary] < rows.jsonl";

fn main() -> std::io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => answer_rows(&mut stdin().lock(), &mut stdout().lock()),
        ["--summary"] => summarise(&mut stdin().lock(), &mut stdout().lock()),
        _ => {
            writeln!(std::io::stderr(), "{USAGE}")?;
            Ok(ExitCode::from(2))
        }
    }
}

fn answer_rows(rows: &mut impl BufRead, out: &mut impl Write) -> std::io::Result<ExitCode> {
    while let Some(line) = next_line(rows)? {
        writeln!(out, "{}", answer_line(&line))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn summarise(rows: &mut impl BufRead, out: &mut impl Write) -> std::io::Result<ExitCode> {
    let mut tally = Tally::default();
    while let Some(line) = next_line(rows)? {
        let (name, op, verdict) = match Row::parse(&line) {
            Ok(row) => (row.name.clone(), row.op.clone(), judge(&row)),
            Err((name, message)) => (name, "malformed row".to_owned(), RowVerdict::Failed(message)),
        };
        tally.count(&op, &verdict);
        if let RowVerdict::Failed(why) = verdict {
            writeln!(out, "{op} {name} failed: {why}")?;
        }
    }
    write!(out, "{tally}")?;
    Ok(if tally.total().failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The next line that is not blank. Bytes that are not UTF-8 are replaced, so that such a line is a
/// malformed or a refused row like any other.
fn next_line(rows: &mut impl BufRead) -> std::io::Result<Option<String>> {
    loop {
        let mut bytes = Vec::new();
        if rows.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(bytes.trim_ascii());
        if !line.is_empty() {
            return Ok(Some(line.into_owned()));
        }
    }
}
