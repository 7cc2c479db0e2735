//! The writer and its profiles: [`Value`] to bytes.

use thiserror::Error;

use crate::escape::put_string;
use crate::float::{put_js_float, put_python_float};
use crate::integer::put_integer;
use crate::order::{self, Member, Order};
use crate::{Number, Object, Value, python_float};

/// Where written text goes: a string, or a hash that never holds the text.
pub trait Sink {
    fn put(&mut self, text: &str);
}

impl Sink for String {
    #[inline]
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
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

/// A number that RFC 8785 cannot distinguish from another one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InexactNumber {
    #[error("the integer {0} is beyond 2^53, where RFC 8785 cannot tell neighbours apart")]
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
    Writer { layout, sink, members: Vec::new() }.value(value, 0);
}

/// Writes an object by itself, as [`write`] writes a value.
pub fn write_object(object: &Object, layout: &Layout, sink: &mut impl Sink) {
    let mut writer = Writer { layout, sink, members: Vec::new() };
    writer.sink.put("{");
    writer.members(object, 1);
    writer.close(object.is_empty(), "}", 0);
}

/// Writes a text as a JSON string.
pub fn write_string(text: &str, layout: &Layout, sink: &mut impl Sink) {
    put_string(text, layout.ascii, sink);
}

/// Up to here, every integer is a double and no two are the same one.
const EXACT_IN_DOUBLES: u64 = 1 << 53;

struct Writer<'v, 's, S> {
    layout: &'s Layout,
    sink: &'s mut S,
    /// The sorted members of every object that is being written, those of the innermost last. One list for
    /// all of them saves an allocation for each.
    members: Vec<Member<'v>>,
}

impl<'v, S: Sink> Writer<'v, '_, S> {
    fn value(&mut self, value: &'v Value, depth: usize) {
        match value {
            Value::Null => self.sink.put("null"),
            Value::Bool(true) => self.sink.put("true"),
            Value::Bool(false) => self.sink.put("false"),
            Value::Number(number) => self.number(number),
            Value::String(text) => put_string(text, self.layout.ascii, self.sink),
            Value::Array(items) => {
                self.sink.put("[");
                for (index, item) in items.iter().enumerate() {
                    self.separate(index, depth + 1);
                    self.value(item, depth + 1);
                }
                self.close(items.is_empty(), "]", depth);
            }
            Value::Object(object) => {
                self.sink.put("{");
                self.members(object, depth + 1);
                self.close(object.is_empty(), "}", depth);
            }
        }
    }

    fn members(&mut self, object: &'v Object, depth: usize) {
        if self.layout.order == Order::Insertion {
            for (index, (key, value)) in object.iter().enumerate() {
                self.member(index, key, value, depth);
            }
            return;
        }
        let first = self.members.len();
        self.members.extend(object.iter().map(Member::new));
        order::sort(&mut self.members[first..], self.layout.order);
        for index in 0..object.len() {
            let Member { key, value, .. } = self.members[first + index];
            self.member(index, key, value, depth);
        }
        self.members.truncate(first);
    }

    fn member(&mut self, index: usize, key: &str, value: &'v Value, depth: usize) {
        self.separate(index, depth);
        put_string(key, self.layout.ascii, self.sink);
        self.sink.put(self.layout.key_separator);
        self.value(value, depth);
    }

    fn separate(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.sink.put(self.layout.item_separator);
        }
        self.new_line(depth);
    }

    fn close(&mut self, empty: bool, bracket: &str, depth: usize) {
        if !empty {
            self.new_line(depth);
        }
        self.sink.put(bracket);
    }

    fn new_line(&mut self, depth: usize) {
        const SPACES: &str = "                                ";
        if self.layout.indent > 0 {
            self.sink.put("\n");
            let mut missing = depth * self.layout.indent;
            while missing > 0 {
                let part = missing.min(SPACES.len());
                self.sink.put(&SPACES[..part]);
                missing -= part;
            }
        }
    }

    fn number(&mut self, number: &Number) {
        match (self.layout.numbers, number) {
            (Numbers::Python, Number::Int(value)) => put_integer(*value, self.sink),
            (Numbers::Python, Number::Big(digits)) => self.sink.put(digits),
            (Numbers::Python, Number::Float(value)) => put_python_float(*value, self.sink),
            // Doubles hold these exactly, and ECMAScript writes them without a point or an exponent.
            (Numbers::EcmaScript, Number::Int(value)) if value.unsigned_abs() <= EXACT_IN_DOUBLES => {
                put_integer(*value, self.sink);
            }
            // Beyond the doubles there is nothing to round to, and `null` would be another value's text.
            (Numbers::EcmaScript, Number::Big(digits)) if !number.as_f64().is_finite() => {
                self.sink.put(digits);
            }
            (Numbers::EcmaScript, number) => put_js_float(number.as_f64(), self.sink),
        }
    }
}

fn refuse_inexact_numbers(value: &Value) -> Result<(), InexactNumber> {
    match value {
        Value::Number(Number::Big(digits)) => Err(InexactNumber::Integer(digits.to_string())),
        Value::Number(Number::Int(integer)) if integer.unsigned_abs() > EXACT_IN_DOUBLES => {
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
