//! Parts of a flow that may be unreadable.
//!
//! The parser reports what it cannot read, once. The model keeps that something was there, so that no rule reports
//! its absence a second time: a rule that needs an unreadable part says nothing.

use std::collections::HashSet;
use std::ops::Deref;

use indexmap::IndexMap;

use super::Node;

/// A part that the format lets an author leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Readable<T> {
    Read(T),
    #[default]
    Absent,
    /// The text has the part, in a form that was reported as an error.
    Unreadable,
}

impl<T> Readable<T> {
    /// A part that the text has, with what came of reading it.
    pub(crate) fn of(read: Option<T>) -> Self {
        read.map_or(Readable::Unreadable, Readable::Read)
    }

    /// What was read; `None` for a part that is absent or unreadable.
    #[must_use]
    pub fn as_ref(&self) -> Option<&T> {
        match self {
            Readable::Read(part) => Some(part),
            Readable::Absent | Readable::Unreadable => None,
        }
    }

    pub fn iter(&self) -> std::option::IntoIter<&T> {
        self.as_ref().into_iter()
    }

    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self, Readable::Read(_))
    }

    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Readable::Absent)
    }

    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Readable::Unreadable)
    }
}

impl<'part, T> IntoIterator for &'part Readable<T> {
    type Item = &'part T;
    type IntoIter = std::option::IntoIter<&'part T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A list of which some items may be unreadable. It behaves like the list of the items that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableList<T> {
    items: Vec<T>,
    unreadable: usize,
}

impl<T> ReadableList<T> {
    /// A list from which `unreadable` items were left out.
    pub(crate) fn new(items: Vec<T>, unreadable: usize) -> Self {
        ReadableList { items, unreadable }
    }

    /// A list that cannot be read at all, or that the format requires and the text lacks.
    pub(crate) fn unreadable() -> Self {
        ReadableList { items: Vec::new(), unreadable: usize::MAX }
    }

    /// Whether every item of the text was read. Only then does the absence of an item mean anything.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unreadable == 0
    }

    /// How many items are unreadable; `usize::MAX` for a list that cannot be read at all.
    #[must_use]
    pub fn unreadable_items(&self) -> usize {
        self.unreadable
    }
}

impl<T> Default for ReadableList<T> {
    fn default() -> Self {
        ReadableList { items: Vec::new(), unreadable: 0 }
    }
}

impl<T> Deref for ReadableList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<'list, T> IntoIterator for &'list ReadableList<T> {
    type Item = &'list T;
    type IntoIter = std::slice::Iter<'list, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

/// The nodes of a flow by id, in file order. It behaves like the map of the nodes that were read.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeMap {
    read: IndexMap<String, Node>,
    unreadable: HashSet<String>,
    is_readable: bool,
}

impl NodeMap {
    /// NodeMap of which some are known by their ids only.
    pub(crate) fn new(read: IndexMap<String, Node>, unreadable: HashSet<String>) -> Self {
        NodeMap { read, unreadable, is_readable: true }
    }

    /// The value for `nodes` that cannot be read at all.
    pub(crate) fn unreadable() -> Self {
        NodeMap { read: IndexMap::new(), unreadable: HashSet::new(), is_readable: false }
    }

    /// Whether the text has, or may have, a node of this id that cannot be read.
    #[must_use]
    pub fn is_unreadable(&self, id: &str) -> bool {
        !self.is_readable || self.unreadable.contains(id)
    }

    /// Whether every node of the text was read.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_readable && self.unreadable.is_empty()
    }
}

impl Deref for NodeMap {
    type Target = IndexMap<String, Node>;

    fn deref(&self) -> &IndexMap<String, Node> {
        &self.read
    }
}

impl<'flow> IntoIterator for &'flow NodeMap {
    type Item = (&'flow String, &'flow Node);
    type IntoIter = indexmap::map::Iter<'flow, String, Node>;

    fn into_iter(self) -> Self::IntoIter {
        self.read.iter()
    }
}
