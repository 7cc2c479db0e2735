//! Mending JSON that a model got slightly wrong, without inventing anything.
//!
//! What is mended: missing closing brackets, commas before a closing bracket, comments, single quotes,
//! Python's words for null and the booleans, line breaks inside texts. A member that was cut off in the
//! middle is left out and said so: half a text or half a number is never taken for a whole one.
//!
//! Invariant: one walk over the text, and no more depth than a document may have.

use stave_canon::{MAX_DEPTH, Object, Value};
use thiserror::Error;

/// What was done to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Repair {
    MissingClosers,
    TrailingComma,
    SingleQuotes,
    PythonWord,
    Comment,
    LineBreakInText,
    /// Something was cut off in the middle and left out.
    DroppedMember,
}

/// A mended value and what was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    pub value: Value,
    /// Each kind once, in a fixed order; empty for JSON that was fine.
    pub repairs: Vec<Repair>,
}

/// A text that cannot be mended safely.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} at byte {at}")]
pub struct NotRepairable {
    pub at: usize,
    pub message: &'static str,
}

impl Repair {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Repair::MissingClosers => "missing_closers",
            Repair::TrailingComma => "trailing_comma",
            Repair::SingleQuotes => "single_quotes",
            Repair::PythonWord => "python_word",
            Repair::Comment => "comment",
            Repair::LineBreakInText => "line_break_in_text",
            Repair::DroppedMember => "dropped_member",
        }
    }
}

impl Repaired {
    /// Whether nothing the model wrote was left out.
    #[must_use]
    pub fn is_lossless(&self) -> bool {
        !self.repairs.contains(&Repair::DroppedMember)
    }
}

/// Reads JSON, mending what can be mended safely.
pub fn repair(text: &str) -> Result<Repaired, NotRepairable> {
    if let Ok(value) = stave_canon::parse(text) {
        return Ok(Repaired { value, repairs: Vec::new() });
    }
    let mut parser = Parser { text, at: 0, repairs: Vec::new() };
    let value = match parser.value(0)? {
        Parsed::Whole(value) => value,
        Parsed::Cut(value) => {
            parser.repairs.push(Repair::MissingClosers);
            value
        }
        Parsed::Nothing => return Err(parser.fault("the text ends before a value does")),
    };
    parser.space()?;
    if parser.peek().is_some() {
        return Err(parser.fault("something follows the value"));
    }
    parser.repairs.sort_unstable();
    parser.repairs.dedup();
    Ok(Repaired { value, repairs: parser.repairs })
}

/// What was read before the text ended.
enum Parsed {
    Whole(Value),
    /// An object or array with its complete members; the text ended inside it.
    Cut(Value),
    /// The text ended inside a word, a number or a string.
    Nothing,
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    repairs: Vec<Repair>,
}

