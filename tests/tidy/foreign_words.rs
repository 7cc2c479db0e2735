//! No text says that work is left to do, and no test is switched off.

use crate::offence::{Offence, assert_none};
use crate::repository::{File, files};

struct Word {
    text: &'static str,
    cure: &'static str,
    /// Whether letters may not be right before and after it.
    whole: bool,
}

const WORDS: [Word; 7] = [
    Word { text: "TODO", cure: "do it, or take it out", whole: true },
    Word { text: "FIXME", cure: "fix it, or take it out", whole: true },
    Word { text: "XXX", cure: "say what is meant", whole: true },
    Word { text: "not yet implemented", cure: "implement it, or refuse with a diagnostic", whole: false },
    Word { text: "todo!(", cure: "implement it, or refuse with a diagnostic", whole: false },
    Word { text: "unimplemented!(", cure: "implement it, or refuse with a diagnostic", whole: false },
    Word {
        text: "#[ignore",
        cure: "make the test run, or remove it; long work lives in `bench`",
        whole: false,
    },
];

fn check(path: &str, text: &str) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in &WORDS {
            if contains(line, word) {
                let what = format!("`{}` does not belong here", word.text);
                offences.push(Offence::new(path, Some(index + 1), what, word.cure));
            }
        }
    }
    offences
}

fn contains(line: &str, word: &Word) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word.text).any(|(start, found)| {
        let (before, after) = (&line[..start], &line[start + found.len()..]);
        !word.whole || (!before.ends_with(is_letter) && !after.starts_with(is_letter))
    })
}

#[test]
fn nothing_is_left_to_do() {
    // The list above names the words itself.
    let is_ours = |file: &File| file.is_written_by_us() && file.path != "tests/tidy/foreign_words.rs";
    let offences: Vec<Offence> = files()
        .iter()
        .filter(|file| is_ours(file))
        .filter_map(|file| Some(check(&file.path, &file.text()?)))
        .flatten()
        .collect();
    assert_none(&offences);
}

#[test]
fn the_rule_finds_words_and_not_parts_of_words() {
    assert_eq!(check("a.rs", "// TODO: later\n").len(), 1);
    assert_eq!(check("a.rs", "fn f() { unimplemented!() }\n").len(), 1);
    assert_eq!(check("a.rs", "one\n#[ignore = \"slow\"]\n")[0].line, Some(2));
    assert_eq!(check("a.md", "TODOS, sk-XXXX and MAX_TODO\n"), []);
}
