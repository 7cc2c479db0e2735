//! A string as JSON writes it: in quotes, with escapes where they are needed.

use crate::plain::{plain_ascii_length, plain_length};
use crate::write::Sink;

/// Writes runs of plain characters whole, so that ordinary text costs one copy. With `ascii`, what is not
/// a printable character of ASCII is escaped too.
pub(crate) fn put_string(text: &str, ascii: bool, sink: &mut impl Sink) {
    sink.put("\"");
    let mut rest = text;
    loop {
        let run = if ascii { plain_ascii_length(rest.as_bytes()) } else { plain_length(rest.as_bytes()) };
        // Every byte of a character outside ASCII is beyond 0x7f, so a run ends only between characters.
        let (plain, escaped) = rest.split_at(run);
        sink.put(plain);
        let mut characters = escaped.chars();
        let Some(character) = characters.next() else { break };
        put_escape(character, sink);
        rest = characters.as_str();
    }
    sink.put("\"");
}

fn put_escape(character: char, sink: &mut impl Sink) {
    match character {
        '"' => sink.put("\\\""),
        '\\' => sink.put("\\\\"),
        '\u{8}' => sink.put("\\b"),
        '\u{c}' => sink.put("\\f"),
        '\n' => sink.put("\\n"),
        '\r' => sink.put("\\r"),
        '\t' => sink.put("\\t"),
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                sink.put("\\u");
                for shift in [12, 8, 4, 0] {
                    sink.put(hex_digit(*unit >> shift));
                }
            }
        }
    }
}

/// The digit of the lowest four bits.
fn hex_digit(bits: u16) -> &'static str {
    let digit = usize::from(bits & 0xf);
    &"0123456789abcdef"[digit..=digit]
}
