//! Escapes of URLs, of JSON and programs, and of HTML, read in one walk.
//!
//! An escape stands for one character or one byte. What only looks like an escape stays as it is.

use super::view::{Extent, Sink};

/// Kinds of escapes, each with the byte that it begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    /// `%41` and `%u0041`.
    pub(super) const PERCENT: Kinds = Kinds(1);
    /// `\u0041`, `\u{41}`, `\U00000041`, `\x41`, `\101` and `\n`, as in JSON and in programs.
    pub(super) const BACKSLASH: Kinds = Kinds(2);
    /// `&#65;`, `&#x41;` and `&amp;`.
    pub(super) const ENTITY: Kinds = Kinds(4);
    pub(super) const ALL: Kinds = Kinds(7);
    pub(super) const EACH: [Kinds; 3] = [Kinds::PERCENT, Kinds::BACKSLASH, Kinds::ENTITY];

    fn of(byte: u8) -> Kinds {
        match byte {
            b'%' => Kinds::PERCENT,
            b'\\' => Kinds::BACKSLASH,
            b'&' => Kinds::ENTITY,
            _ => Kinds(0),
        }
    }

    /// The kinds that a text may have.
    pub(super) fn in_text(bytes: &[u8]) -> Kinds {
        Kinds(bytes.iter().fold(0, |kinds, byte| kinds | Kinds::of(*byte).0))
    }

    pub(super) fn has(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn are_several(self) -> bool {
        self.0.count_ones() > 1
    }
}

/// What a text begins with.
enum Unit {
    /// Some bytes, escaped in so many bytes of the text.
    Escape {
        bytes: [u8; 4],
        count: usize,
        length: usize,
    },
    /// The beginning of an escape, at the end of the text.
    Cut,
    Plain,
}

/// Reads escapes of some kinds. Gives the place where an escape begins that the end of the text cuts off.
pub(super) fn unescape<S: Sink>(input: &[u8], kinds: Kinds, extent: Extent, sink: &mut S) -> usize {
    let (mut from, mut at) = (0, 0);
    while let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(next) = rest.iter().position(|byte| kinds.has(Kinds::of(*byte))) else { break };
        at += next;
        match unit(input.get(at..).unwrap_or_default()) {
            Unit::Escape { bytes, count, length } => {
                sink.copy(input, from..at);
                sink.put(bytes.get(..count).unwrap_or_default(), at..at + length);
                at += length;
                from = at;
            }
            Unit::Cut if extent == Extent::Open => {
                sink.copy(input, from..at);
                return at;
            }
            Unit::Cut | Unit::Plain => at += 1,
        }
    }
    sink.copy(input, from..input.len());
    input.len()
}

fn unit(rest: &[u8]) -> Unit {
    match rest {
        [b'%', more @ ..] => percent(more),
        [b'\\', more @ ..] => backslash(more),
        [b'&', more @ ..] => entity(more),
        _ => Unit::Plain,
    }
}

fn percent(more: &[u8]) -> Unit {
    match more {
        [b'u' | b'U', digits @ ..] => hexadecimal(digits, 4, 2),
        _ => match digits_at(more, 2) {
            Digits::Number(number) => Unit::byte(number, 3),
            Digits::Cut => Unit::Cut,
            Digits::None => Unit::Plain,
        },
    }
}

fn backslash(more: &[u8]) -> Unit {
    match more {
        [] => Unit::Cut,
        [b'u', b'{', digits @ ..] => braced(digits),
        [b'u', digits @ ..] => match digits_at(digits, 4) {
            Digits::Number(high @ 0xd800..=0xdbff) => pair(high, digits.get(4..).unwrap_or_default()),
            _ => hexadecimal(digits, 4, 2),
        },
        [b'U', digits @ ..] => hexadecimal(digits, 8, 2),
        [b'x', digits @ ..] => match digits_at(digits, 2) {
            Digits::Number(number) => Unit::byte(number, 4),
            Digits::Cut => Unit::Cut,
            Digits::None => Unit::Plain,
        },
        [b'0'..=b'3', ..] => octal(more),
        [b'n', ..] => Unit::byte(u32::from(b'\n'), 2),
        [b'r', ..] => Unit::byte(u32::from(b'\r'), 2),
        [b't', ..] => Unit::byte(u32::from(b'\t'), 2),
        [other, ..] => Unit::byte(u32::from(*other), 2),
    }
}

/// A character beyond the first plane in JSON: two escapes.
fn pair(high: u32, more: &[u8]) -> Unit {
    let is_marked = more.iter().zip(b"\\u").all(|(byte, mark)| byte == mark);
    match more.get(2..).filter(|_| is_marked).map(|digits| digits_at(digits, 4)) {
        Some(Digits::Number(low @ 0xdc00..=0xdfff)) => {
            Unit::character(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12)
        }
        Some(Digits::Cut) => Unit::Cut,
        None if is_marked => Unit::Cut,
        _ => Unit::Plain,
    }
}

