//! The YAML of recordings: a reader into a tree with places, and a writer that shows long texts as blocks.
//!
//! Only what JSON can hold is read: anchors, aliases, tags and second documents are refused.

use std::collections::HashSet;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span};
use stave_canon::{Number, Object, Value};

use super::RecordingError;

/// How deep a recording may nest.
const MAX_DEPTH: usize = 100;

/// The longest key; the standard's own limit is for readers that can not look far ahead.
const LONGEST_KEY: usize = 64 << 10;

/// A value and where it starts, counted from 1.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) kind: Kind,
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Debug)]
pub(super) enum Kind {
    Scalar(Value),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    pub(super) fn into_value(self) -> Value {
        match self.kind {
            Kind::Scalar(value) => value,
            Kind::List(items) => Value::Array(items.into_iter().map(Tree::into_value).collect()),
            Kind::Map(members) => {
                Value::Object(members.into_iter().map(|(key, member)| (key, member.into_value())).collect())
            }
        }
    }
}

pub(super) fn read(text: &str) -> Result<Tree, RecordingError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut options = Options::default();
    options.simple_key_max_lookahead = LONGEST_KEY;
    let mut reader = Reader { parser: Parser::new_from_str_with_options(text, options) };
    let (event, span) = reader.next_node()?;
    let tree = reader.tree(event, span, 0)?;
    match reader.next_node()? {
        (Event::StreamEnd, _) => Ok(tree),
        (_, span) => Err(fault(&span, "a recording is one YAML document")),
    }
}

struct Reader<'t> {
    parser: Parser<'t, granit_parser::StrInput<'t>>,
}

impl<'t> Reader<'t> {
    /// The next event that is part of the data.
    fn next_node(&mut self) -> Result<(Event<'t>, Span), RecordingError> {
        loop {
            match self.parser.next_event() {
                None => return Ok((Event::StreamEnd, Span::default())),
                Some(Err(error)) => {
                    let marker = error.marker();
                    let (line, column) = (marker.line(), marker.col() + 1);
                    return Err(RecordingError { message: error.info(), line, column });
                }
                Some(Ok((
                    Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd | Event::Comment(..),
                    _,
                ))) => {}
                Some(Ok(node)) => return Ok(node),
            }
        }
    }

    fn tree(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Tree, RecordingError> {
        if depth > MAX_DEPTH {
            return Err(fault(&span, "a recording nests too deep"));
        }
        let kind = match event {
            Event::Scalar(text, style, 0, None) => Kind::Scalar(scalar(&text, style)),
            Event::SequenceStart(_, 0, None) => {
                let mut items = Vec::new();
                loop {
                    match self.next_node()? {
                        (Event::SequenceEnd, _) => break Kind::List(items),
                        (event, span) => items.push(self.tree(event, span, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(_, 0, None) => {
                let mut members: Vec<(String, Tree)> = Vec::new();
                let mut names = HashSet::new();
                loop {
                    let key = match self.next_node()? {
                        (Event::MappingEnd, _) => break Kind::Map(members),
                        (Event::Scalar(key, _, 0, None), span) => {
                            if !names.insert(key.clone()) {
                                return Err(fault(&span, &format!("the key `{key}` stands here twice")));
                            }
                            key.into_owned()
                        }
                        (_, span) => return Err(fault(&span, "a key is a text")),
                    };
                    let (event, span) = self.next_node()?;
                    members.push((key, self.tree(event, span, depth + 1)?));
                }
            }
            Event::StreamEnd => Kind::Scalar(Value::Null),
            _ => return Err(fault(&span, "anchors, aliases and tags have no place in a recording")),
        };
        Ok(Tree { kind, line: span.start.line(), column: span.start.col() + 1 })
    }
}

fn fault(span: &Span, message: &str) -> RecordingError {
    RecordingError { message: message.to_owned(), line: span.start.line(), column: span.start.col() + 1 }
}

/// YAML 1.2's core rules: only a plain scalar can be anything but text.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if !matches!(style, ScalarStyle::Plain) {
        return text.into();
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return true.into(),
        "false" | "False" | "FALSE" => return false.into(),
        _ => {}
    }
    if let Some(integer) = Number::integer(text.strip_prefix('+').unwrap_or(text)) {
        return integer.into();
    }
    let numeric = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    match text.parse::<f64>() {
        Ok(float) if numeric && float.is_finite() => float.into(),
        _ => text.into(),
    }
}

/// The value as a block of YAML that starts in column 1.
pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(members) if !members.is_empty() => write_members(members, 0, false, &mut out),
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                write_item(item, 0, &mut out);
            }
        }
        scalar => {
            write_scalar(scalar, 0, &mut out);
            out.push('\n');
        }
    }
    out
}

