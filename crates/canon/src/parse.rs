//! JSON text to [`Value`], exact, bounded and with a place for every fault.
//!
//! The tokens come from `jiter`; this module adds exact integers, a depth bound and a choice about
//! duplicate keys and about the non-finite numbers that some producers write.

use jiter::{Jiter, NumberAny, NumberInt, Peek};
use thiserror::Error;

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
pub fn parse(text: &str) -> Result<Value, ParseError> {
    parse_with(text, ParseOptions::default())
}

/// [`parse`] for bytes that may not be UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> Result<Value, ParseError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(error) => Err(fault(bytes, error.valid_up_to(), "invalid UTF-8")),
    }
}

pub fn parse_with(text: &str, options: ParseOptions) -> Result<Value, ParseError> {
    let bytes = text.as_bytes();
    let mut jiter = Jiter::new(bytes);
    if options.non_finite {
        jiter = jiter.with_allow_inf_nan();
    }
    let mut reader = Reader { jiter, bytes, options };
    let peek = reader.jiter.peek().map_err(|error| reader.json_fault(&error))?;
    let value = reader.value(peek, 0)?;
    reader.jiter.finish().map_err(|error| reader.json_fault(&error))?;
    Ok(value)
}

struct Reader<'t> {
    jiter: Jiter<'t>,
    bytes: &'t [u8],
    options: ParseOptions,
}

impl Reader<'_> {
    fn value(&mut self, peek: Peek, depth: usize) -> Result<Value, ParseError> {
        if depth > MAX_DEPTH {
            return Err(fault(self.bytes, self.jiter.current_index(), "nested too deeply"));
        }
        match peek {
            Peek::Null => {
                self.jiter.known_null().map_err(|error| self.json_fault(&error))?;
                Ok(Value::Null)
            }
            Peek::True | Peek::False => {
                Ok(Value::Bool(self.jiter.known_bool(peek).map_err(|error| self.json_fault(&error))?))
            }
            Peek::String => {
                let text = self.jiter.known_str().map(str::to_owned);
                Ok(Value::String(text.map_err(|error| self.json_fault(&error))?))
            }
            Peek::Array => self.array(depth),
            Peek::Object => self.object(depth),
            _ => self.number(peek),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, ParseError> {
        let mut items = Vec::new();
        let mut next = self.jiter.known_array().map_err(|error| self.json_fault(&error))?;
        while let Some(peek) = next {
            items.push(self.value(peek, depth + 1)?);
            next = self.jiter.array_step().map_err(|error| self.json_fault(&error))?;
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Value, ParseError> {
        let mut object = Object::new();
        let first = self.jiter.known_object().map(|key| key.map(str::to_owned));
        let mut next = first.map_err(|error| self.json_fault(&error))?;
        while let Some(key) = next {
            let here = self.jiter.current_index();
            let peek = self.jiter.peek().map_err(|error| self.json_fault(&error))?;
            let value = self.value(peek, depth + 1)?;
            if self.options.duplicate_keys == DuplicateKeys::Refuse && object.contains_key(&key) {
                return Err(fault(self.bytes, here, &format!("duplicate key {key:?}")));
            }
            object.insert(key, value);
            let following = self.jiter.next_key().map(|key| key.map(str::to_owned));
            next = following.map_err(|error| self.json_fault(&error))?;
        }
        Ok(Value::Object(object))
    }

    fn number(&mut self, peek: Peek) -> Result<Value, ParseError> {
        let start = self.jiter.current_index();
        let number = self.jiter.known_number(peek).map_err(|error| self.json_fault(&error))?;
        let number = match number {
            NumberAny::Int(NumberInt::Int(value)) => Number::Int(value),
            NumberAny::Int(NumberInt::BigInt(value)) => {
                Number::Big(value.to_string().into_boxed_str())
            }
            NumberAny::Float(value) if value.is_finite() || self.options.non_finite => Number::Float(value),
            NumberAny::Float(_) => return Err(fault(self.bytes, start, "number out of range")),
        };
        Ok(Value::Number(number))
    }

    fn json_fault(&self, error: &jiter::JiterError) -> ParseError {
        let message = match &error.error_type {
            jiter::JiterErrorType::JsonError(kind) => kind.to_string(),
            wrong @ jiter::JiterErrorType::WrongType { .. } => wrong.to_string(),
        };
        fault(self.bytes, error.index, &message)
    }
}

fn fault(bytes: &[u8], offset: usize, message: &str) -> ParseError {
    let before = String::from_utf8_lossy(bytes.get(..offset.min(bytes.len())).unwrap_or_default());
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    ParseError {
        message: message.to_owned(),
        offset,
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}
