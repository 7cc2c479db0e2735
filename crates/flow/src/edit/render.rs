//! Values as YAML text, in the style of the text around them.
//!
//! Invariant: what is written here reads back as the same value; the caller reads it again and compares.

use stave_canon::{Object, Value};

/// How new text is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style<'text> {
    /// The line break of the file.
    pub(super) newline: &'text str,
    /// Whether the file is JSON, in which every key and text is quoted and nothing is a block.
    pub(super) json: bool,
}

/// Spaces per level in new text.
pub(super) const STEP: usize = 2;

/// A flow collection past this many characters goes over several lines.
const SHORT: usize = 72;

/// Words that other readers of YAML take for booleans or nulls.
const OLD_WORDS: [&str; 8] = ["yes", "no", "on", "off", "y", "n", "true", "false"];

impl Style<'_> {
    /// A value on its own line: a scalar, or a flow collection.
    pub(super) fn inline(self, value: &Value) -> String {
        match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) | Value::Number(_) => stave_canon::compact_utf8(value),
            Value::String(text) => self.text(text, true),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.inline(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Object(object) => {
                let entries: Vec<String> = object
                    .iter()
                    .map(|(key, value)| format!("{}: {}", self.text(key, true), self.inline(value)))
                    .collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }

    /// A flow collection over several lines, as JSON files have it; `indent` is the column of its owner.
    pub(super) fn spread(self, value: &Value, indent: usize) -> String {
        let inner = format!("{}{}", self.newline, " ".repeat(indent + STEP));
        let outer = format!("{}{}", self.newline, " ".repeat(indent));
        let short = self.inline(value);
        match value {
            Value::Array(items) if !items.is_empty() && short.len() > SHORT => {
                let items: Vec<String> = items.iter().map(|item| self.spread(item, indent + STEP)).collect();
                format!("[{inner}{}{outer}]", items.join(&format!(",{inner}")))
            }
            Value::Object(object) if !object.is_empty() && short.len() > SHORT => {
                let entries: Vec<String> = object
                    .iter()
                    .map(|(key, value)| {
                        format!("{}: {}", self.text(key, true), self.spread(value, indent + STEP))
                    })
                    .collect();
                format!("{{{inner}{}{outer}}}", entries.join(&format!(",{inner}")))
            }
            _ => short,
        }
    }

    /// The text behind `key:` or `-`, with the space or line break ahead of it. `indent` is the column
    /// of the key.
    pub(super) fn after_key(self, key: &str, value: &Value, indent: usize) -> String {
        match value {
            Value::Object(object) if !object.is_empty() && !flows(key, value) => {
                let inner = indent + STEP;
                format!("{}{}{}", self.newline, " ".repeat(inner), self.entries(object, inner))
            }
            Value::Array(items) if !items.is_empty() && !flows(key, value) => {
                let inner = indent + STEP;
                let lines: Vec<String> = items
                    .iter()
                    .map(|item| format!("{}{}{}", self.newline, " ".repeat(inner), self.item(item, inner)))
                    .collect();
                lines.concat()
            }
            Value::String(text) if is_literal(text) => format!(" {}", self.literal(text, indent + STEP)),
            Value::String(text) => format!(" {}", self.text(text, false)),
            _ => format!(" {}", self.inline(value)),
        }
    }

    /// The entries of a block mapping whose first key is where the text begins.
    pub(super) fn entries(self, object: &Object, indent: usize) -> String {
        let break_ = format!("{}{}", self.newline, " ".repeat(indent));
        let entries: Vec<String> = object.iter().map(|(key, value)| self.entry(key, value, indent)).collect();
        entries.join(&break_)
    }

    /// One entry of a block mapping, without the indentation of its first line.
    pub(super) fn entry(self, key: &str, value: &Value, indent: usize) -> String {
        format!("{}:{}", self.text(key, false), self.after_key(key, value, indent))
    }

    /// One item of a block sequence, its dash included.
    pub(super) fn item(self, value: &Value, indent: usize) -> String {
        match value {
            Value::Object(object) if !object.is_empty() && !flows("", value) => {
                format!("- {}", self.entries(object, indent + STEP))
            }
            Value::Array(items) if !items.is_empty() && !flows("", value) => {
                format!("- {}", self.inline(value))
            }
            _ => format!("-{}", self.after_key("", value, indent)),
        }
    }

    /// A literal block scalar whose lines begin at `indent`, with its `|`.
    pub(super) fn literal(self, text: &str, indent: usize) -> String {
        let header = if text.ends_with('\n') { "|" } else { "|-" };
        let mut out = header.to_owned();
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            out.push_str(self.newline);
            if !line.is_empty() {
                out.push_str(&" ".repeat(indent));
                out.push_str(line);
            }
        }
        out
    }

    /// A text as a plain scalar where that is safe, else in double quotes.
    pub(super) fn text(self, text: &str, in_flow: bool) -> String {
        if !self.json && is_plain(text, in_flow) { text.to_owned() } else { double_quoted(text) }
    }
}

/// Small values that read better on one line.
fn flows(key: &str, value: &Value) -> bool {
    let is_scalar = |value: &Value| !matches!(value, Value::Array(_) | Value::Object(_));
    let short = |value: &Value| {
        let text = stave_canon::compact_utf8(value);
        text.len() <= SHORT - 12 && !text.contains("\\n")
    };
    match value {
        Value::Array(items) => items.iter().all(is_scalar) && short(value),
        Value::Object(object) => {
            let plain_type = object.len() == 1 && object.contains_key("type");
            (key == "position" || plain_type) && object.values().all(is_scalar) && short(value)
        }
        _ => true,
    }
}

/// Whether a text is best written as a literal block, and can be.
pub(super) fn is_literal(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let printable = |character: char| character == '\n' || character == '\t' || !character.is_control();
    text.contains('\n')
        && !body.is_empty()
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\n', '\t'])
        && text.chars().all(|character| printable(character) && !is_misleading(character))
        && body.split('\n').all(|line| line.is_empty() || !line.trim_matches([' ', '\t']).is_empty())
}

/// Characters that are written as escapes only: some readers take them for line breaks or for a mark of the encoding, or they
/// change the direction in which the text around them is shown.
fn is_misleading(character: char) -> bool {
    matches!(
        character,
        '\u{85}' | '\u{2028}'..='\u{202e}' | '\u{feff}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2066}'..='\u{2069}'
    )
}

pub(super) fn is_plain(text: &str, in_flow: bool) -> bool {
    let inner = |character: char| {
        character.is_alphanumeric()
            || matches!(character, '_' | '-' | '.' | '/' | ' ' | '(' | ')' | '+' | '=' | ';' | '\'')
            || (!in_flow && matches!(character, ','))
    };
    let word = text.to_ascii_lowercase();
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && !text.ends_with(' ')
        && text.chars().all(inner)
        && !OLD_WORDS.contains(&word.as_str())
        && word != "null"
}

pub(super) fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other if other.is_control() || is_misleading(other) => {
                out.push_str(&format!("\\u{:04x}", u32::from(other)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

pub(super) fn single_quoted(text: &str) -> Option<String> {
    let fits = !text.chars().any(|character| character.is_control() || is_misleading(character));
    fits.then(|| format!("'{}'", text.replace('\'', "''")))
}
