//! A JSON text as a tape: every value and key with its byte range, in the order of the text.
//!
//! The tape is made in one pass, copies nothing and builds no tree, so a body of many kilobytes costs
//! little more than looking at its bytes. Strings stay escaped; who wants their text asks for it.
//!
//! Invariant: a tape exists only for a text that is one whole JSON value, nested no deeper than
//! [`MAX_DEPTH`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use stave_canon::MAX_DEPTH;
use thiserror::Error;

/// Why a text has no tape.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} at byte {offset}")]
pub struct TapeFault {
    pub offset: usize,
    pub message: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    /// A number, `true`, `false` or `null`.
    Scalar,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// How many containers are around it.
    pub(crate) depth: u16,
    start: u32,
    end: u32,
    /// The node after its last descendant.
    next: u32,
}

#[derive(Debug)]
pub(crate) struct Tape<'b> {
    text: &'b str,
    nodes: Vec<Node>,
}

/// A member of an object: its key and its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) key: usize,
    pub(crate) value: usize,
}

/// The node of the whole text.
pub(crate) const ROOT: usize = 0;

impl<'b> Tape<'b> {
    pub(crate) fn read(text: &'b str) -> Result<Self, TapeFault> {
        if u32::try_from(text.len()).is_err() {
            return Err(TapeFault { offset: 0, message: "the text is too long" });
        }
        let mut nodes = Vec::with_capacity(text.len() / 48 + 8);
        let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
        reader.document(&mut nodes)?;
        Ok(Tape { text, nodes })
    }

    pub(crate) fn node(&self, node: usize) -> Node {
        self.nodes[node]
    }

    pub(crate) fn kind(&self, node: usize) -> Kind {
        self.nodes[node].kind
    }

    pub(crate) fn range(&self, node: usize) -> Range<usize> {
        let Node { start, end, .. } = self.nodes[node];
        start as usize..end as usize
    }

