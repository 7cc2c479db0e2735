//! Ways of reading a text that somebody escaped, broke into lines or spread out.

use std::ops::Range;

use stave_canon::{Look, look};

/// A way of reading a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    AsItIs,
    /// `%41` is `A`.
    Percent,
    /// `\u0041`, `\x41` and `\n`, as in JSON and in programs.
    Backslash,
    /// `&#65;`, `&#x41;` and `&amp;`.
    Entities,
    WithoutSpace,
    /// Without space and without what takes no room, in plain letters and digits; also where these are escaped.
    AsSeen,
}

impl View {
    pub(super) const DECODED: [View; 5] =
        [View::Percent, View::Backslash, View::Entities, View::WithoutSpace, View::AsSeen];

    /// Words without the spaces between them would be short secrets too often.
    pub(super) fn keeps_space(self) -> bool {
        !matches!(self, View::WithoutSpace | View::AsSeen)
    }

    pub(super) fn applies(self, bytes: &[u8]) -> bool {
        match self {
            View::AsItIs => true,
            View::Percent => bytes.contains(&b'%'),
            View::Backslash => bytes.contains(&b'\\'),
            View::Entities => bytes.contains(&b'&'),
            View::WithoutSpace => bytes.iter().any(u8::is_ascii_whitespace),
            View::AsSeen => !bytes.is_ascii() || bytes.contains(&b'\\'),
        }
    }

    /// The bytes as this view reads them, and where in the text each of them is.
    pub(super) fn decode(self, bytes: &[u8], mut places: Option<&mut Vec<Range<usize>>>) -> Vec<u8> {
        let mut decoded = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let before = decoded.len();
            let length = self.unit(rest, &mut decoded).max(1);
            if let Some(places) = places.as_deref_mut() {
                places.extend(std::iter::repeat_n(at..at + length, decoded.len() - before));
            }
            at += length;
        }
        decoded
    }

    /// Where the last unit of a text begins, if more of it may come; the length of the text if not.
    pub(super) fn end_of_whole_units(self, bytes: &[u8], longest: usize) -> usize {
        let is_cut = |at: &usize| {
            let rest = bytes.get(*at..).unwrap_or_default();
            let is_hexadecimal = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
            match (self, rest) {
                (View::Percent, [b'%', digits @ ..]) => digits.len() < 2 && is_hexadecimal(digits),
                (View::Backslash | View::AsSeen, [b'\\']) => true,
                (View::Backslash | View::AsSeen, [b'\\', b'u', digits @ ..]) => {
                    digits.len() < 4 && is_hexadecimal(digits)
                }
                (View::Backslash, [b'\\', b'x', digits @ ..]) => digits.len() < 2 && is_hexadecimal(digits),
                (View::Entities, [b'&', name @ ..]) => {
                    name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
                }
                (View::AsSeen, [first @ 0xc0..=0xff, more @ ..]) => {
                    more.len() < first.leading_ones() as usize - 1
                }
                _ => false,
            }
        };
        (bytes.len().saturating_sub(longest)..bytes.len()).find(is_cut).unwrap_or(bytes.len())
    }

    /// Reads one unit of the text, and gives its length there.
    fn unit(self, rest: &[u8], decoded: &mut Vec<u8>) -> usize {
        let escape = match (self, rest) {
            (View::Percent, [b'%', high, low, ..]) => byte_of(*high, *low).map(|byte| (vec![byte], 3)),
            (View::Backslash, [b'\\', b'x', high, low, ..]) => {
                byte_of(*high, *low).map(|byte| (vec![byte], 4))
            }
            (View::Backslash, [b'\\', b'u', digits @ ..]) => {
                digits.get(..4).and_then(|digits| character(digits, 16)).map(|bytes| (bytes, 6))
            }
            (View::Backslash, [b'\\', next, ..]) => Some((
                vec![match next {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                }],
                2,
            )),
            (View::Entities, [b'&', ..]) => entity(rest),
            (View::WithoutSpace, [space, ..]) if space.is_ascii_whitespace() => Some((Vec::new(), 1)),
            (View::AsSeen, _) => seen(rest),
            _ => None,
        };
        match (escape, rest) {
            (Some((bytes, length)), _) => {
                decoded.extend(bytes);
                length
            }
            (None, [byte, ..]) => {
                decoded.push(*byte);
                1
            }
            (None, []) => 1,
        }
    }
}

/// The character that a text begins with as it is seen, and its length there; `None` when it is seen as it is written.
fn seen(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (character, length) = match rest {
        [b'\\', b'u', digits @ ..] => {
            let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
            (char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, 6)
        }
        [space, ..] if space.is_ascii_whitespace() => return Some((Vec::new(), 1)),
        [0xc0..=0xff, ..] => {
            let length = (2..=4)
                .find(|length| rest.get(..*length).is_some_and(|bytes| std::str::from_utf8(bytes).is_ok()))?;
            (std::str::from_utf8(rest.get(..length)?).ok()?.chars().next()?, length)
        }
        _ => return None,
    };
    let bytes = match look(character) {
        Look::Nothing | Look::Ascii(' ') => Vec::new(),
        Look::Ascii(letter) => letter.to_string().into_bytes(),
        Look::Itself if character.is_ascii_whitespace() => Vec::new(),
        Look::Itself => character.to_string().into_bytes(),
    };
    Some((bytes, length))
}

fn byte_of(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? * 16 + digit(low)?)
}

fn character(digits: &[u8], radix: u32) -> Option<Vec<u8>> {
    let number = u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()?;
    Some(char::from_u32(number)?.to_string().into_bytes())
}

fn entity(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    const LONGEST: usize = 10;
    let end = rest.iter().take(LONGEST).position(|byte| *byte == b';')?;
    let name = rest.get(1..end)?;
    let bytes = match name {
        [b'#', b'x' | b'X', digits @ ..] => character(digits, 16)?,
        [b'#', digits @ ..] => character(digits, 10)?,
        b"amp" => b"&".to_vec(),
        b"lt" => b"<".to_vec(),
        b"gt" => b">".to_vec(),
        b"quot" => b"\"".to_vec(),
        b"apos" => b"'".to_vec(),
        _ => return None,
    };
    Some((bytes, end + 1))
}
