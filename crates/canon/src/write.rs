//! The writer and its profiles: [`Value`] to bytes.

use thiserror::Error;

use crate::{Number, Value, js_float, python_float};

/// Where written text goes: a string, or a hash that never holds the text.
pub trait Sink {
    fn put(&mut self, text: &str);
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}

/// In which order an object's members are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Insertion,
    CodePoint,
    /// As RFC 8785 compares keys: by UTF-16 code unit, which differs beyond the basic plane.
    Utf16,
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Exact integers, doubles as CPython's `repr`.
    Python,
    /// Every number as the double that ECMAScript would hold.
    EcmaScript,
}

/// One byte-exact way to write JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    order: Order,
    numbers: Numbers,
    ascii: bool,
    item_separator: &'static str,
    key_separator: &'static str,
    indent: usize,
}

impl Layout {
    /// Specification 000: `json.dumps(value, sort_keys=True)`.
    pub const PYTHON_SPACED: Layout = Layout {
        order: Order::CodePoint,
        numbers: Numbers::Python,
        ascii: true,
        item_separator: ", ",
        key_separator: ": ",
        indent: 0,
    };
    /// Specifications 003 and 004: sorted keys, no spaces, text outside ASCII as it is.
    pub const COMPACT_UTF8: Layout =
        Layout { ascii: false, item_separator: ",", key_separator: ":", ..Layout::PYTHON_SPACED };
    /// RFC 8785, for the block line and flow hashes.
    pub const RFC8785: Layout =
        Layout { order: Order::Utf16, numbers: Numbers::EcmaScript, ..Layout::COMPACT_UTF8 };
    /// A system document's file: two spaces, sorted keys, text outside ASCII as it is.
    pub const PRETTY_SORTED_UTF8: Layout =
        Layout { item_separator: ",", indent: 2, ascii: false, ..Layout::PYTHON_SPACED };
    /// A value for people: two spaces, keys as they were put in, text outside ASCII as it is.
    pub const PRETTY_INSERTION_UTF8: Layout = Layout { ascii: false, ..Layout::PRETTY_INSERTION_ASCII };
    /// An exec document's file: two spaces, keys as they were put in, ASCII only.
    pub const PRETTY_INSERTION_ASCII: Layout =
        Layout { order: Order::Insertion, item_separator: ",", indent: 2, ..Layout::PYTHON_SPACED };
    /// One line for people and wires: keys as they were put in.
    pub const MESSAGE: Layout = Layout { order: Order::Insertion, ..Layout::COMPACT_UTF8 };
}

/// A number that RFC 8785 can not tell from another one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InexactNumber {
    #[error("the integer {0} is beyond 2^53, where RFC 8785 can not tell neighbours apart")]
    Integer(String),
    #[error("{0} has no RFC 8785 form")]
    NotFinite(String),
}

/// Specification 000's profile.
#[must_use]
pub fn python_spaced(value: &Value) -> String {
    text(value, &Layout::PYTHON_SPACED)
}

/// Specification 003's and 004's profile.
#[must_use]
pub fn compact_utf8(value: &Value) -> String {
    text(value, &Layout::COMPACT_UTF8)
}

/// RFC 8785, in which every number is a double: `1.0` becomes `1` and large integers are rounded. What has
/// no RFC 8785 form is written so that it stays apart from what has one: an integer beyond the doubles by
/// its digits; NaN and the infinities, which [`crate::parse`] never gives, as ECMAScript's `null`.
#[must_use]
pub fn rfc8785(value: &Value) -> String {
    text(value, &Layout::RFC8785)
}

/// RFC 8785 for values that must not collide: a number that would be rounded or lost is an error.
pub fn rfc8785_exact(value: &Value) -> Result<String, InexactNumber> {
    refuse_inexact_numbers(value)?;
    Ok(rfc8785(value))
}

/// Compact, keys as they were put in, ASCII only: a line of a wire protocol.
#[must_use]
pub fn compact_ascii(value: &Value) -> String {
    text(value, &Layout { ascii: true, ..Layout::MESSAGE })
}

#[must_use]
pub fn pretty_sorted_utf8(value: &Value) -> String {
    text(value, &Layout::PRETTY_SORTED_UTF8)
}

/// For people: two spaces, keys as they were put in, text outside ASCII as it is.
#[must_use]
pub fn pretty_insertion_utf8(value: &Value) -> String {
    text(value, &Layout::PRETTY_INSERTION_UTF8)
}

#[must_use]
pub fn pretty_insertion_ascii(value: &Value) -> String {
    text(value, &Layout::PRETTY_INSERTION_ASCII)
}

fn text(value: &Value, layout: &Layout) -> String {
    let mut out = String::new();
    write(value, layout, &mut out);
    out
}

/// Writes `value` in `layout` into `sink`.
pub fn write(value: &Value, layout: &Layout, sink: &mut impl Sink) {
    write_at(value, layout, sink, 0);
}

