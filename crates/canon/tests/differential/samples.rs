//! The committed samples are what CPython and Node write, none of our writers taking part.
//! `STAVE_BLESS=1 cargo test -p stave-canon --test differential` writes them anew.

use crate::other;
use crate::random::{Random, neutral};

const ROWS: usize = 400;

#[test]
#[expect(clippy::disallowed_methods, reason = "the samples are files of this repository")]
fn the_committed_samples_are_what_the_others_write() {
    for (program, script, argument, seed, file) in [
        ("python3", "python_json.py", "--texts", 3, "python_sample.jsonl"),
        ("node", "ecmascript_json.js", "--", 4, "ecmascript_sample.jsonl"),
    ] {
        let Some(process) = other::start(program, script, &[argument]) else { continue };
        let mut random = Random::new(seed);
        let lines: Vec<String> =
            (0..ROWS).map(|_| neutral(&random.value())).filter(|line| short(line)).collect();
        let mut sample = String::new();
        other::converse(process, &lines, |index, answer| {
            let texts = match answer.strip_prefix('{') {
                Some(members) => members.to_owned(),
                None => format!("\"rfc8785\": {answer}}}"),
            };
            sample.push_str(&format!("{{\"value\": {}, {texts}\n", lines[index]));
        });
        let path = other::data(file);
        if std::env::var_os("STAVE_BLESS").is_some() {
            std::fs::write(&path, &sample).unwrap();
        }
        assert!(std::fs::read_to_string(&path).unwrap() == sample, "{program} writes another {file}");
    }
}

/// Very long integers have a test of their own; here they would only swell the file.
fn short(line: &str) -> bool {
    line.len() < 600
}