/// One item of a list whose dashes stand at `indent`.
pub(super) fn write_item(value: &Value, indent: usize, out: &mut String) {
    pad(indent, out);
    out.push_str("- ");
    match value {
        Value::Object(members) if !members.is_empty() => write_members(members, indent + 2, true, out),
        // A list in a list begins on a line of its own.
        Value::Array(items) if !items.is_empty() => {
            out.pop();
            out.push('\n');
            for item in items {
                write_item(item, indent + 2, out);
            }
        }
        scalar => {
            write_scalar(scalar, indent + 2, out);
            out.push('\n');
        }
    }
}

fn write_members(members: &Object, indent: usize, first_is_placed: bool, out: &mut String) {
    for (number, (key, value)) in members.iter().enumerate() {
        if number > 0 || !first_is_placed {
            pad(indent, out);
        }
        write_text(key, out);
        out.push(':');
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                write_members(inner, indent + 2, false, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                for item in items {
                    write_item(item, indent + 2, out);
                }
            }
            scalar => {
                out.push(' ');
                write_scalar(scalar, indent + 2, out);
                out.push('\n');
            }
        }
    }
}

fn write_scalar(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) if fits_a_block(text) => {
            out.push_str(if text.ends_with('\n') { "|" } else { "|-" });
            for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                out.push('\n');
                if !line.is_empty() {
                    pad(indent, out);
                    out.push_str(line);
                }
            }
        }
        Value::String(text) => write_text(text, out),
        other => out.push_str(&other.to_string()),
    }
}

/// Whether a literal block keeps every character: the first one shows the indentation, at most one line end
/// closes it, and nothing needs an escape.
fn fits_a_block(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && !text.ends_with("\n\n")
        && !text.chars().any(|letter| letter != '\n' && letter != '\t' && needs_escape(letter))
}

fn needs_escape(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn write_text(text: &str, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            letter if needs_escape(letter) => out.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

/// Whether a text can stand without quotes and still be a text to every reader of YAML.
fn is_plain(text: &str) -> bool {
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
        && text.chars().all(|letter| letter.is_alphanumeric() || "_ ./-,;!?'()+=%&*".contains(letter))
        && !text.ends_with(' ')
        && !reserved.iter().any(|word| word.eq_ignore_ascii_case(text))
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            ".{0,12}",
            "[a-z \n]{0,20}",
            "\\PC{0,6}",
            Just("no".to_owned()),
            Just("1e3".to_owned()),
            Just("a: b # c".to_owned()),
            Just("x\n\n y\n".to_owned()),
            Just("\u{feff}\u{85}\u{2028}".to_owned()),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e300..1e300).prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                prop::collection::vec((text.clone(), inner), 0..5)
                    .prop_map(|pairs| pairs.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

        #[test]
        fn what_is_written_reads_back(value in any_value()) {
            let text = write(&value);
            let read = read(&text).map(Tree::into_value);
            prop_assert_eq!(read, Ok(value), "{}", text);
        }

        #[test]
        fn no_text_panics_the_reader(text in "\\PC*") {
            let _ = read(&text);
        }
    }
}
