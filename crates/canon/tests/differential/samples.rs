//! Writes the committed samples anew: `cargo test -p stave-canon --test differential -- --ignored`.
//! The texts come from CPython and Node alone; none of our writers takes part.

use std::process::{Command, Stdio};

use crate::other;
use crate::random::{Random, neutral};

const ROWS: usize = 400;

#[test]
#[ignore = "writes into the repository"]
fn write_the_samples() {
    for (program, script, argument, seed, file) in [
        ("python3", "python_json.py", "--texts", 3, "python_sample.jsonl"),
        ("node", "ecmascript_json.js", "--", 4, "ecmascript_sample.jsonl"),
    ] {
        let mut random = Random::new(seed);
        let lines: Vec<String> =
            (0..ROWS).map(|_| neutral(&random.value())).filter(|line| short(line)).collect();
        let mut command = Command::new(program);
        command.arg(other::data(script)).arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut sample = String::new();
        other::converse(command.spawn().unwrap(), &lines, |index, answer| {
            let texts = match answer.strip_prefix('{') {
                Some(members) => members.to_owned(),
                None => format!("\"rfc8785\": {answer}}}"),
            };
            sample.push_str(&format!("{{\"value\": {}, {texts}\n", lines[index]));
        });
        write(&other::data(file), &sample);
    }
}

/// Very long integers have a test of their own; here they would only swell the file.
fn short(line: &str) -> bool {
    line.len() < 600
}

#[expect(clippy::disallowed_methods, reason = "this is what the test is for")]
fn write(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).unwrap();
}
