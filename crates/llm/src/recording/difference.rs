//! Why no recorded request matched: the nearest one, field by field.

use std::collections::HashMap;
use std::fmt::Write as _;

use similar::TextDiff;
use stave_canon::Value;

use super::{Exchange, ExchangeMatch, stable_request, yaml};
use crate::Request;

/// How many lines of a request take part in a difference; the rest is counted.
const MOST_LINES: usize = 2000;

/// How many `match` rules are listed.
const MOST_RULES: usize = 20;

/// The longest value that is shown whole.
const LONGEST_VALUE: usize = 120;

/// A message that says what was asked and how it differs from the nearest recorded request.
pub(super) fn explain<'e>(request: &Request, exchanges: impl Iterator<Item = &'e Exchange>) -> String {
    let asked = stable_request(request).to_value();
    let asked_lines = lines(&asked);
    let mut patterns = Vec::new();
    let mut nearest: Option<(usize, Value)> = None;
    for exchange in exchanges {
        match &exchange.when {
            ExchangeMatch::Pattern(pattern) => patterns.push(pattern.to_value()),
            ExchangeMatch::Request(recorded) => {
                let recorded = stable_request(recorded).to_value();
                let score = shared(&asked_lines, &lines(&recorded));
                if nearest.as_ref().is_none_or(|(best, _)| score > *best) {
                    nearest = Some((score, recorded));
                }
            }
        }
    }
    let mut text = String::from("no recorded exchange answers this request");
    if !patterns.is_empty() {
        let _ = write!(text, "; none of the {} `match` rules fits", patterns.len());
    }
    match nearest {
        Some((_, recorded)) => {
            text.push_str("; the nearest recorded request differs:\n");
            describe(&recorded, &asked, &mut text);
        }
        None => {
            text.push_str("; it asked:\n");
            text.push_str(&asked_lines.join("\n"));
        }
    }
    if !patterns.is_empty() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str("the rules are:");
        for pattern in patterns.iter().take(MOST_RULES) {
            let _ = write!(text, "\n- match: {}", shown(Some(pattern)));
        }
        let left = patterns.len().saturating_sub(MOST_RULES);
        if left > 0 {
            let _ = write!(text, "\n({left} more rules)");
        }
    }
    text
}

fn describe(recorded: &Value, asked: &Value, text: &mut String) {
    let keys =
        |value: &Value| value.as_object().map(|object| object.keys().cloned().collect()).unwrap_or_default();
    let mut fields: Vec<String> = keys(recorded);
    let more: Vec<String> = keys(asked);
    fields.extend(more.into_iter().filter(|key| recorded.get(key).is_none()));
    for field in fields.iter().filter(|field| *field != "messages") {
        let (before, after) = (recorded.get(field), asked.get(field));
        // 1 and 1.0 are the same number to a request's hash.
        let same = match (before.and_then(Value::as_f64), after.and_then(Value::as_f64)) {
            (Some(before), Some(after)) => before == after,
            _ => before == after,
        };
        if !same {
            let _ = writeln!(text, "{field}: recorded {}, asked {}", shown(before), shown(after));
        }
    }
    let messages = |value: &Value| {
        let lines = value.get("messages").map(lines).unwrap_or_default();
        let mut joined = lines.join("\n");
        joined.push('\n');
        joined
    };
    let (before, after) = (messages(recorded), messages(asked));
    if before != after {
        let diff = TextDiff::from_lines(before.as_str(), after.as_str());
        let _ = write!(
            text,
            "{}",
            diff.unified_diff().context_radius(2).header("recorded messages", "asked messages")
        );
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

fn lines(value: &Value) -> Vec<String> {
    let text = yaml::write(value);
    let mut lines: Vec<String> = text.lines().take(MOST_LINES).map(str::to_owned).collect();
    let left = text.lines().count().saturating_sub(MOST_LINES);
    if left > 0 {
        lines.push(format!("({left} more lines)"));
    }
    lines
}

/// How many lines two requests have in common.
fn shared(left: &[String], right: &[String]) -> usize {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for line in left {
        *counts.entry(line).or_default() += 1;
    }
    right
        .iter()
        .filter(|line| match counts.get_mut(line.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        })
        .count()
}
