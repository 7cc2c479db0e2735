//! What a character looks like to somebody who searches a text for keys and numbers.
//!
//! A number with no-break spaces, digits of another script or characters without width between its digits is the
//! same number to a reader. Letters of other scripts that only resemble Latin ones are not folded here: a key
//! with such a letter is another key.

/// What a character stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Itself,
    /// It takes no room, or is a mark on the character before it.
    Nothing,
    /// This character of ASCII.
    Ascii(char),
}

/// What a character stands for in a text that is searched.
#[must_use]
pub fn look(character: char) -> Look {
    let code = u32::from(character);
    if code < 0x80 {
        return Look::Itself;
    }
    // Most texts of other scripts are made of these.
    if matches!(code, 0xc0..=0x2ff | 0x370..=0x482 | 0x48a..=0x5ff | 0x3040..=0x9fff | 0xac00..=0xd7a3)
        && code != 0x3164
    {
        return Look::Itself;
    }
    if is_invisible(character) || is_mark(code) {
        return Look::Nothing;
    }
    if character.is_whitespace() {
        return Look::Ascii(' ');
    }
    ascii(code).map_or(Look::Itself, Look::Ascii)
}

/// Characters that take no room: default ignorable code points, controls and private fillers.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    matches!(
        u32::from(character),
        0x80..=0x84 | 0x86..=0x9f
            | 0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f
            | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0x2800 | 0x3164
            | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
            | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff
    )
}

/// Marks that any character can carry.
fn is_mark(code: u32) -> bool {
    matches!(
        code,
        0x300..=0x36f | 0x483..=0x489 | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe20..=0xfe2f
    )
}

/// The zero of each script; its other digits follow it.
const ZEROS: [u32; 75] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x10d40, 0x11066,
    0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x116d0, 0x116da, 0x11730,
    0x118e0, 0x11950, 0x11bf0, 0x11c50, 0x11d50, 0x11da0, 0x11de0, 0x11f50, 0x16a60, 0x16ac0, 0x16b50,
    0x16d70, 0x1ccf0, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e5f1,
    0x1e950, 0x1fbf0,
];

fn ascii(code: u32) -> Option<char> {
    let shifted = |first: u32, to: char| char::from_u32(u32::from(to) + code - first);
    match code {
        // Raised, lowered, in circles and in brackets.
        0xb2 | 0xb3 => return shifted(0xb2, '2'),
        0xb9 => return Some('1'),
        0x2070 => return Some('0'),
        0x2074..=0x2079 => return shifted(0x2074, '4'),
        0x2080..=0x2089 => return shifted(0x2080, '0'),
        0x2460..=0x2468 => return shifted(0x2460, '1'),
        0x2474..=0x247c => return shifted(0x2474, '1'),
        0x24b6..=0x24cf => return shifted(0x24b6, 'A'),
        0x24d0..=0x24e9 => return shifted(0x24d0, 'a'),
        0x24ea => return Some('0'),
        // Dashes and minus signs.
        0x2010..=0x2015 | 0x2043 | 0x2212 | 0xfe58 | 0xfe63 => return Some('-'),
        // Full width.
        0xff01..=0xff5e => return shifted(0xff01, '!'),
        // Letters of mathematics: alphabets of 26, capitals first.
        0x1d400..=0x1d6a3 => {
            let letter = (code - 0x1d400) % 52;
            let first = if letter < 26 { u32::from('A') } else { u32::from('a') - 26 };
            return char::from_u32(first + letter);
        }
        _ => {}
    }
    let zero = ZEROS.get(ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?)?;
    (code - zero < 10).then(|| shifted(*zero, '0')).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_script_are_digits() {
        assert!(ZEROS.is_sorted());
        for zero in ZEROS {
            for digit in 0..10 {
                let character = char::from_u32(zero + digit).unwrap();
                assert_eq!(look(character), Look::Ascii(char::from_digit(digit, 10).unwrap()), "{zero:x}");
            }
        }
    }

    #[test]
    fn what_has_no_width_is_nothing_and_every_space_is_a_space() {
        for character in "\u{200b}\u{200c}\u{200d}\u{2060}\u{ad}\u{feff}\u{fe0f}\u{e0100}\u{200e}\u{202e}\u{2066}\u{336}\u{20e3}"
            .chars()
        {
            assert_eq!(look(character), Look::Nothing, "{character:?}");
        }
        for character in "\u{a0}\u{1680}\u{2009}\u{200a}\u{202f}\u{205f}\u{3000}\u{2028}\u{85}".chars() {
            assert_eq!(look(character), Look::Ascii(' '), "{character:?}");
        }
        for (character, ascii) in [('Ａ', 'A'), ('－', '-'), ('‑', '-'), ('𝐀', 'A'), ('𝚣', 'z'), ('²', '2')]
        {
            assert_eq!(look(character), Look::Ascii(ascii), "{character}");
        }
        for character in "aé中한яγ🙂".chars() {
            assert_eq!(look(character), Look::Itself, "{character}");
        }
    }
}
