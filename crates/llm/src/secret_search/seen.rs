//! A text as it is seen: without space and without what takes no room, in plain letters and digits.

use stave_canon::{Look, look};

use super::view::{Extent, Sink};

/// Whether a byte is seen as it is written. Bytes of other scripts are looked at one character at a time. A NUL is
/// every other byte of a Latin text in UTF-16.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e)
}

/// Whether a text is seen as it is written.
pub(super) fn is_as_written(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| is_plain(*byte))
}

/// Reads a text as it is seen. Gives the place where a character begins that the end of the text cuts off.
pub(super) fn see<S: Sink>(input: &[u8], extent: Extent, sink: &mut S) -> usize {
    let mut at = 0;
    while let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
        sink.copy(input, at..at + plain);
        at += plain;
        let Some(rest) = input.get(at..) else { break };
        match rest {
            [first @ 0xc0..=0xff, more @ ..] => {
                let length = (first.leading_ones() as usize).clamp(2, 4);
                if extent == Extent::Open
                    && more.len() + 1 < length
                    && more.iter().all(|byte| byte & 0xc0 == 0x80)
                {
                    return at;
                }
                let text = rest.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
                match text.and_then(|text| text.chars().next()) {
                    Some(character) => {
                        put_character(character, at..at + length, input, sink);
                        at += length;
                    }
                    None => {
                        sink.copy(input, at..at + 1);
                        at += 1;
                    }
                }
            }
            [0x80..=0xbf, ..] => {
                sink.copy(input, at..at + 1);
                at += 1;
            }
            // White space and controls.
            [_, ..] => at += 1,
            [] => {}
        }
    }
    input.len()
}

fn put_character<S: Sink>(character: char, place: std::ops::Range<usize>, input: &[u8], sink: &mut S) {
    match look(character) {
        Look::Nothing | Look::Ascii(' ') => {}
        Look::Ascii(letter) => {
            let mut bytes = [0; 4];
            sink.put(letter.encode_utf8(&mut bytes).as_bytes(), place);
        }
        Look::Itself => sink.copy(input, place),
    }
}
