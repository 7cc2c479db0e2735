//! Which part of a match belongs to the key, in a text that was joined from several.
//!
//! A format without a fixed end takes in the first word of the next text, and one without a fixed beginning the last
//! word of the text before. What a text says completely is its own; only what no text says alone is theirs together.
//!
//! Invariant: the work for a match is its length times a constant.

use std::ops::Range;

use crate::sensitive_rules::Rule;

/// The most boundaries inside one match at which it is looked for a complete key, from each side. Matches across more
/// of them are taken as they are.
const MOST_BOUNDARIES: usize = 16;

/// Fewer characters in a row after a complete key are not its rest. Without what was found the key is useless.
const SHORTEST_REST: usize = 16;

/// The stretch of a match that belongs to the key.
pub(crate) fn own_stretch(
    rule: &Rule,
    text: &str,
    matched: Range<usize>,
    parts: &[Range<usize>],
) -> Range<usize> {
    let Range { mut start, mut end } = matched;
    let first = parts.partition_point(|part| part.end <= start);
    let inside = parts.get(first..).unwrap_or_default();
    let mut is_whole = false;
    for (index, part) in inside.iter().enumerate().take(MOST_BOUNDARIES) {
        if part.end >= end {
            break;
        }
        is_whole = is_whole || rule.is_whole(&text[start..part.end]);
        let next = inside.get(index + 1).map_or(end, |next| next.end.min(end));
        if is_whole && !is_random(&text[part.end..next]) {
            end = part.end;
            break;
        }
    }
    let starts = inside.iter().map(|part| part.start).skip_while(|at| *at <= start);
    for at in starts.take_while(|at| *at < end).take(MOST_BOUNDARIES) {
        if rule.is_whole(&text[at..end]) {
            start = at;
            break;
        }
    }
    start..end
}

/// Whether a stretch is in one of the parts alone.
pub(crate) fn is_in_one(stretch: &Range<usize>, parts: &[Range<usize>]) -> bool {
    let first = parts.partition_point(|part| part.end <= stretch.start);
    parts.get(first).is_none_or(|part| stretch.end <= part.end)
}

/// Whether the characters of a key are ones that no words are made of: many in a row, in both letter cases and with digits.
fn is_random(text: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|row| {
        let has = |is: fn(&u8) -> bool| row.as_bytes().iter().any(is);
        row.len() >= SHORTEST_REST
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_uppercase)
    })
}