impl Parser<'_> {
    fn fault(&self, message: &'static str) -> NotRepairable {
        NotRepairable { at: self.at, message }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(sign);
        if found {
            self.at += sign.len_utf8();
        }
        found
    }

    fn space(&mut self) -> Result<(), NotRepairable> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            let rest = self.rest();
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return Ok(());
            };
            self.at += length;
            self.repairs.push(Repair::Comment);
        }
    }

    fn value(&mut self, depth: usize) -> Result<Parsed, NotRepairable> {
        if depth > MAX_DEPTH {
            return Err(self.fault("too deep"));
        }
        self.space()?;
        match self.peek() {
            None => Ok(Parsed::Nothing),
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"' | '\'') => Ok(self.string()?.map_or(Parsed::Nothing, |text| Parsed::Whole(text.into()))),
            Some('-' | '0'..='9') => self.number(),
            Some(_) => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Parsed, NotRepairable> {
        self.at += 1;
        let mut members = Object::new();
        let mut after_comma = false;
        loop {
            self.space()?;
            match self.peek() {
                None => return Ok(Parsed::Cut(members.into())),
                Some('}') => {
                    self.at += 1;
                    if after_comma {
                        self.repairs.push(Repair::TrailingComma);
                    }
                    return Ok(Parsed::Whole(members.into()));
                }
                Some('"' | '\'') => {}
                Some(_) => return Err(self.fault("expected a key")),
            }
            let Some(key) = self.string()? else { return Ok(self.dropped(members.into())) };
            self.space()?;
            if !self.take(':') {
                return match self.peek() {
                    None => Ok(self.dropped(members.into())),
                    Some(_) => Err(self.fault("expected a colon")),
                };
            }
            match self.value(depth + 1)? {
                Parsed::Whole(value) => {
                    members.insert(key, value);
                }
                Parsed::Cut(value) => {
                    members.insert(key, value);
                    return Ok(Parsed::Cut(members.into()));
                }
                Parsed::Nothing => return Ok(self.dropped(members.into())),
            }
            after_comma = self.comma('}')?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Parsed, NotRepairable> {
        self.at += 1;
        let mut items = Vec::new();
        let mut after_comma = false;
        loop {
            self.space()?;
            match self.peek() {
                None => return Ok(Parsed::Cut(Value::Array(items))),
                Some(']') => {
                    self.at += 1;
                    if after_comma {
                        self.repairs.push(Repair::TrailingComma);
                    }
                    return Ok(Parsed::Whole(Value::Array(items)));
                }
                Some(_) => {}
            }
            match self.value(depth + 1)? {
                Parsed::Whole(value) => items.push(value),
                Parsed::Cut(value) => {
                    items.push(value);
                    return Ok(Parsed::Cut(Value::Array(items)));
                }
                Parsed::Nothing => return Ok(self.dropped(Value::Array(items))),
            }
            after_comma = self.comma(']')?;
        }
    }

    /// Whether a comma follows; a closing bracket or the end may follow instead.
    fn comma(&mut self, closer: char) -> Result<bool, NotRepairable> {
        self.space()?;
        if self.take(',') {
            return Ok(true);
        }
        match self.peek() {
            None => Ok(false),
            Some(sign) if sign == closer => Ok(false),
            Some(_) => Err(self.fault("expected a comma or a closing bracket")),
        }
    }

    fn dropped(&mut self, value: Value) -> Parsed {
        self.repairs.push(Repair::DroppedMember);
        Parsed::Cut(value)
    }

    /// A text in either kind of quotes; `None` when it is not closed.
    fn string(&mut self) -> Result<Option<String>, NotRepairable> {
        let quote = if self.take('"') {
            '"'
        } else {
            self.at += 1;
            self.repairs.push(Repair::SingleQuotes);
            '\''
        };
        // The same text in double quotes, for the reader that knows all escapes.
        let mut json = String::from("\"");
        let mut signs = self.rest().char_indices();
        let (mut line_break, mut single_quote) = (false, false);
        while let Some((at, sign)) = signs.next() {
            match sign {
                _ if sign == quote => {
                    json.push('"');
                    let start = self.at;
                    self.at += at + 1;
                    if line_break {
                        self.repairs.push(Repair::LineBreakInText);
                    }
                    if single_quote {
                        self.repairs.push(Repair::SingleQuotes);
                    }
                    let read = stave_canon::parse(&json).ok();
                    let text = read.and_then(|value| value.as_str().map(str::to_owned));
                    return match text {
                        Some(text) => Ok(Some(text)),
                        None => Err(NotRepairable { at: start, message: "the text has an unknown escape" }),
                    };
                }
                '\\' => match signs.next() {
                    None => break,
                    Some((_, '\'')) => {
                        // JSON has no such escape.
                        single_quote = true;
                        json.push('\'');
                    }
                    Some((_, escaped)) => json.extend(['\\', escaped]),
                },
                '"' => json.push_str("\\\""),
                '\n' => {
                    line_break = true;
                    json.push_str("\\n");
                }
                '\r' | '\t' => {
                    line_break = true;
                    json.push_str(if sign == '\r' { "\\r" } else { "\\t" });
                }
                _ => json.push(sign),
            }
        }
        self.at = self.text.len();
        Ok(None)
    }

    fn number(&mut self) -> Result<Parsed, NotRepairable> {
        let rest = self.rest();
        let is_part = |sign: char| sign.is_ascii_digit() || matches!(sign, '-' | '+' | '.' | 'e' | 'E');
        let length = rest.find(|sign| !is_part(sign)).unwrap_or(rest.len());
        // Digits at the very end may be only the first ones.
        if length == rest.len() {
            self.at = self.text.len();
            return Ok(Parsed::Nothing);
        }
        let value = rest.get(..length).and_then(|digits| stave_canon::parse(digits).ok());
        match value {
            Some(value) => {
                self.at += length;
                Ok(Parsed::Whole(value))
            }
            None => Err(self.fault("not a number")),
        }
    }

    fn word(&mut self) -> Result<Parsed, NotRepairable> {
        let rest = self.rest();
        let length = rest.find(|sign: char| !sign.is_ascii_alphabetic()).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let (value, python) = match word {
            "null" => (Value::Null, false),
            "true" => (Value::Bool(true), false),
            "false" => (Value::Bool(false), false),
            "None" => (Value::Null, true),
            "True" => (Value::Bool(true), true),
            "False" => (Value::Bool(false), true),
            cut if length == rest.len() && length > 0 => {
                let begins = ["null", "true", "false", "None", "True", "False"];
                if !begins.iter().any(|word| word.starts_with(cut)) {
                    return Err(self.fault("expected a value"));
                }
                self.at = self.text.len();
                return Ok(Parsed::Nothing);
            }
            _ => return Err(self.fault("expected a value")),
        };
        self.at += length;
        if python {
            self.repairs.push(Repair::PythonWord);
        }
        Ok(Parsed::Whole(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_mended_is_mended_and_told() {
        use Repair::*;
        for (text, value, repairs) in [
            (r#"{"a": 1}"#, r#"{"a":1}"#, vec![]),
            (r#"{"a": [1, 2"#, r#"{"a":[1]}"#, vec![MissingClosers, DroppedMember]),
            (r#"{"a": [1, 2]"#, r#"{"a":[1,2]}"#, vec![MissingClosers]),
            (r#"{"a": {"b": ["x""#, r#"{"a":{"b":["x"]}}"#, vec![MissingClosers]),
            (r#"{"a": 1, "b": "hal"#, r#"{"a":1}"#, vec![MissingClosers, DroppedMember]),
            (r#"{"a": 1, "b"#, r#"{"a":1}"#, vec![MissingClosers, DroppedMember]),
            (r#"{"a": true, "b": fal"#, r#"{"a":true}"#, vec![MissingClosers, DroppedMember]),
            (r#"{"a": [1, 2,], }"#, r#"{"a":[1,2]}"#, vec![TrailingComma]),
            (
                r#"{'a': 'it\'s "so"', 'b': None}"#,
                r#"{"a":"it's \"so\"","b":null}"#,
                vec![SingleQuotes, PythonWord],
            ),
            ("{\"a\": 1, // one\n \"b\": /* two */ 2}", r#"{"a":1,"b":2}"#, vec![Comment]),
            ("{\"a\": \"x\ny\"}", r#"{"a":"x\ny"}"#, vec![LineBreakInText]),
        ] {
            let repaired = repair(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(repaired.value.to_string(), value, "{text}");
            assert_eq!(repaired.repairs, repairs, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in [
            "",
            "it is 21",
            "{a: 1}",
            "{\"a\" 1}",
            "[1 2]",
            "{\"a\": 1} more",
            "\"half",
            "12e",
            "{\"a\": \"\\q\"}",
        ] {
            assert!(repair(text).is_err(), "{text}");
        }
    }
}
