//! How a text is cut into pieces before it is merged: no token crosses the border of two pieces.
//!
//! The vocabularies define their pieces by a regular expression with alternatives, the first that matches wins. These
//! functions find what the expressions match, in time linear in the text and without an automaton. The tests
//! compare them with the expressions.

use super::characters::{CharacterClasses, LETTER, LOWER, NEWLINE, NUMBER, SPACE, UPPER};

/// Whose rules cut the text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rules {
    O200k,
    Cl100k,
}

/// The pieces of a text, in order. Together they are the text.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    classes: &'static CharacterClasses,
    rules: Rules,
    text: &'a str,
    start: usize,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(rules: Rules, text: &'a str) -> Self {
        Self { classes: CharacterClasses::get(), rules, text, start: 0 }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (first, after_first) = self.character(self.start)?;
        let end = match self.rules {
            Rules::O200k => self.word(first, after_first),
            Rules::Cl100k => self.contraction(self.start).or_else(|| self.letters(first, after_first)),
        };
        let end = end
            .or_else(|| self.digits(first, after_first))
            .or_else(|| self.symbols(first, after_first))
            .unwrap_or_else(|| self.spaces(after_first));
        let piece = &self.text[self.start..end];
        self.start = end;
        Some(piece)
    }
}

impl Pieces<'_> {
    /// The classes of the character at `at`, and where the next one is.
    fn character(&self, at: usize) -> Option<(u8, usize)> {
        let byte = *self.text.as_bytes().get(at)?;
        if byte.is_ascii() {
            return Some((self.classes.of_ascii(byte), at + 1));
        }
        let character = self.text[at..].chars().next()?;
        Some((self.classes.of(character), at + character.len_utf8()))
    }

    /// Where the characters end that have one of `classes`, from `at` on.
    fn run(&self, mut at: usize, classes: u8) -> usize {
        while let Some((class, next)) = self.character(at)
            && class & classes != 0
        {
            at = next;
        }
        at
    }

    /// `[^\r\n\p{L}\p{N}]?` before letters: where a word may begin, the first choice first.
    fn word_starts(&self, first: u8, after_first: usize) -> impl Iterator<Item = usize> + use<> {
        let skips = first & (NEWLINE | LETTER | NUMBER) == 0;
        skips.then_some(after_first).into_iter().chain([self.start])
    }

    /// `[^\r\n\p{L}\p{N}]?\p{L}+`
    fn letters(&self, first: u8, after_first: usize) -> Option<usize> {
        self.word_starts(first, after_first)
            .map(|start| (start, self.run(start, LETTER)))
            .find(|(start, end)| end > start)
            .map(|(_, end)| end)
    }

    /// `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` or, if that matches nothing,
    /// `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`, both with a contraction.
    fn word(&self, first: u8, after_first: usize) -> Option<usize> {
        let lower = self.word_starts(first, after_first).find_map(|start| self.capitals_then_small(start));
        let upper = || {
            self.word_starts(first, after_first)
                .map(|start| (start, self.run(start, UPPER)))
                .find(|(start, end)| end > start)
                .map(|(_, end)| self.run(end, LOWER))
        };
        let end = lower.or_else(upper)?;
        Some(self.contraction(end).unwrap_or(end))
    }

    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`. Characters of both classes end the word if no
    /// small letter follows the capitals; the last of them does.
    fn capitals_then_small(&self, start: usize) -> Option<usize> {
        let mut at = start;
        let mut last_of_both = None;
        while let Some((class, next)) = self.character(at)
            && class & UPPER != 0
        {
            at = next;
            if class & LOWER != 0 {
                last_of_both = Some(at);
            }
        }
        let end = self.run(at, LOWER);
        if end > at { Some(end) } else { last_of_both }
    }

    /// `(?i:'s|'t|'re|'ve|'m|'ll|'d)`; the long s is a case of s.
    fn contraction(&self, at: usize) -> Option<usize> {
        let rest = self.text.as_bytes().get(at..)?;
        match rest.first_chunk::<3>().map_or((rest, None), |three| (&three[..2], Some(three[2]))) {
            (&[b'\'', b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D'], _) => Some(at + 2),
            (&[b'\'', b'r' | b'R' | b'v' | b'V'], Some(b'e' | b'E'))
            | (&[b'\'', b'l' | b'L'], Some(b'l' | b'L')) => Some(at + 3),
            _ if rest.starts_with("'ſ".as_bytes()) => Some(at + "'ſ".len()),
            _ => None,
        }
    }

    /// `\p{N}{1,3}`
    fn digits(&self, first: u8, after_first: usize) -> Option<usize> {
        let after =
            |at: usize| self.character(at).filter(|(class, _)| class & NUMBER != 0).map(|(_, next)| next);
        (first & NUMBER != 0).then(|| {
            let second = after(after_first);
            second.map_or(after_first, |second| after(second).unwrap_or(second))
        })
    }

    /// ` ?[^\s\p{L}\p{N}]+` with the ends of lines, and in o200k the slashes, that follow.
    fn symbols(&self, first: u8, after_first: usize) -> Option<usize> {
        let is_symbol = |class: u8| class & (SPACE | LETTER | NUMBER) == 0;
        let mut end = if is_symbol(first) {
            after_first
        } else if self.text.as_bytes()[self.start] == b' ' {
            self.character(after_first).filter(|(class, _)| is_symbol(*class))?.1
        } else {
            return None;
        };
        while let Some((class, next)) = self.character(end)
            && is_symbol(class)
        {
            end = next;
        }
        let trailing: &[u8] = match self.rules {
            Rules::O200k => b"\r\n/",
            Rules::Cl100k => b"\r\n",
        };
        let rest = &self.text.as_bytes()[end..];
        Some(end + rest.iter().take_while(|byte| trailing.contains(byte)).count())
    }

    /// `\s*[\r\n]+|\s+(?!\S)|\s+`: to the last end of a line, or to the end of the text, or all but the last space,
    /// which belongs to the word that follows.
    fn spaces(&self, after_first: usize) -> usize {
        let mut at = self.start;
        let mut last = self.start;
        let mut after_newline = None;
        while let Some((class, next)) = self.character(at)
            && class & SPACE != 0
        {
            last = at;
            at = next;
            if class & NEWLINE != 0 {
                after_newline = Some(next);
            }
        }
        if let Some(end) = after_newline {
            end
        } else if at == self.text.len() || last == self.start {
            // A character of no class at all would be a symbol, so that there is a space here.
            at.max(after_first)
        } else {
            last
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use fancy_regex::Regex;
    use proptest::prelude::*;

    use super::*;

    /// The expressions as OpenAI publishes them.
    static O200K: LazyLock<Regex> = LazyLock::new(|| {
        let alternatives = [
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ];
        Regex::new(&alternatives.join("|")).unwrap()
    });
    static CL100K: LazyLock<Regex> = LazyLock::new(|| {
        let alternatives = [
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
            r"[^\r\n\p{L}\p{N}]?\p{L}+",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ];
        Regex::new(&alternatives.join("|")).unwrap()
    });

    fn assert_pieces(text: &str) {
        for (rules, expression) in [(Rules::O200k, &O200K), (Rules::Cl100k, &CL100K)] {
            let pieces: Vec<_> = Pieces::new(rules, text).collect();
            let matches: Vec<_> = expression.find_iter(text).map(|found| found.unwrap().as_str()).collect();
            assert_eq!(pieces, matches, "{rules:?} {text:?}");
        }
    }

    #[test]
    fn pieces_of_known_texts_are_those_of_the_expressions() {
        for text in [
            "",
            " ",
            "  \n \n  x",
            "it's we'LL IT'S 'ſ he'S'tis",
            "日本ABC日本Abc",
            "\u{301}a \u{301}\u{301} A\u{301}B",
            "ǅungla ʰABC",
            "1234567½Ⅷ",
            "path/to//\r\n/x ://\n\n",
            "a\u{a0}\u{2003}b\u{2028}c\t\td",
            "x   ",
        ] {
            assert_pieces(text);
        }
    }

    #[test]
    fn characters_of_all_scripts_are_cut_as_by_the_expressions() {
        for block in
            (0..=u32::from(char::MAX)).filter_map(char::from_u32).collect::<Vec<_>>().chunks(997).step_by(31)
        {
            assert_pieces(&block.iter().collect::<String>());
            assert_pieces(
                &block.iter().flat_map(|character| [' ', *character, 'a', *character]).collect::<String>(),
            );
        }
    }

    proptest! {
        #[test]
        fn pieces_are_those_of_the_expressions(
            text in "([ \t\r\n\u{a0}]{0,4}|['a-eA-EſsStTrReEvVmMlLdD]{0,6}|[ǅʰ日\u{301}\u{903}aA]{0,6}|[0-9½٣]{0,5}|[./=\r\n]{0,5}|.){0,12}"
        ) {
            assert_pieces(&text);
        }
    }
}
