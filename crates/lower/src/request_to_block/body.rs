//! A body that was read once, for whoever asks for more than one thing of it.

use std::borrow::Cow;
use std::ops::Range;

use stave_block::{Surface, WirePrompt};

use super::tape::{ROOT, Tape};
use super::{RequestFault, read_tape, wire};

/// A body that is one JSON object, with the members at its top within reach.
#[derive(Debug)]
pub struct RequestBody<'b> {
    tape: Tape<'b>,
}

impl<'b> RequestBody<'b> {
    pub fn read(body: &'b str) -> Result<Self, RequestFault> {
        read_tape(body).map(|tape| RequestBody { tape })
    }

    /// The positions of the body in wire order.
    pub fn wire(&self, surface: Surface) -> Result<WirePrompt, RequestFault> {
        wire(&self.tape, Some(surface))
    }

    /// Where the value of a member stands. Of duplicate keys the last counts.
    #[must_use]
    pub fn range(&self, key: &str) -> Option<Range<usize>> {
        self.tape.get(ROOT, key).map(|value| self.tape.range(value))
    }

    /// How often a key stands at the top of the body.
    #[must_use]
    pub fn count(&self, key: &str) -> usize {
        self.tape.members(ROOT).filter(|member| self.tape.is_key(member.key, key)).count()
    }

    /// A text by the keys that lead to it.
    #[must_use]
    pub fn text(&self, path: &[&str]) -> Option<Cow<'b, str>> {
        self.tape.string(self.node(path)?)
    }

    #[must_use]
    pub fn flag(&self, path: &[&str]) -> Option<bool> {
        match self.tape.raw(self.node(path)?) {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    #[must_use]
    pub fn number(&self, path: &[&str]) -> Option<u64> {
        self.tape.raw(self.node(path)?).parse().ok()
    }

    fn node(&self, path: &[&str]) -> Option<usize> {
        path.iter().try_fold(ROOT, |node, key| self.tape.get(node, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_at_the_top_are_found_by_their_kind() {
        let text = r#"{"model": "a\u0062", "stream": true, "max_tokens": 12, "metadata": {"user_id": "u"}, "model": "c"}"#;
        let body = RequestBody::read(text).unwrap();
        assert_eq!(body.text(&["model"]).as_deref(), Some("c"));
        assert_eq!(body.count("model"), 2);
        assert_eq!(body.range("model").map(|range| &text[range]), Some("\"c\""));
        assert_eq!((body.flag(&["stream"]), body.number(&["max_tokens"])), (Some(true), Some(12)));
        assert_eq!(body.text(&["metadata", "user_id"]).as_deref(), Some("u"));
        assert_eq!(
            (body.text(&["stream"]), body.flag(&["model"]), body.number(&["none"])),
            (None, None, None)
        );
    }
}
