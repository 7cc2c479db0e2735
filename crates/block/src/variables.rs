//! Text that changes by itself: clocks, dates and ids, by the patterns in `data/volatile.toml`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde::Deserialize;

/// How often a variable changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, stave_shape::Shape)]
#[shape(words)]
pub enum VariableKind {
    /// From request to request.
    Clock,
    /// From session to session.
    Id,
    /// From day to day.
    Day,
}

/// One stretch of text that a pattern recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub pattern: &'static str,
    pub kind: VariableKind,
    pub range: Range<usize>,
}

impl VariableKind {
    /// Whether it is likely to differ in the next request.
    #[must_use]
    pub fn is_fast(self) -> bool {
        matches!(self, VariableKind::Clock)
    }
}

#[derive(Debug, Deserialize)]
struct Table {
    pattern: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    kind: String,
    regex: String,
}

struct Patterns {
    set: RegexSet,
    each: Vec<(String, VariableKind, Regex)>,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let table: Table = crate::rules::embedded(include_str!("../data/volatile.toml"), "volatile");
    let set = RegexSet::new(table.pattern.iter().map(|row| &row.regex));
    let each = table.pattern.into_iter().map(|row| {
        let kind = VariableKind::from_word(&row.kind);
        Some((row.name, kind?, Regex::new(&row.regex).ok()?))
    });
    let each: Option<Vec<_>> = each.collect();
    debug_assert!(each.is_some() && set.is_ok(), "the embedded patterns are valid");
    Patterns { set: set.unwrap_or_default(), each: each.unwrap_or_default() }
});

/// The variables of a text, in order and without overlap. The earliest wins, then the longest, then the one
/// that the table names first.
#[must_use]
pub fn find_variables(text: &str) -> Vec<Variable> {
    let patterns = &*PATTERNS;
    let mut found: Vec<Variable> = Vec::new();
    for index in patterns.set.matches(text) {
        let Some((name, kind, regex)) = patterns.each.get(index) else { continue };
        found.extend(regex.find_iter(text).map(|matched| Variable {
            pattern: name,
            kind: *kind,
            range: matched.range(),
        }));
    }
    found.sort_by_key(|variable| (variable.range.start, std::cmp::Reverse(variable.range.end)));
    let mut end = 0;
    found.retain(|variable| {
        let free = variable.range.start >= end;
        if free {
            end = variable.range.end;
        }
        free
    });
    found
}

/// A text with a name in braces in place of each variable, and one sign for every other run of digits: what
/// stays the same when only clocks, ids and counters change.
#[must_use]
pub fn template(text: &str) -> String {
    let mut templated = String::with_capacity(text.len());
    let mut at = 0;
    for variable in find_variables(text) {
        push_without_digits(&text[at..variable.range.start], &mut templated);
        templated.push_str("{{");
        templated.push_str(variable.pattern);
        templated.push_str("}}");
        at = variable.range.end;
    }
    push_without_digits(&text[at..], &mut templated);
    templated
}

fn push_without_digits(text: &str, templated: &mut String) {
    let mut in_digits = false;
    for character in text.chars() {
        let is_digit = character.is_ascii_digit();
        if !is_digit {
            templated.push(character);
        } else if !in_digits {
            templated.push('#');
        }
        in_digits = is_digit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_dates_and_ids_are_found() {
        for (text, pattern) in [
            ("now 2026-11-15T17:48:01Z", "iso8601_timestamp"),
            ("now 2026-11-15 17:48:01 UTC", "date_time"),
            ("It is Sunday, November 15, 2026 at 5:48 PM", "spelled_date_time"),
            ("Sun Nov 15 20:37:50", "spelled_date_time"),
            ("the time is 17:48:01", "clock_time"),
            ("epoch 1763228881", "unix_timestamp"),
            ("id 123e4567-e89b-12d3-a456-426614174000", "uuid"),
            ("session_a1b2c3d4e5", "request_id"),
            ("HEAD 0123456789abcdef0123456789abcdef01234567", "commit"),
            ("today is 2026-11-15", "date_string"),
            ("today is 15 November 2026", "spelled_date"),
        ] {
            let found: Vec<&str> = find_variables(text).iter().map(|variable| variable.pattern).collect();
            assert_eq!(found, [pattern], "{text}");
        }
    }

    #[test]
    fn plain_text_has_no_variables() {
        for text in ["", "Answer in 3 sentences.", "ratio 4:30", "version 1.2.3", "call me at 555 0100"] {
            assert_eq!(find_variables(text), [], "{text}");
        }
    }

    #[test]
    fn a_template_is_the_same_for_every_clock() {
        let at = |time: &str| template(&format!("You are terse. Now: {time}. Turn 12 of 40."));
        assert_eq!(at("2026-11-15T17:48:01Z"), at("2027-01-02T03:04:05.678Z"));
        assert_eq!(at("2026-11-15T17:48:01Z"), "You are terse. Now: {{iso8601_timestamp}}. Turn # of #.");
    }
}
