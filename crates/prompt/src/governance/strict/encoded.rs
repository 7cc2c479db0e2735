//! Text that hides in an encoding: percent signs, entities, escapes, base64, hexadecimal, tag letters.
//!
//! A text is decoded in place, so that the text around an encoded part stays around it. A few layers
//! of encoding are taken off; each layer is one walk over the text.

use super::plain::narrow;

/// How many layers are taken off.
const LAYERS: usize = 3;

/// The shortest word that is tried as base64 or hexadecimal: shorter ones are ordinary words.
const SHORTEST_WORD: usize = 8;

/// A character with the bytes of the original it stands for.
pub(super) type Placed = (char, u32, u32);

/// The text without its encodings, or `None` when it has none.
pub(super) fn decoded(original: &str) -> Option<Vec<Placed>> {
    if original.len() < SHORTEST_WORD && !original.contains(['%', '&', '\\']) && original.is_ascii() {
        return None;
    }
    let mut current: Vec<Placed> = original
        .char_indices()
        .map(|(at, character)| (character, narrow(at), narrow(at + character.len_utf8())))
        .collect();
    let mut changed = false;
    for _ in 0..LAYERS {
        let Some(next) = layer(&current) else { break };
        current = next;
        changed = true;
    }
    changed.then_some(current)
}

/// Whether a text of ASCII could hold an encoding: false only when [`decoded`] has nothing to take off.
pub(in super::super) fn may_be_encoded(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(byte) = rest.first() {
        if matches!(byte, b'%' | b'&' | b'\\') {
            return true;
        }
        let length = rest.iter().take_while(|byte| is_word(char::from(**byte))).count();
        let (word, after) = rest.split_at(length.max(1));
        if length >= SHORTEST_WORD && may_be_encoded_word(word) {
            return true;
        }
        rest = after;
    }
    false
}

/// Whether a word could be hexadecimal, or base64 of text. Most words give a byte that is in no text soon.
fn may_be_encoded_word(word: &[u8]) -> bool {
    if word.iter().all(u8::is_ascii_hexdigit) {
        return true;
    }
    let (mut bits, mut count, mut continuing) = (0_u32, 0_u32, 0_u32);
    let padding = word.iter().rev().take_while(|byte| **byte == b'=').count();
    for byte in word.iter().take(word.len() - padding) {
        let Some(value) = base64_digit(*byte) else { return false };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count < 8 {
            continue;
        }
        count -= 8;
        let byte = (bits >> count) as u8;
        bits &= (1 << count) - 1;
        continuing = match (continuing, byte) {
            (0, b'\t'..=b'\r' | b' '..=b'~') => 0,
            (0, 0xc2..=0xdf) => 1,
            (0, 0xe0..=0xef) => 2,
            (0, 0xf0..=0xf4) => 3,
            (1.., 0x80..=0xbf) => continuing - 1,
            _ => return false,
        };
    }
    true
}

/// Takes one layer off.
fn layer(text: &[Placed]) -> Option<Vec<Placed>> {
    let mut out = Vec::with_capacity(text.len());
    let mut changed = false;
    let mut at = 0;
    while let Some(&(character, start, _)) = text.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        let found = match character {
            '%' => percent(rest),
            '&' => entity(rest),
            '\\' => escape(rest),
            '\u{e0020}'..='\u{e007e}' => {
                char::from_u32(u32::from(character) - 0xe0000).map(|hidden| (vec![hidden], 1))
            }
            _ if is_word(character) && !at.checked_sub(1).is_some_and(|before| is_word_at(text, before)) => {
                word(rest)
            }
            _ => None,
        };
        match found {
            Some((characters, length)) => {
                let end = text.get(at + length - 1).map_or(start, |last| last.2);
                out.extend(characters.into_iter().map(|decoded| (decoded, start, end)));
                changed = true;
                at += length;
            }
            None => {
                out.extend(text.get(at).copied());
                at += 1;
            }
        }
    }
    changed.then_some(out)
}

fn character(text: &[Placed], at: usize) -> Option<char> {
    text.get(at).map(|placed| placed.0)
}

fn digits(text: &[Placed], from: usize, count: usize) -> Option<u32> {
    (from..from + count).try_fold(0_u32, |value, at| Some(value * 16 + character(text, at)?.to_digit(16)?))
}

/// `%41`, `%u0041` and the overlong forms of ASCII that lax decoders accept; a run of them is one text.
fn percent(text: &[Placed]) -> Option<(Vec<char>, usize)> {
    if character(text, 1).is_some_and(|letter| matches!(letter, 'u' | 'U')) {
        return Some((vec![char::from_u32(digits(text, 2, 4)?)?], 6));
    }
    let mut bytes = Vec::new();
    while character(text, bytes.len() * 3) == Some('%') {
        match digits(text, bytes.len() * 3 + 1, 2) {
            Some(byte) => bytes.push(byte as u8),
            None => break,
        }
    }
    if bytes.is_empty() {
        return None;
    }
    let length = bytes.len() * 3;
    let mut characters = Vec::new();
    let mut rest = bytes.as_slice();
    while let [first, tail @ ..] = rest {
        if let ([second, after @ ..], 0xc0 | 0xc1) = (tail, *first) {
            characters.push(char::from(((first & 1) << 6) | (second & 0x3f)));
            rest = after;
            continue;
        }
        let (valid, used) = match std::str::from_utf8(rest) {
            Ok(valid) => (valid, rest.len()),
            Err(error) => {
                let end = error.valid_up_to();
                (std::str::from_utf8(rest.get(..end)?).unwrap_or_default(), end)
            }
        };
        characters.extend(valid.chars());
        if used == rest.len() {
            break;
        }
        // A byte that begins no character is skipped, unless an overlong form begins there.
        rest = rest.get(used..)?;
        if !matches!(rest.first(), Some(0xc0 | 0xc1)) || rest.len() == 1 {
            rest = rest.get(1..)?;
        }
    }
    Some((characters, length))
}

