//! What the derived readers share: the faults so far, and the ways in which a field can be there.

use std::ops::Range;

use stave_canon::Value;

use crate::{Fault, FaultKind, FieldLimits, Place, ValueNode};

/// What `null` means where a key may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Null {
    IsAbsent,
    IsFault,
}

/// Collects faults.
#[derive(Debug)]
pub struct Reader {
    faults: Vec<Fault>,
    /// Whether unknown keys of closed objects are faults. A document of a later version may have keys that only
    /// that version knows.
    pub closed: bool,
}

impl Default for Reader {
    fn default() -> Self {
        Reader { faults: Vec::new(), closed: true }
    }
}

impl Reader {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    #[must_use]
    pub fn finish(self) -> Vec<Fault> {
        self.faults
    }

    /// Takes back every fault: what they were about turned out not to count.
    pub fn forget(&mut self) {
        self.faults.clear();
    }

    #[cold]
    pub fn fault(&mut self, at: &Place<'_>, span: Option<Range<usize>>, kind: FaultKind) {
        self.faults.push(Fault { pointer: at.pointer(), span, kind });
    }

    /// Reports a value of the wrong type, unless it was not there to begin with.
    #[cold]
    pub fn wrong_type<N: ValueNode>(&mut self, node: N, at: &Place<'_>, wanted: &'static str) {
        self.fault(at, node.span(), FaultKind::WrongType { wanted, found: node.kind().words() });
    }

    /// Reports a key that an object does not have, if it is closed.
    #[cold]
    pub fn unknown_key(
        &mut self,
        at: &Place<'_>,
        key: &str,
        span: Option<Range<usize>>,
        known: &'static [&'static str],
    ) {
        if self.closed {
            self.fault(&at.key(key), span, FaultKind::UnknownKey { key: key.to_owned(), known });
        }
    }

    /// A key that must be there.
    #[inline]
    pub fn required<N: ValueNode, T>(
        &mut self,
        owner: N,
        slot: Option<N>,
        key: &'static str,
        at: &Place<'_>,
        limits: &FieldLimits,
        read: impl FnOnce(N, &Place<'_>, &mut Reader) -> Option<T>,
    ) -> Option<T> {
        let Some(node) = slot else {
            self.fault(at, owner.span(), FaultKind::MissingKey(key));
            return None;
        };
        let at = at.key(key);
        if limits.admit(node, &at, self) { read(node, &at, self) } else { None }
    }

    /// A key that may be absent.
    #[inline]
    pub fn optional<N: ValueNode, T>(
        &mut self,
        slot: Option<N>,
        key: &'static str,
        at: &Place<'_>,
        null: Null,
        limits: &FieldLimits,
        read: impl FnOnce(N, &Place<'_>, &mut Reader) -> Option<T>,
    ) -> Option<T> {
        let node = slot?;
        if null == Null::IsAbsent && node.kind() == crate::ValueKind::Null {
            return None;
        }
        let at = at.key(key);
        if limits.admit(node, &at, self) { read(node, &at, self) } else { None }
    }

    /// A key that must be there with exactly this value.
    pub fn mark<N: ValueNode>(
        &mut self,
        owner: N,
        slot: Option<N>,
        key: &'static str,
        at: &Place<'_>,
        wanted: &Value,
    ) {
        self.required(owner, slot, key, at, &FieldLimits::NONE, |node, at, reader| {
            let found = node.to_value();
            if found != *wanted {
                let kind = FaultKind::WrongMark { wanted: wanted.to_string(), found: found.to_string() };
                reader.fault(at, node.span(), kind);
            }
            Some(())
        });
    }

    /// One of several words.
    pub fn word<N: ValueNode>(
        &mut self,
        node: N,
        at: &Place<'_>,
        words: &'static [&'static str],
    ) -> Option<usize> {
        let Some(text) = node.text() else {
            self.wrong_type(node, at, "a string");
            return None;
        };
        let found = words.iter().position(|word| *word == text);
        if found.is_none() {
            let kind = FaultKind::UnknownWord { words, found: text.to_owned() };
            self.fault(at, node.span(), kind);
        }
        found
    }
}