fn octal(more: &[u8]) -> Unit {
    let digits = more.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    match (digits, more) {
        (3, _) => {
            let digits = more.iter().take(3);
            Unit::byte(digits.fold(0, |number, byte| number * 8 + u32::from(byte - b'0')), 4)
        }
        (count, _) if count == more.len() => Unit::Cut,
        (_, [b'0', ..]) => Unit::byte(0, 2),
        (_, [digit, ..]) => Unit::byte(u32::from(*digit), 2),
        (_, []) => Unit::Cut,
    }
}

fn braced(digits: &[u8]) -> Unit {
    let count = digits.iter().take(6).take_while(|byte| byte.is_ascii_hexdigit()).count();
    match digits.get(count) {
        Some(b'}') if count > 0 => match number(digits.get(..count).unwrap_or_default(), 16) {
            Some(code) => Unit::character(code, count + 4),
            None => Unit::Plain,
        },
        None => Unit::Cut,
        Some(_) => Unit::Plain,
    }
}

/// The references to characters of HTML that stand for ASCII.
const NAMED: [(&[u8], u8); 34] = [
    (b"amp", b'&'),
    (b"lt", b'<'),
    (b"gt", b'>'),
    (b"quot", b'"'),
    (b"apos", b'\''),
    (b"Tab", b'\t'),
    (b"NewLine", b'\n'),
    (b"excl", b'!'),
    (b"num", b'#'),
    (b"dollar", b'$'),
    (b"percnt", b'%'),
    (b"lpar", b'('),
    (b"rpar", b')'),
    (b"ast", b'*'),
    (b"plus", b'+'),
    (b"comma", b','),
    (b"period", b'.'),
    (b"sol", b'/'),
    (b"colon", b':'),
    (b"semi", b';'),
    (b"equals", b'='),
    (b"quest", b'?'),
    (b"commat", b'@'),
    (b"lsqb", b'['),
    (b"lbrack", b'['),
    (b"bsol", b'\\'),
    (b"rsqb", b']'),
    (b"rbrack", b']'),
    (b"Hat", b'^'),
    (b"lowbar", b'_'),
    (b"grave", b'`'),
    (b"lcub", b'{'),
    (b"verbar", b'|'),
    (b"rcub", b'}'),
];

fn entity(more: &[u8]) -> Unit {
    match more {
        [] => Unit::Cut,
        [b'#', b'x' | b'X', digits @ ..] => reference(digits, 16, 3),
        [b'#', digits @ ..] => reference(digits, 10, 2),
        _ => {
            const LONGEST_NAME: usize = 8;
            let length = more.iter().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphabetic()).count();
            let name = more.get(..length).unwrap_or_default();
            match more.get(length) {
                Some(b';') => match NAMED.iter().find(|(known, _)| *known == name) {
                    Some((_, byte)) => Unit::byte(u32::from(*byte), length + 2),
                    None => Unit::Plain,
                },
                None => Unit::Cut,
                Some(_) => Unit::Plain,
            }
        }
    }
}

/// A reference by number. Readers of HTML do without its semicolon.
fn reference(digits: &[u8], radix: u32, before: usize) -> Unit {
    const MOST_DIGITS: usize = 8;
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let count = digits.iter().take(MOST_DIGITS).take_while(is_digit).count();
    let Some(next) = digits.get(count) else { return Unit::Cut };
    match number(digits.get(..count).unwrap_or_default(), radix) {
        Some(code) => Unit::character(code, before + count + usize::from(*next == b';')),
        None => Unit::Plain,
    }
}

enum Digits {
    Number(u32),
    Cut,
    None,
}

/// So many hexadecimal digits at the beginning of a text.
fn digits_at(text: &[u8], count: usize) -> Digits {
    match text.get(..count) {
        Some(digits) => number(digits, 16).map_or(Digits::None, Digits::Number),
        None if text.iter().all(u8::is_ascii_hexdigit) => Digits::Cut,
        None => Digits::None,
    }
}

fn hexadecimal(digits: &[u8], count: usize, before: usize) -> Unit {
    match digits_at(digits, count) {
        Digits::Number(code) => Unit::character(code, before + count),
        Digits::Cut => Unit::Cut,
        Digits::None => Unit::Plain,
    }
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    // A sign is no digit, though the parser takes it.
    digits.first().filter(|first| first.is_ascii_alphanumeric())?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

impl Unit {
    fn byte(byte: u32, length: usize) -> Unit {
        match u8::try_from(byte) {
            Ok(byte) => Unit::Escape { bytes: [byte, 0, 0, 0], count: 1, length },
            Err(_) => Unit::Plain,
        }
    }

    fn character(code: u32, length: usize) -> Unit {
        let Some(character) = char::from_u32(code) else { return Unit::Plain };
        let mut bytes = [0; 4];
        let count = character.encode_utf8(&mut bytes).len();
        Unit::Escape { bytes, count, length }
    }
}