/// `&#98;`, `&#x62;` and the named entities that stand for a character of a path or a keyword.
fn entity(text: &[Placed]) -> Option<(Vec<char>, usize)> {
    let name: String = text.iter().skip(1).take(10).map(|placed| placed.0).collect();
    let (name, _) = name.split_once(';')?;
    let decoded = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
        None => match name {
            "sol" => '/',
            "bsol" => '\\',
            "period" => '.',
            "colon" => ':',
            "nbsp" | "ensp" | "emsp" => ' ',
            "shy" | "zwj" | "zwnj" => '\u{ad}',
            "hyphen" | "dash" => '-',
            "amp" => '&',
            "percnt" => '%',
            "lowbar" => '_',
            _ => return None,
        },
    };
    Some((vec![decoded], name.chars().count() + 2))
}

/// `\x62`, `\u0062`, `\u{62}`, `\U00000062` and three octal digits.
fn escape(text: &[Placed]) -> Option<(Vec<char>, usize)> {
    let (code, length) = match character(text, 1)? {
        'x' => (digits(text, 2, 2)?, 4),
        'u' if character(text, 2) == Some('{') => {
            let inner: String = text.iter().skip(3).take(7).map(|placed| placed.0).collect();
            let (inner, _) = inner.split_once('}')?;
            (u32::from_str_radix(inner, 16).ok()?, inner.len() + 4)
        }
        'u' => (digits(text, 2, 4)?, 6),
        'U' => (digits(text, 2, 8)?, 10),
        '0'..='3' => {
            let value =
                (1..4).try_fold(0, |value, at| Some(value * 8 + character(text, at)?.to_digit(8)?))?;
            (value, 4)
        }
        _ => return None,
    };
    Some((vec![char::from_u32(code)?], length))
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '-' | '_' | '=')
}

fn is_word_at(text: &[Placed], at: usize) -> bool {
    character(text, at).is_some_and(is_word)
}

/// A whole word of base64 or hexadecimal that decodes to readable text.
fn word(text: &[Placed]) -> Option<(Vec<char>, usize)> {
    let length = text.iter().take_while(|placed| is_word(placed.0)).count();
    if length < SHORTEST_WORD {
        return None;
    }
    let word: Vec<u8> = text.iter().take(length).map(|placed| placed.0 as u8).collect();
    let bytes = hexadecimal(&word).or_else(|| base64(&word))?;
    let decoded = String::from_utf8(bytes).ok()?;
    let readable =
        |letter: char| letter.is_alphanumeric() || letter.is_whitespace() || letter.is_ascii_punctuation();
    let letters = decoded.chars().filter(|letter| letter.is_alphabetic()).count();
    (decoded.chars().all(readable) && letters * 2 > decoded.chars().count())
        .then(|| (decoded.chars().collect(), length))
}

fn hexadecimal(word: &[u8]) -> Option<Vec<u8>> {
    if !word.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    word.chunks_exact(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

/// The value of a digit of either alphabet.
fn base64_digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Both alphabets, with or without padding.
fn base64(word: &[u8]) -> Option<Vec<u8>> {
    let trimmed = word.len() - word.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = word.get(..trimmed)?;
    if digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in digits {
        let value = base64_digit(*byte)?;
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(original: &str) -> Option<String> {
        decoded(original).map(|placed| placed.into_iter().map(|(character, ..)| character).collect())
    }

    #[test]
    fn encodings_are_taken_off() {
        for (encoded, plain) in [
            ("/%65tc/x", "/etc/x"),
            ("%252fetc", "/etc"),
            ("%c0%afetc", "/etc"),
            ("%C3%A9", "é"),
            ("%u0062ypass", "bypass"),
            ("&#98;ypass &#x62;y", "bypass by"),
            (r"\x62\u0079pass", "bypass"),
            (r"\u{62}\142y", "bby"),
            ("YnlwYXNzIGFsbA==", "bypass all"),
            ("do 627970617373 it", "do bypass it"),
            ("\u{e0062}\u{e0079}", "by"),
        ] {
            assert_eq!(text(encoded).as_deref(), Some(plain), "{encoded}");
            assert!(!encoded.is_ascii() || may_be_encoded(encoded), "{encoded}");
        }
        for plain in ["100% sure & done", "configuration", "src/prompt/governance/mod.rs", "50%", r"C:\new"] {
            assert_eq!(text(plain), None, "{plain}");
        }
    }
}
