//! The tokens of a JSON text, with the byte offset of every fault.
//!
//! Numbers and strings without escapes are handed out as slices of the text, so nothing is rounded or
//! copied before its reader asks for it. The grammar is RFC 8259's. The scanner is our own because
//! integers are promised exact at any length, and ready-made readers bound or round them.

use std::borrow::Cow;

use crate::plain::plain_length;

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) message: Cow<'static, str>,
}

/// A number as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NumberToken<'t> {
    Integer(&'t str),
    Float(&'t str),
    /// `NaN`, `Infinity` or `-Infinity`, which are not JSON but are written by some producers.
    NotFinite(f64),
}

#[derive(Debug, Clone)]
pub(crate) struct Scanner<'t> {
    text: &'t str,
    /// Always on a character boundary.
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Scanner { text, at: 0 }
    }

    /// A scanner of the part of `text` from `at` on, where a token begins.
    pub(crate) fn starting_at(text: &'t str, at: usize) -> Self {
        Scanner { text, at }
    }

    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Passes white space and looks at the byte that begins the next token; `None` at the end.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let rest = &self.bytes()[self.at..];
        let space = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.at += space;
        rest.get(space).copied()
    }

    /// Passes the single byte that [`Scanner::peek`] showed, when it is `wanted`.
    pub(crate) fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn fault(&self, message: impl Into<Cow<'static, str>>) -> Fault {
        Fault { offset: self.at, message: message.into() }
    }

    /// The fault of finding something else than `wanted` here.
    pub(crate) fn expected(&self, wanted: &str) -> Fault {
        let found = match self.text[self.at..].chars().next() {
            None => "the end of the text".to_owned(),
            Some('\u{feff}') if self.at == 0 => "a byte order mark".to_owned(),
            Some(character) => format!("{character:?}"),
        };
        self.fault(format!("expected {wanted}, found {found}"))
    }

    /// Passes `true`, `false` or `null`.
    pub(crate) fn literal(&mut self, literal: &'static str) -> Result<(), Fault> {
        if !self.text[self.at..].starts_with(literal) {
            return Err(self.expected("a value"));
        }
        self.at += literal.len();
        Ok(())
    }

    pub(crate) fn number(&mut self) -> Result<NumberToken<'t>, Fault> {
        let start = self.at;
        if let [b'N' | b'I', ..] | [b'-', b'I', ..] = self.bytes()[start..]
            && let Some(token) = self.not_finite()
        {
            return Ok(token);
        }
        self.at += usize::from(self.byte() == Some(b'-'));
        let first = self.byte();
        let whole = self.digits()?;
        if whole > 1 && first == Some(b'0') {
            self.at -= whole - 1;
            return Err(self.fault("a number cannot begin with 0 and continue with a digit"));
        }
        let mut integer = true;
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
            integer = false;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
            integer = false;
        }
        let number = &self.text[start..self.at];
        Ok(if integer { NumberToken::Integer(number) } else { NumberToken::Float(number) })
    }

    fn not_finite(&mut self) -> Option<NumberToken<'t>> {
        let words = [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];
        let (word, value) = words.into_iter().find(|(word, _)| self.text[self.at..].starts_with(word))?;
        self.at += word.len();
        Some(NumberToken::NotFinite(value))
    }

    /// Passes the string whose opening quote is here.
    pub(crate) fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        if self.byte() != Some(b'"') {
            return Err(self.expected("a string"));
        }
        self.at += 1;
        let plain = self.plain_run();
        if self.byte() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(control) => {
                    return Err(self.fault(format!("control character U+{control:04X} in a string")));
                }
                None => return Err(self.fault("the string is not closed")),
            }
            text.push_str(self.plain_run());
        }
    }

    /// Passes a whole value without building it. `depth` is how many containers may still open.
    pub(crate) fn skip(&mut self, depth: usize) -> Result<(), Fault> {
        let close = match self.peek() {
            Some(b'[') => b']',
            Some(b'{') => b'}',
            _ => return self.skip_scalar(),
        };
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.fault(TOO_DEEP));
        };
        self.at += 1;
        if self.eat(close) {
            return Ok(());
        }
        loop {
            if close == b'}' {
                self.key()?;
            }
            self.skip(depth)?;
            if !self.another(close)? {
                return Ok(());
            }
        }
    }

    fn skip_scalar(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            Some(byte) if begins_number(byte) => self.number().map(drop),
            _ => Err(self.expected("a value")),
        }
    }

    /// Passes a member's key and its colon.
    pub(crate) fn key(&mut self) -> Result<Cow<'t, str>, Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        let key = self.string()?;
        if !self.eat(b':') {
            return Err(self.expected("`:`"));
        }
        Ok(key)
    }

    /// Passes the comma before another item, or the container's closing bracket.
    pub(crate) fn another(&mut self, close: u8) -> Result<bool, Fault> {
        let more = match self.peek() {
            Some(b',') => true,
            Some(byte) if byte == close => false,
            _ => return Err(self.expected(if close == b']' { "`,` or `]`" } else { "`,` or `}`" })),
        };
        self.at += 1;
        Ok(more)
    }

    fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    fn byte(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    /// Passes at least one digit and gives their count.
    fn digits(&mut self) -> Result<usize, Fault> {
        let count = self.bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.expected("a digit"));
        }
        self.at += count;
        Ok(count)
    }

    /// Passes characters up to the next quote, backslash or control character, all of which are ASCII.
    fn plain_run(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let plain = &rest[..plain_length(rest.as_bytes())];
        self.at += plain.len();
        plain
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        let letter = self.bytes().get(start + 1).copied();
        let character = match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.fault("a backslash must be followed by one of \" \\ / b f n r t u")),
        };
        self.at += 2;
        Ok(character)
    }

    /// `\uXXXX`, or two of them that make one character beyond the basic plane.
    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let unit = self.hex_unit(self.at)?;
        if let Some(character) = char::from_u32(unit) {
            self.at += 6;
            return Ok(character);
        }
        let low = self.hex_unit(self.at + 6).ok().filter(|low| (0xdc00..0xe000).contains(low));
        match low.filter(|_| unit < 0xdc00) {
            Some(low) => {
                self.at += 12;
                let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            None => Err(self.fault(format!("lone surrogate \\u{unit:04x} in a string"))),
        }
    }

    fn hex_unit(&self, at: usize) -> Result<u32, Fault> {
        let digits = self.bytes().get(at..at + 6).and_then(|escape| escape.strip_prefix(b"\\u"));
        let value = digits.and_then(|digits| {
            digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
        });
        value.ok_or_else(|| self.fault("`\\u` must be followed by four hexadecimal digits"))
    }
}

/// What is said of a text whose containers nest beyond the bound.
pub(crate) const TOO_DEEP: &str = "nested too deeply";

/// Whether a value that begins with `byte` is a number, the non-finite ones included.
pub(crate) fn begins_number(byte: u8) -> bool {
    matches!(byte, b'-' | b'0'..=b'9' | b'N' | b'I')
}
