//! How the body that was sent differs from the client's, exactly.
//!
//! Invariant: the client's body and its edits make the body that was sent, byte for byte, so a record that
//! has the hash of the one and the edits needs no second hash over the other.

use std::ops::Range;

use stave_canon::Value;
use stave_lower::Splice;

/// The most bytes of inserted text, and the most edits, that a record keeps.
const LONGEST: usize = 4096;
const MOST: usize = 64;

/// Stretches of the client's body and what replaces them, in order. What is put in are marks of the
/// cache, keys of the cache and names of models: never anything that a client said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edits(Vec<Splice>);

impl Edits {
    /// The splices of a body as they are kept; `None` when they are more than a record should hold.
    #[must_use]
    pub fn of(splices: Vec<Splice>) -> Option<Edits> {
        let length: usize = splices.iter().map(|splice| splice.text.len()).sum();
        (length <= LONGEST && splices.len() <= MOST).then_some(Edits(splices))
    }

    /// The edits from the text of the column.
    #[must_use]
    pub fn read(text: &str) -> Option<Edits> {
        let value = stave_canon::parse(text).ok()?;
        let offset = |value: &Value| value.as_i64().and_then(|offset| usize::try_from(offset).ok());
        let edit = |edit: &Value| match edit.as_array()? {
            [start, end, text] => Some(Splice {
                range: Range { start: offset(start)?, end: offset(end)? },
                text: text.as_str()?.to_owned(),
            }),
            _ => None,
        };
        value.as_array()?.iter().map(edit).collect::<Option<_>>().map(Edits)
    }

    /// `[[START, END, "TEXT"], …]`: bytes of the client's body, and what replaces them.
    #[must_use]
    pub fn text(&self) -> String {
        let edit = |splice: &Splice| {
            let Range { start, end } = splice.range;
            Value::Array(vec![start.into(), end.into(), splice.text.as_str().into()])
        };
        Value::Array(self.0.iter().map(edit).collect()).to_string()
    }

    /// The body that was sent, from the client's; `None` when the edits are of another body.
    #[must_use]
    pub fn apply(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut sent = Vec::with_capacity(body.len());
        let mut at = 0;
        for Splice { range, text } in &self.0 {
            sent.extend_from_slice(body.get(at..range.start)?);
            sent.extend_from_slice(text.as_bytes());
            at = range.end;
            // An edit that ends before it begins is invalid.
            body.get(range.clone())?;
        }
        sent.extend_from_slice(body.get(at..)?);
        Some(sent)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stave_lower::Spliced;

    use super::*;

    proptest! {
        #[test]
        fn a_body_and_its_edits_make_what_was_sent(
            pieces in prop::collection::vec((".{0,9}", any::<bool>(), ".{0,9}"), 0..9)
        ) {
            let mut body = String::new();
            let mut splices = Vec::new();
            for (piece, is_edited, text) in pieces {
                let start = body.len();
                body.push_str(&piece);
                if is_edited {
                    splices.push(Splice { range: start..body.len(), text });
                }
            }
            let spliced = Spliced::new(&body, splices);
            let edits = Edits::of(spliced.splices).expect("they are few");
            prop_assert_eq!(edits.apply(body.as_bytes()), Some(spliced.body.into_bytes()));
            prop_assert_eq!(Edits::read(&edits.text()), Some(edits));
        }

        #[test]
        fn edits_of_another_body_change_nothing(text in ".*", body in ".*") {
            let _ = Edits::read(&text).map(|edits| edits.apply(body.as_bytes()));
        }
    }

    #[test]
    fn what_is_no_edit_is_not_read_and_what_does_not_fit_is_not_applied() {
        for text in ["", "{}", "[[0]]", "[[0,1,2]]", "[[-1,1,\"\"]]", "[[0.5,1,\"\"]]"] {
            assert_eq!(Edits::read(text), None, "{text}");
        }
        for text in ["[[3,2,\"\"]]", "[[9,9,\"\"]]", "[[2,3,\"\"],[0,1,\"\"]]"] {
            assert_eq!(Edits::read(text).and_then(|edits| edits.apply(b"body")), None, "{text}");
        }
    }

    #[test]
    fn more_than_a_record_should_hold_is_not_kept() {
        let splice = |length| Splice { range: 0..0, text: "x".repeat(length) };
        assert!(Edits::of(vec![splice(LONGEST)]).is_some());
        assert!(Edits::of(vec![splice(LONGEST), splice(1)]).is_none());
        assert!(Edits::of(vec![splice(0); MOST + 1]).is_none());
    }
}
