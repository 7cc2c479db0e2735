//! JSON text to [`Value`], exact, bounded and with a place for every fault.

use thiserror::Error;

use crate::scan::{Fault, NumberToken, Scanner, TOO_DEEP, begins_number};
use crate::{Number, Object, Value};

/// How deep arrays and objects may nest before a text is refused.
pub const MAX_DEPTH: usize = 256;

/// Why a text is not the JSON that was asked for. Line and column count from 1, in characters.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} at line {line} column {column}")]
pub struct ParseError {
    pub message: String,
    /// Byte offset of the fault in the text.
    pub offset: usize,
    pub line: usize,
    pub column: usize,
}

/// What to do when an object names a key twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateKeys {
    /// Keep the last value, as most readers of JSON do.
    #[default]
    LastWins,
    Refuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParseOptions {
    pub duplicate_keys: DuplicateKeys,
    /// Accept `NaN`, `Infinity`, `-Infinity` and doubles too large to represent.
    pub non_finite: bool,
}

/// Reads one JSON text: RFC 8259, the last of duplicate keys wins, nothing but white space after it.
/// A byte order mark, a lone surrogate and a double beyond the range of doubles are refused.
pub fn parse(text: &str) -> Result<Value, ParseError> {
    parse_with(text, ParseOptions::default())
}

/// [`parse`] for texts that somebody else wrote: an object that names a key twice is refused. One reader would judge
/// the first value and another obey the last.
pub fn parse_untrusted(text: &str) -> Result<Value, ParseError> {
    parse_with(text, ParseOptions { duplicate_keys: DuplicateKeys::Refuse, ..ParseOptions::default() })
}

/// [`parse`] for bytes that may not be UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> Result<Value, ParseError> {
    parse(utf8(bytes)?)
}

/// [`parse_untrusted`] for bytes that may not be UTF-8.
pub fn parse_untrusted_bytes(bytes: &[u8]) -> Result<Value, ParseError> {
    parse_untrusted(utf8(bytes)?)
}

fn utf8(bytes: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(bytes).map_err(|error| place(bytes, error.valid_up_to(), "invalid UTF-8"))
}

pub fn parse_with(text: &str, options: ParseOptions) -> Result<Value, ParseError> {
    let mut reader = Reader::new(text, options);
    reader.document().map_err(|fault| place(text.as_bytes(), fault.offset, &fault.message))
}

/// Takes the items of one long array as they are read, so that they are never all held at once.
pub trait Items {
    /// The array begins. Another one that began before is void: its key was named twice.
    fn begin(&mut self);
    fn item(&mut self, item: Value);
}

/// [`parse_with`] for an object with one long array in it: the items of the member `key` go to `items`
/// one by one, and the member of the object that is returned is an empty array. A member of another kind
/// stays where it is.
pub fn parse_each(
    text: &str,
    options: ParseOptions,
    key: &str,
    items: &mut impl Items,
) -> Result<Value, ParseError> {
    let mut reader = Reader::new(text, options);
    let value = match reader.scanner.peek() {
        Some(b'{') => reader.object_with(1, &mut |reader, name, depth| {
            if name == key && reader.scanner.peek() == Some(b'[') {
                items.begin();
                reader.array_with(depth + 1, &mut |_, item| items.item(item))?;
                return Ok(Value::Array(Vec::new()));
            }
            reader.value(depth)
        }),
        _ => reader.value(0),
    };
    let value = value.and_then(|value| reader.end(value));
    value.map_err(|fault| place(text.as_bytes(), fault.offset, &fault.message))
}

