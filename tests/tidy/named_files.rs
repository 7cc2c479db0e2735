//! The pages for those who read the source name files that are there.

use std::collections::BTreeSet;

use crate::offence::{Offence, assert_none};
use crate::repository::{files, read};

const PAGES: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/glossary.md"];

/// Where the glossary begins to name the files that own its terms.
const OWNERS: &str = "## For those who read the source";

/// Where the walks through the source are.
const WALKS: &str = "## Four walks";

/// The Rust files that a page names, with their lines. A name with a placeholder names no file,
/// and neither does one with `+`, which a walk-through gives to a new file.
fn named(page: &str) -> Vec<(usize, &str)> {
    let mut named = Vec::new();
    for (index, line) in page.lines().enumerate() {
        let quoted = line.split('`').skip(1).step_by(2);
        named.extend(quoted.filter(|name| is_rust_file(name)).map(|name| (index + 1, name)));
    }
    named
}

fn is_rust_file(name: &str) -> bool {
    name.ends_with(".rs") && !name.contains(['<', '*', ' ', '+'])
}

/// Whether a name leads to a file: `crates/engine/src/machine.rs`, or shorter `engine/machine.rs` and `machine.rs`.
fn leads_to_one(name: &str, paths: &BTreeSet<String>) -> bool {
    let short = |path: &str| path.strip_prefix("crates/").map(|rest| rest.replacen("/src/", "/", 1));
    paths.iter().any(|path| {
        let ends =
            |path: &str| path == name || path.strip_suffix(name).is_some_and(|head| head.ends_with('/'));
        ends(path) || short(path).is_some_and(|short| ends(&short))
    })
}

/// The first cells of the rows of a text's tables; words in code are no terms.
fn first_cells(text: &str) -> BTreeSet<&str> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    rows.filter(|cell| !matches!(*cell, "term" | "status") && !cell.starts_with('`')).collect()
}

/// Terms of the glossary without the file that owns them, and files of terms that it does not explain.
fn unowned(page: &str) -> Vec<Offence> {
    let (explained, owned) = page.split_once(OWNERS).unwrap_or((page, ""));
    let (explained, owned) = (first_cells(explained), first_cells(owned));
    explained
        .symmetric_difference(&owned)
        .map(|term| {
            let what = format!("`{term}` is in one of the two tables only");
            Offence::new("docs/glossary.md", None, what, "explain the term and name the file that owns it")
        })
        .collect()
}

#[test]
fn pages_name_files_that_are_there() {
    let paths: BTreeSet<String> = files().into_iter().map(|file| file.path).collect();
    let mut offences = Vec::new();
    for page in PAGES {
        for (line, name) in named(&read(page)).into_iter().filter(|(_, name)| !leads_to_one(name, &paths)) {
            offences.push(Offence::new(
                page,
                Some(line),
                format!("there is no file `{name}`"),
                "name the file",
            ));
        }
    }
    assert_none(&offences);
}

#[test]
fn every_term_has_a_file_that_owns_it() {
    let page = read("docs/glossary.md");
    assert!(page.contains(OWNERS), "the glossary has no list of owners");
    assert_none(&unowned(&page));
}

/// Walks whose number of files is not the number that their row states, or that visit a file twice.
fn miscounted(page: &str) -> Vec<Offence> {
    let walks = page.split_once(WALKS).map_or("", |(_, rest)| rest);
    let walks = walks.split_once("\n## ").map_or(walks, |(walks, _)| walks);
    let rows =
        walks.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")?.1.split_once(" | "));
    rows.filter_map(|(count, files)| {
        let count: usize = count.parse().ok()?;
        let files: Vec<&str> = files.split('`').skip(1).step_by(2).collect();
        let different: BTreeSet<&str> = files.iter().copied().collect();
        (files.len() != count || different.len() != count).then(|| {
            let what = format!(
                "a walk of {count} files names {} and {} different ones",
                files.len(),
                different.len()
            );
            Offence::new("ARCHITECTURE.md", None, what, "count them again")
        })
    })
    .collect()
}

#[test]
fn walks_count_their_files_and_visit_each_once() {
    let page = read("ARCHITECTURE.md");
    assert!(page.contains(WALKS), "the walks are gone");
    assert_none(&miscounted(&page));
}

#[test]
fn the_rules_find_missing_files_and_terms() {
    let paths = BTreeSet::from(["crates/engine/src/machine.rs".to_owned(), "tests/run".to_owned()]);
    assert_eq!(named("see `engine/machine.rs` and `check/<code>.rs`"), [(1, "engine/machine.rs")]);
    assert!(leads_to_one("machine.rs", &paths) && leads_to_one("engine/machine.rs", &paths));
    assert!(leads_to_one("crates/engine/src/machine.rs", &paths));
    assert!(!leads_to_one("chine.rs", &paths) && !leads_to_one("runtime/machine.rs", &paths));
    let page = format!("| term | x |\n| run | y |\n| step | z |\n{OWNERS}\n| run | `a.rs` |\n");
    assert_eq!(unowned(&page).len(), 1);
    let walk = |row: &str| miscounted(&format!("{WALKS}\n| task | files | in order |\n{row}\n\n## Next\n"));
    assert_eq!(walk("| check | 2 | `a.rs`, `b.rs` |"), []);
    assert_eq!(walk("| check | 3 | `a.rs`, `b.rs` |").len(), 1);
    assert_eq!(walk("| check | 2 | `a.rs`, `a.rs` |").len(), 1);
}
