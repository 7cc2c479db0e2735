//! A file that holds the rule of one code is named after the code.
//!
//! `dangling-edge` is then found in `dangling_edge.rs`, without a search. A file that raises several codes is named
//! after what it looks at. So is a file whose only code another file of its folder has as its only code too.

use std::collections::{BTreeMap, BTreeSet};

use stave_diag::CODES;

use crate::code_text::code_outside_tests;
use crate::offence::{Offence, assert_none};
use crate::repository::crate_sources;

/// The folders that hold one rule per file.
const FOLDERS: [&str; 8] = [
    "crates/exec/src/verify",
    "crates/exec/src/wdl/lint",
    "crates/flow/src/check",
    "crates/flow/src/check/labels",
    "crates/script/src/jinja",
    "crates/script/src/python",
    "crates/system/src/bundle/check",
    "crates/system/src/verify",
];

/// The codes whose constants a file uses.
fn codes_in(text: &str) -> BTreeSet<&'static str> {
    let code = code_outside_tests(text);
    let words: BTreeSet<&str> =
        code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').collect();
    let names = CODES.iter().copied().flatten().map(|row| row.code.0);
    names.filter(|name| words.contains(name.to_uppercase().replace('-', "_").as_str())).collect()
}

/// The offenders among the files of one folder, each with the text it holds.
fn misnamed(files: &[(String, String)]) -> Vec<Offence> {
    let mut alone: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, text) in files {
        if let [only] = codes_in(text).into_iter().collect::<Vec<_>>().as_slice() {
            alone.entry(only).or_default().push(path);
        }
    }
    let mut offences = Vec::new();
    for (code, paths) in alone {
        let wanted = format!("{}.rs", code.replace('-', "_"));
        if let [path] = paths.as_slice()
            && path.rsplit('/').next() != Some(&wanted)
        {
            let what = format!("the file raises `{code}` and no other code");
            offences.push(Offence::new(path, None, what, format!("name it `{wanted}`")));
        }
    }
    offences
}

#[test]
fn a_file_that_raises_one_code_has_its_name() {
    let sources = crate_sources();
    let mut offences = Vec::new();
    for folder in FOLDERS {
        let is_inside = |path: &str| path.rsplit_once('/').is_some_and(|(parent, _)| parent == folder);
        let files: Vec<(String, String)> = sources
            .iter()
            .filter(|file| is_inside(&file.path))
            .filter_map(|file| Some((file.path.clone(), file.text()?)))
            .collect();
        assert!(!files.is_empty(), "the folder {folder} holds rules");
        offences.extend(misnamed(&files));
    }
    assert_none(&offences);
}

#[test]
fn the_rule_finds_misnamed_files() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let raises = "fn f() { Diagnostic::new(codes::DANGLING_EDGE, span, text); }\n";
    assert_eq!(misnamed(&[file("a/edges.rs", raises)]).len(), 1);
    assert_eq!(misnamed(&[file("a/dangling_edge.rs", raises)]), []);
    assert_eq!(misnamed(&[file("a/edges.rs", "// DANGLING_EDGE\nconst NAME: &str = \"CYCLE\";\n")]), []);
    assert_eq!(
        misnamed(&[file("a/edges.rs", "[codes::DANGLING_EDGE, codes::CYCLE]")]),
        [],
        "a file with several codes"
    );
    assert_eq!(
        misnamed(&[file("a/edges.rs", raises), file("a/ends.rs", raises)]),
        [],
        "two files with one code each"
    );
}
