//! What a body takes in memory once it is read.
//!
//! Short values take far more as values than as text: `{"":0}` is six bytes and takes hundreds. A bound on the bytes
//! of a body alone would let one request take gigabytes.

/// The most that the values of a body may take. Runs copy parts of a request several times.
pub(crate) const MOST: usize = 64 * 1024 * 1024;

/// What an object, a list, a member of an object and an item of a list take besides their text.
const OBJECT: usize = 300;
const LIST: usize = 60;
const MEMBER: usize = 100;
const ITEM: usize = 40;

/// An estimate for a JSON text, in one walk. A text that is not JSON gets some number.
pub(crate) fn in_memory(text: &[u8]) -> usize {
    let (mut weight, mut at) = (text.len(), 0);
    while let Some(byte) = text.get(at) {
        at += 1;
        weight += match byte {
            b'{' => OBJECT,
            b'[' => LIST,
            b':' => MEMBER,
            b',' => ITEM,
            b'"' => {
                at = after_string(text, at);
                0
            }
            _ => 0,
        };
    }
    weight
}

/// The place after the string that begins here.
fn after_string(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_values_weigh_more_than_a_long_text() {
        let short = format!("[{}]", vec![r#"{"":0}"#; 200_000].join(","));
        assert!(in_memory(short.as_bytes()) > MOST, "{}", in_memory(short.as_bytes()));
        let long = format!(r#"{{"text": "{}"}}"#, "{[,:".repeat(1_000_000));
        assert!(in_memory(long.as_bytes()) < 2 * long.len());
        let numbers = format!("[{}]", vec!["0.25"; 1_000_000].join(","));
        assert!(in_memory(numbers.as_bytes()) < MOST);
    }

    #[test]
    fn quotes_and_texts_that_break_off_end() {
        for text in [r#"["a\"{{{", 1]"#, r#"["a"#, r#"["\"#, "", "\""] {
            assert!(in_memory(text.as_bytes()) < 1000);
        }
    }
}
