//! Another implementation of JSON, run as one process that answers a line for each line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The path of a file beside the tests.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Starts `program script arguments`, unless the program is not installed here.
pub(crate) fn start(program: &str, script: &str, arguments: &[&str]) -> Option<Child> {
    let answers = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !answers.is_ok_and(|status| status.success()) {
        println!("skipped: {program} is not installed, so only the committed sample is compared");
        return None;
    }
    let mut command = Command::new(program);
    let command = command.arg(data(script)).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    Some(command.spawn().unwrap())
}

/// Sends every line and hands each answer, in order, to `check` with the index of its line.
pub(crate) fn converse(mut process: Child, lines: &[String], mut check: impl FnMut(usize, &str)) {
    let mut input = process.stdin.take().unwrap();
    let output = BufReader::new(process.stdout.take().unwrap());
    let mut answered = 0;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for line in lines {
                writeln!(input, "{line}").unwrap();
            }
        });
        for (index, answer) in output.lines().enumerate() {
            check(index, &answer.unwrap());
            answered += 1;
        }
    });
    assert!(process.wait().unwrap().success());
    assert_eq!(answered, lines.len());
}