/// The parts of a container wait in a list until it closes. Its length is known then, so that it takes one
/// allocation of the right size instead of growing. One list for all open containers serves the whole text.
struct Reader<'t> {
    scanner: Scanner<'t>,
    options: ParseOptions,
    /// The items of every open array, those of the innermost last.
    items: Vec<Value>,
    /// The members of every open object, those of the innermost last.
    members: Vec<(String, Value)>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, options: ParseOptions) -> Self {
        Reader { scanner: Scanner::new(text), options, items: Vec::new(), members: Vec::new() }
    }

    fn document(&mut self) -> Result<Value, Fault> {
        let value = self.value(0)?;
        self.end(value)
    }

    /// The value, when nothing follows it.
    fn end(&mut self, value: Value) -> Result<Value, Fault> {
        match self.scanner.peek() {
            None => Ok(value),
            Some(_) => Err(self.scanner.expected("the end of the text")),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        match self.scanner.peek() {
            Some(b'[' | b'{') if depth == MAX_DEPTH => Err(self.scanner.fault(TOO_DEEP)),
            Some(b'[') => self.array(depth + 1),
            Some(b'{') => self.object(depth + 1),
            Some(b'"') => Ok(Value::String(self.scanner.string()?.into_owned())),
            Some(b't') => self.scanner.literal("true").map(|()| Value::Bool(true)),
            Some(b'f') => self.scanner.literal("false").map(|()| Value::Bool(false)),
            Some(b'n') => self.scanner.literal("null").map(|()| Value::Null),
            Some(byte) if begins_number(byte) => self.number().map(Value::Number),
            _ => Err(self.scanner.expected("a value")),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Fault> {
        let first = self.items.len();
        self.array_with(depth, &mut |reader, item| reader.items.push(item))?;
        Ok(Value::Array(self.items.drain(first..).collect()))
    }

    fn array_with(
        &mut self,
        depth: usize,
        each: &mut impl FnMut(&mut Reader<'t>, Value),
    ) -> Result<(), Fault> {
        self.scanner.eat(b'[');
        if self.scanner.eat(b']') {
            return Ok(());
        }
        loop {
            let item = self.value(depth)?;
            each(self, item);
            if !self.scanner.another(b']')? {
                return Ok(());
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Fault> {
        self.object_with(depth, &mut |reader, _, depth| reader.value(depth))
    }

    fn object_with(
        &mut self,
        depth: usize,
        member: &mut impl FnMut(&mut Reader<'t>, &str, usize) -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        let mut object = Object::new();
        let first = self.members.len();
        self.scanner.eat(b'{');
        if self.scanner.eat(b'}') {
            return Ok(Value::Object(object));
        }
        loop {
            self.scanner.peek();
            let offset = self.scanner.offset();
            let key = self.scanner.key()?.into_owned();
            // A duplicate must be refused at its place, before any fault after it.
            let refuse = self.options.duplicate_keys == DuplicateKeys::Refuse;
            if refuse && object.contains_key(&key) {
                return Err(Fault { offset, message: format!("duplicate key {key:?}").into() });
            }
            let value = member(self, &key, depth)?;
            if refuse {
                object.insert(key, value);
            } else {
                self.members.push((key, value));
            }
            if !self.scanner.another(b'}')? {
                object.extend(self.members.drain(first..));
                return Ok(Value::Object(object));
            }
        }
    }

    fn number(&mut self) -> Result<Number, Fault> {
        let offset = self.scanner.offset();
        let refuse = |message: &'static str| Fault { offset, message: message.into() };
        match self.scanner.number()? {
            NumberToken::Integer(text) => Ok(Number::of_integer_text(text)),
            NumberToken::Float(text) => match text.parse::<f64>() {
                Ok(value) if value.is_finite() || self.options.non_finite => Ok(Number::Float(value)),
                Ok(_) => Err(refuse("the number is beyond the range of doubles")),
                Err(_) => Err(refuse("not a number")),
            },
            NumberToken::NotFinite(value) if self.options.non_finite => Ok(Number::Float(value)),
            NumberToken::NotFinite(_) => Err(refuse("NaN and the infinities are not JSON")),
        }
    }
}

fn place(bytes: &[u8], offset: usize, message: &str) -> ParseError {
    let before = String::from_utf8_lossy(bytes.get(..offset).unwrap_or(bytes));
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    ParseError {
        message: message.to_owned(),
        offset,
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}
