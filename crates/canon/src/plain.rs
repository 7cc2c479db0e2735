//! How far a text goes before a byte that a JSON string does not hold as it is.
//!
//! Eight bytes are looked at in one step, as one word. A test on a word marks the highest bit of each byte
//! that it is about. Subtraction borrows from the bytes after a marked one, which may then be marked
//! wrongly; the first mark is always right, and no other is used.

/// The length of the part before the first quote, backslash or control character.
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    first_marked(bytes, special)
}

/// The length of the part before the first byte that is special, or is not a printable character of ASCII.
pub(crate) fn plain_ascii_length(bytes: &[u8]) -> usize {
    first_marked(bytes, |word| special(word) | (word & HIGHEST_BITS) | equal(word, 0x7f))
}

const HIGHEST_BITS: u64 = repeat(0x80);

/// Where the first marked byte is; the length when there is none.
#[inline]
fn first_marked(bytes: &[u8], marks: impl Fn(u64) -> u64) -> usize {
    // The byte that comes first is the lowest, so that trailing zeros count the bytes before a mark.
    let find = |word| match marks(word) {
        0 => None,
        marks => Some(marks.trailing_zeros() as usize / 8),
    };
    let (chunks, rest) = bytes.as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        if let Some(at) = find(u64::from_le_bytes(*chunk)) {
            return index * 8 + at;
        }
    }
    if rest.is_empty() {
        return bytes.len();
    }
    // The last word begins within what was looked at and found plain.
    if let Some(last) = bytes.last_chunk::<8>() {
        return find(u64::from_le_bytes(*last)).map_or(bytes.len(), |at| bytes.len() - 8 + at);
    }
    // Spaces, which are never marked, fill the only word.
    let last = rest.iter().rev().fold(repeat(b' '), |word, byte| (word << 8) | u64::from(*byte));
    find(last).unwrap_or(rest.len())
}

fn special(word: u64) -> u64 {
    below(word, 0x20) | equal(word, b'"') | equal(word, b'\\')
}

fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ repeat(byte), 1)
}

/// Marks the bytes below `limit`, which is at most 0x80.
fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(repeat(limit)) & !word & HIGHEST_BITS
}

const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_found_at_every_place_in_texts_of_every_length() {
        for byte in 0..=u8::MAX {
            let is_special = matches!(byte, b'"' | b'\\' | 0..=0x1f);
            for length in 1..40 {
                for at in 0..length {
                    let mut text = vec![b'!'; length];
                    text[at] = byte;
                    let found = |ends: bool| if ends { at } else { length };
                    assert_eq!(plain_length(&text), found(is_special), "{byte:#x} in {length}");
                    let ends = is_special || byte >= 0x7f;
                    assert_eq!(plain_ascii_length(&text), found(ends), "{byte:#x} in {length}");
                }
            }
        }
        assert_eq!((plain_length(b""), plain_ascii_length(b"")), (0, 0));
    }

    #[test]
    fn of_neighbours_the_first_is_found() {
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let text = [b' ', first, second, b'"', 0, 0, 0, 0, b' '];
                let is_special = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
                let plain = text.iter().position(|byte| is_special(*byte));
                assert_eq!(Some(plain_length(&text)), plain, "{first:#x} {second:#x}");
                let ascii = text.iter().position(|byte| is_special(*byte) || *byte >= 0x7f);
                assert_eq!(Some(plain_ascii_length(&text)), ascii, "{first:#x} {second:#x}");
            }
        }
    }
}
