//! A source file is short enough to be read whole, and begins by saying what it is for.

use crate::offence::{Offence, assert_none};
use crate::repository::crate_sources;

const LONGEST_FILE: usize = 600;

fn check(path: &str, text: &str) -> Vec<Offence> {
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("// @generated") {
        return Vec::new();
    }
    let mut offences = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST_FILE {
        let what = format!("{lines} lines, more than {LONGEST_FILE}");
        offences.push(Offence::new(path, Some(LONGEST_FILE + 1), what, "split it by noun"));
    }
    if !first.starts_with("//! ") {
        let cure = "begin with `//! ` and say what the module is for and which invariant it keeps";
        offences.push(Offence::new(path, Some(1), "no module header", cure));
    }
    offences
}

#[test]
fn source_files_are_short_and_have_a_header() {
    let offences: Vec<Offence> =
        crate_sources().iter().filter_map(|file| Some(check(&file.path, &file.text()?))).flatten().collect();
    assert_none(&offences);
}

#[test]
fn the_rule_finds_long_files_and_missing_headers() {
    assert_eq!(check("a.rs", "//! What it is for.\n"), []);
    assert_eq!(check("a.rs", "use x;\n").len(), 1);
    assert_eq!(check("a.rs", "").len(), 1);
    assert_eq!(check("a.rs", &format!("//! x\n{}", "\n".repeat(LONGEST_FILE - 1))), []);
    assert_eq!(check("a.rs", &format!("//! x\n{}", "\n".repeat(LONGEST_FILE))).len(), 1);
    assert_eq!(check("a.rs", &format!("// @generated\n{}", "\n".repeat(LONGEST_FILE))), []);
}
