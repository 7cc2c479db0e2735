//! A public type name is used for one thing in the workspace, so a reader or a search finds one declaration.
//!
//! Only `pub struct`, `pub enum` and `pub trait` count: a name that never leaves its crate has its module to tell it apart.

use std::collections::BTreeMap;

use crate::code_text::code_outside_tests;
use crate::offence::{Offence, assert_none};
use crate::repository::crate_sources;

/// Names that are declared more than once, with the reason.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("RestateClient", "the build without the feature `restate` has an empty type in its place"),
    ("Tracing", "the build without the feature `telemetry` has a type that does nothing in its place"),
];

/// The public types that a text declares, each with its line.
fn declarations(text: &str) -> Vec<(String, usize)> {
    let code = code_outside_tests(text);
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut words = line.split_whitespace().skip_while(|word| *word == "unsafe");
        if words.next() != Some("pub") {
            continue;
        }
        let mut words = words.skip_while(|word| *word == "unsafe");
        if !matches!(words.next(), Some("struct" | "enum" | "trait")) {
            continue;
        }
        let name = words.next().unwrap_or_default();
        let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
        // A name that a macro fills in is not known here.
        if end > 0 {
            found.push((name[..end].to_owned(), index + 1));
        }
    }
    found
}

/// Every declaration of a name that an earlier file or line already declares.
fn repeated(files: &[(String, String)]) -> Vec<Offence> {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    let mut offences = Vec::new();
    for (path, text) in files {
        for (name, line) in declarations(text) {
            match first.get(&name) {
                None => {
                    first.insert(name, format!("{path}:{line}"));
                }
                Some(earlier) => {
                    let what = format!("the public type `{name}` is also declared in {earlier}");
                    let cure = "name each type for what it is, or use the one type in both places";
                    offences.push(Offence::new(path, Some(line), what, cure));
                }
            }
        }
    }
    offences
}

fn sources() -> Vec<(String, String)> {
    crate_sources().into_iter().filter_map(|file| file.text().map(|text| (file.path, text))).collect()
}

fn names(offence: &Offence, name: &str) -> bool {
    offence.what.contains(&format!("`{name}`"))
}

#[test]
fn a_public_type_name_is_declared_once() {
    let mut offences = repeated(&sources());
    offences.retain(|offence| !EXCEPTIONS.iter().any(|(name, _)| names(offence, name)));
    assert_none(&offences);
}

#[test]
fn every_exception_is_still_needed() {
    let offences = repeated(&sources());
    for (name, reason) in EXCEPTIONS {
        let is_needed = offences.iter().any(|offence| names(offence, name));
        assert!(is_needed, "`{name}` is declared once; take it off the list ({reason})");
    }
}

#[test]
fn the_rule_finds_names_that_are_declared_twice() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let twice = [
        file("a.rs", "pub struct Node<'n> {\n}\n// pub enum Kind\n"),
        file("b.rs", "\npub trait Node: Copy {}\npub enum Kind {}\n"),
    ];
    let found: Vec<String> = repeated(&twice).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("b.rs:2: the public type `Node` is also declared in a.rs:1; "), "{found:?}");

    let once = [
        file("a.rs", "pub struct Node;\npub(crate) struct Kind;\n"),
        file(
            "b.rs",
            "pub struct NodeKind(Node);\nstruct Node;\n#[cfg(test)]\nmod tests {\n    pub struct Node;\n}\n",
        ),
    ];
    assert_eq!(repeated(&once), []);
}
