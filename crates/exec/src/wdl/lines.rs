//! The lines of a text that say something: blank ones and comments are left out.

use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, SourceId, Span};

/// A line without its indentation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    /// Counted from 1.
    pub(super) number: u32,
    /// How many spaces come before the content.
    pub(super) indent: usize,
    /// The content up to the line's end, trailing spaces included.
    pub(super) content: &'t str,
    /// Where the content begins in the text.
    pub(super) start: usize,
}

/// Reads the lines. A tab in an indentation has no width that everybody agrees on, so it is a fault.
pub(super) fn read(source: SourceId, text: &str) -> Result<Vec<Line<'_>>, Box<Diagnostic>> {
    let mut lines = Vec::new();
    for (index, (start, whole)) in split(text).enumerate() {
        let content = whole.trim_start_matches([' ', '\t']);
        let trimmed = content.trim();
        if trimmed.is_empty() {
            continue;
        }
        let indent = whole.len() - content.len();
        if let Some(tab) = whole.find('\t').filter(|tab| *tab < indent) {
            let span = Span::new(source, start + tab, start + tab + 1);
            let diagnostic = Diagnostic::new(codes::WDL_PARSE_ERROR, span, "a tab in the indentation");
            return Err(Box::new(diagnostic.help("indent with spaces")));
        }
        if trimmed.starts_with('#') {
            continue;
        }
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        lines.push(Line { number, indent, content, start: start + indent });
    }
    Ok(lines)
}

/// Every line, those that say nothing included.
pub(super) fn all(text: &str) -> impl Iterator<Item = &str> {
    split(text).map(|(_, line)| line)
}

/// The number of the line that an offset lies on, counted as this language counts lines.
#[must_use]
pub fn line_number(text: &str, offset: usize) -> u32 {
    let before = split(text).take_while(|(start, _)| *start <= offset).count();
    u32::try_from(before.max(1)).unwrap_or(u32::MAX)
}

/// Lines with their offsets. Everything that Python's `splitlines` takes for a line's end is one.
fn split(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let begin = start;
        match rest.char_indices().find(|(_, character)| is_line_end(*character)) {
            None => {
                start = text.len();
                Some((begin, rest))
            }
            Some((length, end)) => {
                let line = rest.get(..length).unwrap_or_default();
                let pair = rest.get(length..).is_some_and(|rest| rest.starts_with("\r\n"));
                start = begin + length + if pair { 2 } else { end.len_utf8() };
                Some((begin, line))
            }
        }
    })
}

fn is_line_end(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_python_ends_them() {
        let lines: Vec<&str> = split("a\r\nb\rc\u{2028}d\n\ne").map(|(_, line)| line).collect();
        assert_eq!(lines, ["a", "b", "c", "d", "", "e"]);
        assert_eq!(split("a\n").count(), 1);
        assert_eq!(split("").count(), 0);
        assert_eq!(line_number("a\nb\nc", 4), 3);
    }

    #[test]
    fn a_tab_in_the_indentation_is_reported_at_its_place() {
        let fault = read(SourceId(0), "a:\n  \t- b\n").expect_err("there is a tab");
        assert_eq!(fault.primary.range(), 5..6);
        let fault = read(SourceId(0), "a: 1\n\t# b\n").expect_err("a comment is indented too");
        assert_eq!(fault.primary.range(), 5..6);
        assert!(read(SourceId(0), "a: 1\n\t \n").is_ok(), "a blank line is not");
    }
}
