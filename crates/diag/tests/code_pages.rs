//! The code table and the pages under `docs/codes/` agree, and the pages have the form readers rely on.

#![expect(
    clippy::disallowed_methods,
    reason = "the pages are files of this repository, and a test reads them"
)]

use std::collections::BTreeSet;
use std::path::PathBuf;

use stave_diag::page::{self, ExampleKind};
use stave_diag::{CODES, CodeInfo, Colour};

fn rows() -> impl Iterator<Item = &'static CodeInfo> {
    CODES.iter().copied().flatten()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/codes")
}

/// Every broken rule of every row at once.
fn assert_all(check: impl Fn(&CodeInfo) -> Vec<String>) {
    let broken: Vec<String> = rows()
        .flat_map(|row| check(row).into_iter().map(|what| format!("docs/codes/{}.md: {what}", row.code)))
        .collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn names_are_kebab_case_and_unique() {
    let mut seen = BTreeSet::new();
    for row in rows() {
        let name = row.code.0;
        let words = name.split('-');
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        assert!(words.clone().all(is_word), "`{name}` is not kebab-case");
        assert!(name.starts_with(|first: char| first.is_ascii_lowercase()), "`{name}` starts with a letter");
        assert!(seen.insert(name), "`{name}` is in the table twice");
    }
}

#[test]
fn summaries_are_one_sentence() {
    assert_all(|row| {
        let summary = row.summary;
        let mut broken = Vec::new();
        if !summary.ends_with('.') || summary.trim_end_matches('.').contains(". ") || summary.contains('\n') {
            broken.push(format!("the summary is one sentence with a full stop at its end, not {summary:?}"));
        }
        if !summary.starts_with(|first: char| first.is_uppercase() || first == '`') {
            broken.push(format!("the summary starts like a sentence, not {summary:?}"));
        }
        broken
    });
}

/// What every page says, in this order.
const HEADINGS: [&str; 5] = ["## What it checks", "## Why it matters", "## Example", "## Fix", "## Limits"];

#[test]
fn every_page_has_its_title_and_sections() {
    assert_all(|row| {
        let mut broken = Vec::new();
        if row.page.lines().next() != Some(&format!("# {}", row.code)) {
            broken.push(format!("the first line is `# {}`", row.code));
        }
        let headings: Vec<&str> =
            prose_lines(row.page).into_iter().filter(|line| line.starts_with("## ")).collect();
        if headings != HEADINGS {
            broken.push(format!("the sections are {HEADINGS:?} in this order, not {headings:?}"));
        }
        // The examples speak for themselves; every other section says something in words.
        for (heading, text) in sections(row.page).iter().filter(|(heading, _)| *heading != "## Example") {
            if text.is_empty() {
                broken.push(format!("the section `{heading}` has no sentence"));
            } else if !text.ends_with(['.', ':', '|']) {
                broken.push(format!("the section `{heading}` ends with a sentence, not {text:?}"));
            }
        }
        if !row.page.ends_with('\n') || row.page.contains('\r') {
            broken.push("lines end with line feeds, the last one too".to_owned());
        }
        broken
    });
}

#[test]
fn no_page_says_the_same_twice() {
    assert_all(|row| {
        let mut seen = BTreeSet::new();
        let mut broken = Vec::new();
        for (heading, text) in sections(row.page) {
            for sentence in text.split(". ").map(|sentence| sentence.trim_end_matches('.')) {
                if !seen.insert(sentence.to_owned()) && sentence.len() > 20 {
                    broken.push(format!("`{heading}` repeats {sentence:?}"));
                }
            }
        }
        broken
    });
}

/// The sections of a page, each with its words outside fences in one line.
fn sections(page: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in prose_lines(page) {
        if line.starts_with("## ") {
            found.push((line, String::new()));
        } else if let Some((_, text)) = found.last_mut().filter(|_| !line.trim().is_empty()) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line.trim());
        }
    }
    found
}

