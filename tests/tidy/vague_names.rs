//! No file, folder or module has a name that says nothing about what is in it.

use crate::code_text::code_outside_tests;
use crate::offence::{Offence, assert_none};
use crate::repository::files;

const VAGUE: [&str; 8] = ["utils", "util", "common", "misc", "helpers", "helper", "shared", "stuff"];
const CURE: &str = "name it after the noun it is about";

fn check_path(path: &str) -> Option<Offence> {
    let vague = path.split('/').find(|part| VAGUE.contains(&part.split('.').next().unwrap_or_default()))?;
    Some(Offence::new(path, None, format!("`{vague}` is a vague name"), CURE))
}

fn check_modules(path: &str, text: &str) -> Vec<Offence> {
    let code = code_outside_tests(text);
    let mut offences = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let words: Vec<&str> =
            line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
        let vague = words.windows(2).find_map(|pair| match pair {
            ["mod", name] if VAGUE.contains(name) => Some(*name),
            _ => None,
        });
        if let Some(name) = vague {
            offences.push(Offence::new(
                path,
                Some(index + 1),
                format!("the module `{name}` has a vague name"),
                CURE,
            ));
        }
    }
    offences
}

#[test]
fn names_say_what_is_inside() {
    let mut offences = Vec::new();
    for file in files() {
        offences.extend(check_path(&file.path));
        if file.extension() == "rs" {
            offences.extend(file.text().map(|text| check_modules(&file.path, &text)).unwrap_or_default());
        }
    }
    assert_none(&offences);
}

#[test]
fn the_rule_finds_vague_names() {
    assert!(check_path("crates/flow/src/utils.rs").is_some());
    assert!(check_path("tests/common/mod.rs").is_some());
    assert!(check_path("crates/flow/src/commonmark.rs").is_none());
    assert_eq!(check_modules("a.rs", "pub(crate) mod helpers {\n").len(), 1);
    assert_eq!(check_modules("a.rs", "mod helpers_of_edges; // mod misc\n"), []);
}