    /// The bytes of a value as they are.
    pub(crate) fn raw(&self, node: usize) -> &'b str {
        &self.text[self.range(node)]
    }

    /// The text after a value, without white space.
    pub(crate) fn raw_after(&self, node: usize) -> &'b str {
        self.text[self.range(node).end..].trim_start()
    }

    /// The text between the quotes of a string, escaped.
    pub(crate) fn inner(&self, node: usize) -> Option<&'b str> {
        (self.kind(node) == Kind::String).then(|| {
            let raw = self.raw(node);
            &raw[1..raw.len() - 1]
        })
    }

    /// A string's text.
    pub(crate) fn string(&self, node: usize) -> Option<Cow<'b, str>> {
        let inner = self.inner(node)?;
        if !inner.contains('\\') {
            return Some(Cow::Borrowed(inner));
        }
        // An escape that means no character, such as half a surrogate pair, leaves the text as written.
        let parsed = stave_canon::parse(self.raw(node)).ok();
        Some(match parsed {
            Some(stave_canon::Value::String(text)) => Cow::Owned(text),
            _ => Cow::Borrowed(inner),
        })
    }

    pub(crate) fn members(&self, object: usize) -> impl Iterator<Item = Member> + '_ {
        let is_object = self.kind(object) == Kind::Object;
        let end = if is_object { self.nodes[object].next as usize } else { object };
        let mut at = object + 1;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let member = Member { key: at, value: at + 1 };
                at = self.nodes[at + 1].next as usize;
                member
            })
        })
    }

    pub(crate) fn items(&self, array: usize) -> impl Iterator<Item = usize> + '_ {
        let is_array = self.kind(array) == Kind::Array;
        let end = if is_array { self.nodes[array].next as usize } else { array };
        let mut at = array + 1;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let item = at;
                at = self.nodes[item].next as usize;
                item
            })
        })
    }

    /// The value of a member; of duplicate keys the last.
    pub(crate) fn get(&self, object: usize, key: &str) -> Option<usize> {
        self.members(object).filter(|member| self.is_key(member.key, key)).last().map(|member| member.value)
    }

    /// A member's value that is a string, escaped.
    pub(crate) fn get_inner(&self, object: usize, key: &str) -> Option<&'b str> {
        self.get(object, key).and_then(|value| self.inner(value))
    }

    /// Whether a key means `wanted`, however its characters are escaped.
    pub(crate) fn is_key(&self, key: usize, wanted: &str) -> bool {
        self.inner(key).is_some_and(|inner| match inner.contains('\\') {
            false => inner == wanted,
            true => self.string(key).is_some_and(|text| text == wanted),
        })
    }

    /// The second of two members of one object that have the same key. Readers differ in which of the two counts,
    /// so a text with such a pair is judged by one and obeyed by the other. At the top, where some servers
    /// compare names without their case, two keys that differ in nothing else are the same.
    pub(crate) fn duplicate_key(&self) -> Option<usize> {
        let mut seen: HashSet<Cow<'b, str>> = HashSet::new();
        let objects = (0..self.nodes.len()).filter(|node| self.kind(*node) == Kind::Object);
        for object in objects {
            seen.clear();
            for Member { key, .. } in self.members(object) {
                let text = self.string(key).unwrap_or_default();
                let text = if object == ROOT { Cow::Owned(text.to_ascii_lowercase()) } else { text };
                if !seen.insert(text) {
                    return Some(key);
                }
            }
        }
        None
    }

    pub(crate) fn is_null(&self, node: usize) -> bool {
        self.raw(node) == "null"
    }

    /// The nodes of a value, itself first.
    pub(crate) fn subtree(&self, node: usize) -> Range<usize> {
        node..self.nodes[node].next as usize
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    fn document(&mut self, nodes: &mut Vec<Node>) -> Result<(), TapeFault> {
        // The containers that are open.
        let mut open: Vec<usize> = Vec::new();
        loop {
            // A value is due here.
            let byte = self.peek().ok_or_else(|| self.fault("the text ends where a value is due"))?;
            let node = Node {
                kind: Kind::Scalar,
                depth: open.len() as u16,
                start: self.at as u32,
                end: 0,
                next: nodes.len() as u32 + 1,
            };
            let opened = match byte {
                b'{' | b'[' => {
                    if open.len() >= MAX_DEPTH {
                        return Err(self.fault("nested too deeply"));
                    }
                    let kind = if byte == b'{' { Kind::Object } else { Kind::Array };
                    self.at += 1;
                    open.push(nodes.len());
                    nodes.push(Node { kind, ..node });
                    if self.peek() == Some(if byte == b'{' { b'}' } else { b']' }) {
                        false
                    } else {
                        if byte == b'{' {
                            self.key(nodes, open.len())?;
                        }
                        true
                    }
                }
                b'"' => {
                    self.string()?;
                    nodes.push(Node { kind: Kind::String, end: self.at as u32, ..node });
                    false
                }
                _ => {
                    self.scalar(byte)?;
                    nodes.push(Node { end: self.at as u32, ..node });
                    false
                }
            };
            if opened {
                continue;
            }
            // A value has ended: close what ends with it, up to the next comma.
            loop {
                let Some(container) = open.last().copied() else {
                    return match self.peek() {
                        None => Ok(()),
                        Some(_) => Err(self.fault("something follows the value")),
                    };
                };
                let is_object = nodes[container].kind == Kind::Object;
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if is_object {
                            self.key(nodes, open.len())?;
                        }
                        break;
                    }
                    Some(b'}') if is_object => {}
                    Some(b']') if !is_object => {}
                    _ => return Err(self.fault("a comma or a closing bracket is due")),
                }
                self.at += 1;
                nodes[container].end = self.at as u32;
                nodes[container].next = nodes.len() as u32;
                open.pop();
            }
        }
    }

    fn key(&mut self, nodes: &mut Vec<Node>, depth: usize) -> Result<(), TapeFault> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("a key in double quotes is due"));
        }
        let start = self.at as u32;
        self.string()?;
        let next = nodes.len() as u32 + 1;
        nodes.push(Node { kind: Kind::String, depth: depth as u16, start, end: self.at as u32, next });
        if self.peek() != Some(b':') {
            return Err(self.fault("a colon is due"));
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), TapeFault> {
        self.at += 1;
        loop {
            let rest = &self.bytes[self.at..];
            let stop = memchr::memchr2(b'"', b'\\', rest);
            let Some(stop) = stop else { return Err(self.fault("a string is not closed")) };
            // Looking at every byte without stopping is faster than stopping at the first.
            if rest[..stop].iter().fold(false, |found, byte| found | (*byte < 0x20)) {
                self.at += rest.iter().position(|byte| *byte < 0x20).unwrap_or_default();
                return Err(self.fault("a control character in a string"));
            }
            self.at += stop + 1;
            match rest[stop] {
                b'"' => return Ok(()),
                _ => match self.bytes.get(self.at) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                    Some(b'u') => {
                        let digits = self.bytes.get(self.at + 1..self.at + 5);
                        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                            return Err(self.fault("four hexadecimal digits are due"));
                        }
                        self.at += 5;
                    }
                    _ => return Err(self.fault("a backslash before something that it does not escape")),
                },
            }
        }
    }

    fn scalar(&mut self, first: u8) -> Result<(), TapeFault> {
        let word = match first {
            b't' => "true",
            b'f' => "false",
            b'n' => "null",
            b'-' | b'0'..=b'9' => return self.number(),
            _ => return Err(self.fault("a value is due")),
        };
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.fault("a value is due"));
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), TapeFault> {
        self.at += usize::from(self.bytes[self.at] == b'-');
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), TapeFault> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.fault("a digit is due")) } else { Ok(()) }
    }

    fn peek(&mut self) -> Option<u8> {
        let rest = self.bytes.get(self.at..)?;
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.bytes.get(self.at).copied()
    }

    fn fault(&self, message: &'static str) -> TapeFault {
        TapeFault { offset: self.at, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_items_are_found_by_their_bytes() {
        let text = r#" { "a": [1, {"b": "x\ny"}, [], 2.50], "c": {}, "a": [ ] , "d": null} "#;
        let tape = Tape::read(text).unwrap();
        let keys: Vec<&str> = tape.members(ROOT).filter_map(|member| tape.inner(member.key)).collect();
        assert_eq!(keys, ["a", "c", "a", "d"]);
        assert_eq!(tape.raw(tape.get(ROOT, "a").unwrap()), "[ ]");
        let first = tape.members(ROOT).next().unwrap().value;
        let items: Vec<&str> = tape.items(first).map(|item| tape.raw(item)).collect();
        assert_eq!(items, ["1", r#"{"b": "x\ny"}"#, "[]", "2.50"]);
        let object = tape.items(first).nth(1).unwrap();
        assert_eq!(tape.string(tape.get(object, "b").unwrap()).unwrap(), "x\ny");
        assert!(tape.is_null(tape.get(ROOT, "d").unwrap()));
        assert_eq!(tape.items(object).count() + tape.members(first).count(), 0);
    }

    #[test]
    fn keys_are_the_same_however_they_are_escaped() {
        let tape = Tape::read(r#"{"\u006dodel": 1, "a": {"b": 1, "B": 2}}"#).unwrap();
        assert_eq!(tape.get(ROOT, "model").map(|value| tape.raw(value)), Some("1"));
        assert_eq!(tape.duplicate_key(), None);
        for text in [
            r#"{"a": 1, "a": 2}"#,
            r#"{"model": 1, "Model": 2}"#,
            r#"{"x": [{"text": 1, "t\u0065xt": 2}]}"#,
            r#"{"x": {"a": {"a": 1}, "b": [], "a": 0}}"#,
        ] {
            assert!(Tape::read(text).unwrap().duplicate_key().is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_has_no_tape() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{,}",
            "1 2",
            "tru",
            "\"a",
            "\"\\x\"",
            "01",
            "-",
            "1.",
            "1e",
            "\"\n\"",
            "[1}",
            "{\"a\":1]",
            "{1:2}",
            "\"\\u12g4\"",
            "]",
        ] {
            assert!(Tape::read(text).is_err(), "{text:?}");
        }
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Tape::read(&deep(MAX_DEPTH)).is_ok());
        assert!(Tape::read(&deep(MAX_DEPTH + 1)).is_err());
    }
}