fn write_at(value: &Value, layout: &Layout, sink: &mut impl Sink, depth: usize) {
    match value {
        Value::Null => sink.put("null"),
        Value::Bool(true) => sink.put("true"),
        Value::Bool(false) => sink.put("false"),
        Value::Number(number) => write_number(number, layout, sink),
        Value::String(text) => write_string(text, layout.ascii, sink),
        Value::Array(items) => {
            sink.put("[");
            for (index, item) in items.iter().enumerate() {
                separate(index, layout, sink, depth + 1);
                write_at(item, layout, sink, depth + 1);
            }
            close(items.is_empty(), "]", layout, sink, depth);
        }
        Value::Object(object) => {
            sink.put("{");
            let mut members: Vec<(&String, &Value)> = object.iter().collect();
            match layout.order {
                Order::Insertion => {}
                Order::CodePoint => members.sort_unstable_by_key(|(key, _)| *key),
                Order::Utf16 => members
                    .sort_unstable_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16())),
            }
            for (index, (key, member)) in members.into_iter().enumerate() {
                separate(index, layout, sink, depth + 1);
                write_string(key, layout.ascii, sink);
                sink.put(layout.key_separator);
                write_at(member, layout, sink, depth + 1);
            }
            close(object.is_empty(), "}", layout, sink, depth);
        }
    }
}

fn separate(index: usize, layout: &Layout, sink: &mut impl Sink, depth: usize) {
    if index > 0 {
        sink.put(layout.item_separator);
    }
    new_line(layout, sink, depth);
}

fn close(empty: bool, bracket: &str, layout: &Layout, sink: &mut impl Sink, depth: usize) {
    if !empty {
        new_line(layout, sink, depth);
    }
    sink.put(bracket);
}

fn new_line(layout: &Layout, sink: &mut impl Sink, depth: usize) {
    const SPACES: &str = "                                ";
    if layout.indent > 0 {
        sink.put("\n");
        let mut missing = depth * layout.indent;
        while missing > 0 {
            let part = missing.min(SPACES.len());
            sink.put(&SPACES[..part]);
            missing -= part;
        }
    }
}

fn write_number(number: &Number, layout: &Layout, sink: &mut impl Sink) {
    match (layout.numbers, number) {
        (Numbers::Python, Number::Int(value)) => put_formatted(sink, format_args!("{value}")),
        (Numbers::Python, Number::Big(digits)) => sink.put(digits),
        (Numbers::Python, Number::Float(value)) => sink.put(&python_float(*value)),
        // Beyond the doubles there is nothing to round to, and `null` would be another value's text.
        (Numbers::EcmaScript, Number::Big(digits)) if !number.as_f64().is_finite() => sink.put(digits),
        (Numbers::EcmaScript, number) => sink.put(&js_float(number.as_f64())),
    }
}

/// Writes runs of plain characters whole, so that ordinary text costs one copy.
fn write_string(text: &str, ascii: bool, sink: &mut impl Sink) {
    sink.put("\"");
    let mut rest = text;
    // Every byte of a character outside ASCII is beyond 0x7f, so a run ends only between characters.
    while let Some(run) = rest.bytes().position(|byte| needs_escape(byte, ascii)) {
        let (plain, escaped) = rest.split_at(run);
        sink.put(plain);
        let mut characters = escaped.chars();
        if let Some(character) = characters.next() {
            write_escape(character, sink);
        }
        rest = characters.as_str();
    }
    sink.put(rest);
    sink.put("\"");
}

fn needs_escape(byte: u8, ascii: bool) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f) || (ascii && byte >= 0x7f)
}

fn write_escape(character: char, sink: &mut impl Sink) {
    match character {
        '"' => sink.put("\\\""),
        '\\' => sink.put("\\\\"),
        '\u{8}' => sink.put("\\b"),
        '\u{c}' => sink.put("\\f"),
        '\n' => sink.put("\\n"),
        '\r' => sink.put("\\r"),
        '\t' => sink.put("\\t"),
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                put_formatted(sink, format_args!("\\u{unit:04x}"));
            }
        }
    }
}

/// Formats straight into the sink, without a string in between.
fn put_formatted<S: Sink>(sink: &mut S, text: std::fmt::Arguments<'_>) {
    struct Pieces<'s, S>(&'s mut S);

    impl<S: Sink> std::fmt::Write for Pieces<'_, S> {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.put(text);
            Ok(())
        }
    }

    let written = std::fmt::Write::write_fmt(&mut Pieces(sink), text);
    debug_assert!(written.is_ok(), "a sink takes everything");
}

fn refuse_inexact_numbers(value: &Value) -> Result<(), InexactNumber> {
    const LIMIT: u64 = 1 << 53;
    match value {
        Value::Number(Number::Big(digits)) => Err(InexactNumber::Integer(digits.to_string())),
        Value::Number(Number::Int(integer)) if integer.unsigned_abs() > LIMIT => {
            Err(InexactNumber::Integer(integer.to_string()))
        }
        Value::Number(Number::Float(float)) if !float.is_finite() => {
            Err(InexactNumber::NotFinite(python_float(*float)))
        }
        Value::Array(items) => items.iter().try_for_each(refuse_inexact_numbers),
        Value::Object(object) => object.values().try_for_each(refuse_inexact_numbers),
        _ => Ok(()),
    }
}
