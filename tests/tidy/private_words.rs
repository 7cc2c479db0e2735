//! No text uses a private phrase for what the field has a word for.
//!
//! A reader who knows the field, but not this project, understands each sentence at the first reading. The rule reads
//! comments, messages and pages alike, and finds a phrase that a line break divides.

use crate::offence::{Offence, assert_none};
use crate::repository::{File, files, files_below, read};

struct Phrase {
    text: &'static str,
    cure: &'static str,
}

/// In lower case, and without other spaces than one between two words.
const PHRASES: [Phrase; 10] = [
    Phrase { text: "another than", cure: "name both things, or write `different from`" },
    Phrase { text: "are let", cure: "say who permits what" },
    Phrase { text: "came to", cure: "name the result, the cost or the state" },
    Phrase { text: "can not", cure: "write `cannot`" },
    Phrase { text: "go on", cure: "write `continue`, `resume` or `proceed`" },
    Phrase { text: "goes on", cure: "write `continues`, `resumes` or `is in progress`" },
    Phrase { text: "going on", cure: "write `in progress`" },
    Phrase { text: "hear of", cure: "write `receive` or `see`" },
    Phrase { text: "hears of", cure: "write `receives` or `sees`" },
    Phrase { text: "is let", cure: "say who permits what" },
];

/// The pages outside of the folders that the rules walk. The changelog keeps the words of its time.
const PAGES: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"];

/// The folders of the studio that the rules for Rust do not walk.
const OF_THE_STUDIO: [&str; 2] = ["studio/src", "studio/tests"];

/// A line as it is read: without the signs of a comment or a heading, and without the sign that continues a string.
fn words(line: &str) -> String {
    let line = line.trim().trim_start_matches(['/', '!', '*', '#']).trim_end_matches('\\');
    line.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase()
}

/// Whether a phrase begins within so many bytes of a text, as words of their own.
fn begins(text: &str, phrase: &str, within: usize) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(phrase).any(|(start, found)| {
        let (before, after) = (&text[..start], &text[start + found.len()..]);
        start < within && !before.ends_with(is_letter) && !after.starts_with(is_letter)
    })
}

fn check(path: &str, text: &str) -> Vec<Offence> {
    let lines: Vec<String> = text.lines().map(words).collect();
    let mut offences = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let next = lines.get(index + 1).map_or("", String::as_str);
        let both = format!("{line} {next}");
        for phrase in PHRASES.iter().filter(|phrase| begins(&both, phrase.text, line.len())) {
            let what = format!("`{}` is a private phrase", phrase.text);
            offences.push(Offence::new(path, Some(index + 1), what, phrase.cure));
        }
    }
    offences
}

#[test]
fn texts_use_the_words_of_the_field() {
    // The list above names the phrases itself.
    let is_ours = |file: &File| file.is_written_by_us() && file.path != "tests/tidy/private_words.rs";
    let mut offences: Vec<Offence> = files()
        .iter()
        .chain(&files_below(&OF_THE_STUDIO))
        .filter(|file| is_ours(file))
        .filter_map(|file| Some(check(&file.path, &file.text()?)))
        .flatten()
        .collect();
    offences.extend(PAGES.iter().flat_map(|page| check(page, &read(page))));
    assert_none(&offences);
}

#[test]
fn the_rule_finds_phrases_and_not_parts_of_words() {
    assert_eq!(check("a.rs", "// The run goes on.\n").len(), 1);
    assert_eq!(check("a.rs", "//! Goes on\n").len(), 1, "in any letter case");
    assert_eq!(check("a.rs", "    /// What it came\n    /// to.\n")[0].line, Some(1), "across a line break");
    assert_eq!(check("a.rs", "let text = \"the run can \\\n    not end\";\n").len(), 1, "in a long string");
    assert_eq!(
        check("a.md", "The cargo once became tokens; let them go one by one, as `goes_on` says.\n"),
        []
    );
    assert_eq!(check("a.md", "They go\n\non.\n"), [], "in two paragraphs");
}
