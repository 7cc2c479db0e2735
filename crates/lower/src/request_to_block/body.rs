//! A body that was read once, for callers that ask for more than one thing of it.

use std::borrow::Cow;
use std::ops::Range;

use stave_block::{Surface, WirePrompt};

use super::tape::{Kind, ROOT, Tape};
use super::{RequestFault, read_object, read_tape, wire};

/// A body that is one JSON object, with the members at its top within reach.
#[derive(Debug)]
pub struct RequestBody<'b> {
    tape: Tape<'b>,
}

impl<'b> RequestBody<'b> {
    /// Reads a request. One with two equal keys in an object is refused.
    pub fn read(body: &'b str) -> Result<Self, RequestFault> {
        read_tape(body).map(|tape| RequestBody { tape })
    }

    /// Reads a reply or an event of one, in which of two equal keys the last counts.
    pub fn read_reply(text: &'b str) -> Result<Self, RequestFault> {
        read_object(text).map(|tape| RequestBody { tape })
    }

    /// The whole body as a value.
    #[must_use]
    pub fn root(&self) -> BodyValue<'_, 'b> {
        BodyValue { tape: &self.tape, node: ROOT }
    }

    /// The positions of the body in wire order.
    pub fn wire(&self, surface: Surface) -> Result<WirePrompt, RequestFault> {
        wire(&self.tape, Some(surface))
    }

    /// The place of a member's value. Of duplicate keys the last counts.
    #[must_use]
    pub fn range(&self, key: &str) -> Option<Range<usize>> {
        self.tape.get(ROOT, key).map(|value| self.tape.range(value))
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

    fn node(&self, path: &[&str]) -> Option<usize> {
        path.iter().try_fold(ROOT, |node, key| self.tape.get(node, key))
    }
}

/// A value of a body, with its bytes.
#[derive(Debug, Clone, Copy)]
pub struct BodyValue<'t, 'b> {
    tape: &'t Tape<'b>,
    node: usize,
}

impl<'t, 'b> BodyValue<'t, 'b> {
    #[must_use]
    pub fn get(self, key: &str) -> Option<BodyValue<'t, 'b>> {
        self.tape.get(self.node, key).map(|node| BodyValue { node, ..self })
    }

    /// A value by the keys that lead to it.
    #[must_use]
    pub fn at(self, path: &[&str]) -> Option<BodyValue<'t, 'b>> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The members of an object; none of anything else.
    pub fn members(self) -> impl Iterator<Item = (Cow<'b, str>, BodyValue<'t, 'b>)> + 't
    where
        'b: 't,
    {
        self.tape.members(self.node).map(move |member| {
            let key = self.tape.string(member.key).unwrap_or_default();
            (key, BodyValue { node: member.value, ..self })
        })
    }

    /// The items of an array; none of anything else.
    pub fn items(self) -> impl Iterator<Item = BodyValue<'t, 'b>> + 't
    where
        'b: 't,
    {
        self.tape.items(self.node).map(move |node| BodyValue { node, ..self })
    }

    /// A string's text.
    #[must_use]
    pub fn text(self) -> Option<Cow<'b, str>> {
        self.tape.string(self.node)
    }

    /// The bytes of the value, unchanged.
    #[must_use]
    pub fn raw(self) -> &'b str {
        self.tape.raw(self.node)
    }

    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.tape.range(self.node)
    }

    #[must_use]
    pub fn is_object(self) -> bool {
        self.tape.kind(self.node) == Kind::Object
    }

    #[must_use]
    pub fn is_array(self) -> bool {
        self.tape.kind(self.node) == Kind::Array
    }

    #[must_use]
    pub fn is_null(self) -> bool {
        self.tape.is_null(self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_at_the_top_are_found_by_their_kind() {
        let text = r#"{"model": "a\u0062", "stream": true, "max_tokens": 12, "metadata": {"user_id": "u"}}"#;
        let body = RequestBody::read(text).unwrap();
        assert_eq!(body.text(&["model"]).as_deref(), Some("ab"));
        assert_eq!(body.range("model").map(|range| &text[range]), Some(r#""a\u0062""#));
        assert_eq!(body.flag(&["stream"]), Some(true));
        assert_eq!(body.root().get("max_tokens").map(BodyValue::raw), Some("12"));
        assert_eq!(body.text(&["metadata", "user_id"]).as_deref(), Some("u"));
        assert_eq!((body.text(&["stream"]), body.flag(&["model"])), (None, None));
    }

    #[test]
    fn a_request_with_two_equal_keys_is_refused_and_a_reply_is_not() {
        let text = r#"{"model": "a", "usage": {"x": 1}, "usage": {"x": 2}}"#;
        let fault = RequestBody::read(text).unwrap_err();
        assert_eq!(fault.to_string(), "the key `usage` at byte 34 occurs twice in one object");
        let reply = RequestBody::read_reply(text).unwrap();
        assert_eq!(reply.root().at(&["usage", "x"]).map(BodyValue::raw), Some("2"));
    }
}