#[test]
fn every_example_is_of_a_known_kind() {
    assert_all(|row| {
        let examples = page::examples(row.page);
        let mut broken = Vec::new();
        for (section, list) in [("Example", &examples.bad), ("Fix", &examples.good)] {
            if list.is_empty() {
                broken.push(format!("the section {section} has an example in a fence"));
            }
            for example in list {
                if let ExampleKind::Unknown(words) = &example.kind {
                    broken.push(format!("{section}: a fence with the words {words:?} is of no known kind"));
                }
                if example.kind.is_run() && example.request.is_none() {
                    broken.push(format!(
                        "{section}: an example that is run has a `json request` fence after it"
                    ));
                }
                if example.text.trim().is_empty() {
                    broken.push(format!("{section}: an example is empty"));
                }
            }
        }
        broken
    });
}

/// The lines outside fences.
fn prose_lines(page: &str) -> Vec<&str> {
    let mut inside = false;
    page.lines()
        .filter(|line| {
            let is_fence = line.starts_with("```");
            inside ^= is_fence;
            !inside && !is_fence
        })
        .collect()
}

#[test]
fn every_page_can_be_explained() {
    assert_all(|row| {
        let shown = page::to_terminal(row.page, Colour::Never);
        let wide: Vec<&str> =
            shown.lines().filter(|line| !line.starts_with("    ") && line.chars().count() > 80).collect();
        let mut broken: Vec<String> =
            wide.iter().map(|line| format!("a line is too wide for a terminal: {line}")).collect();
        if shown.lines().next() != Some(row.code.0) {
            broken.push("the explanation starts with the code".to_owned());
        }
        broken
    });
}

#[test]
fn no_page_is_without_a_row() {
    let known: BTreeSet<String> = rows().map(|row| format!("{}.md", row.code)).collect();
    let strangers: Vec<String> = std::fs::read_dir(folder())
        .expect("docs/codes exists")
        .map(|entry| entry.expect("docs/codes can be read").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "README.md" && !known.contains(name))
        .collect();
    assert!(strangers.is_empty(), "docs/codes has pages that no row of the code table names: {strangers:?}");
}

#[test]
fn the_index_lists_every_code() {
    let path = folder().join("README.md");
    let wanted = index();
    if std::env::var_os("STAVE_BLESS").is_some() {
        std::fs::write(&path, &wanted).expect("docs/codes/README.md can be written");
    }
    let present = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        present == wanted,
        "docs/codes/README.md is not what the code table says; rewrite it with \
         `STAVE_BLESS=1 cargo test -p stave-diag --test code_pages`"
    );
}

/// The parts of the table, in its order, as the index calls them.
const PARTS: [&str; 8] = [
    "YAML text",
    "Flows",
    "Code, expressions and templates",
    "Exec documents",
    "System documents and bundles",
    "Prompts",
    "Runs",
    "Project and command line",
];

/// The page `docs/codes/README.md`: all codes, part by part, in alphabetical order.
fn index() -> String {
    assert_eq!(PARTS.len(), CODES.len(), "every part of the table has a title");
    let mut out = String::from(
        "# Codes\n\n\
         Every finding has one of these names. `stave explain CODE` prints its page: what is checked, why it matters,\n\
         an example, its fix, and what the rule does not see. This page is generated.\n",
    );
    for (title, part) in PARTS.into_iter().zip(CODES.iter().copied()).filter(|(_, part)| !part.is_empty()) {
        let mut members: Vec<&CodeInfo> = part.iter().collect();
        members.sort_by_key(|row| row.code);
        out.push_str(&format!("\n## {title}\n\n| code | severity | meaning |\n|---|---|---|\n"));
        for row in members {
            let (code, severity, summary) = (row.code, row.severity, row.summary.replace('|', "\\|"));
            out.push_str(&format!("| [`{code}`]({code}.md) | {severity} | {summary} |\n"));
        }
    }
    out
}
