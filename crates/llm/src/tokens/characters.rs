//! The classes of characters by which texts are cut into pieces.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// Lu, Lt, Lm, Lo and M: what a word of capitals is made of. Most scripts have one case, and marks have none.
pub(super) const UPPER: u8 = 1;
/// Ll, Lm, Lo and M: what a word of small letters is made of.
pub(super) const LOWER: u8 = 2;
pub(super) const LETTER: u8 = 4;
pub(super) const NUMBER: u8 = 8;
pub(super) const SPACE: u8 = 16;
/// The two ends of lines, which are spaces too.
pub(super) const NEWLINE: u8 = 32;

const CLASSES: [(&str, u8); 6] = [
    (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", UPPER),
    (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", LOWER),
    (r"\p{L}", LETTER),
    (r"\p{N}", NUMBER),
    (r"\s", SPACE),
    (r"[\r\n]", NEWLINE),
];

/// The classes of every character, one byte of flags each. Most of this memory is never touched.
#[derive(Debug)]
pub(super) struct CharacterClasses {
    ascii: [u8; 128],
    all: Vec<u8>,
}

static TABLE: LazyLock<CharacterClasses> = LazyLock::new(|| {
    let mut all = vec![0; char::MAX as usize + 1];
    for (pattern, flag) in CLASSES {
        for (first, last) in ranges(pattern) {
            for flags in &mut all[first as usize..=last as usize] {
                *flags |= flag;
            }
        }
    }
    let mut ascii = [0; 128];
    ascii.copy_from_slice(&all[..128]);
    CharacterClasses { ascii, all }
});

impl CharacterClasses {
    pub(super) fn get() -> &'static Self {
        &TABLE
    }

    pub(super) fn of_ascii(&self, byte: u8) -> u8 {
        self.ascii[usize::from(byte & 0x7f)]
    }

    pub(super) fn of(&self, character: char) -> u8 {
        self.all[character as usize]
    }
}

/// The characters that a pattern of one character matches. Only a pattern that is wrong matches none, and then the
/// comparison with the vocabularies' expressions fails.
fn ranges(pattern: &str) -> Vec<(char, char)> {
    match regex_syntax::parse(pattern).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        _ => Vec::new(),
    }
}
