//! Where a reader is. A place is a chain on the stack; the text of its pointer is made only for a fault.

use stave_canon::Pointer;

/// A place in a document, known by the way to it.
#[derive(Debug, Clone, Copy)]
pub struct Place<'p> {
    step: Step<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Root,
    Key(&'p Place<'p>, &'p str),
    Index(&'p Place<'p>, usize),
    /// A place that is given as a pointer, for a document that is read in parts.
    At(&'p Pointer),
}

impl<'p> Place<'p> {
    #[must_use]
    pub fn root() -> Place<'static> {
        Place { step: Step::Root }
    }

    #[must_use]
    pub fn at(pointer: &'p Pointer) -> Place<'p> {
        Place { step: Step::At(pointer) }
    }

    /// The place of an object's member.
    #[must_use]
    pub fn key(&'p self, key: &'p str) -> Place<'p> {
        Place { step: Step::Key(self, key) }
    }

    /// The place of an array's item.
    #[must_use]
    pub fn index(&'p self, index: usize) -> Place<'p> {
        Place { step: Step::Index(self, index) }
    }

    /// The number of the item that this place is.
    #[must_use]
    pub fn item_number(&self) -> Option<usize> {
        if let Step::Index(_, index) = self.step { Some(index) } else { None }
    }

    #[must_use]
    pub fn pointer(&self) -> Pointer {
        match self.step {
            Step::Root => Pointer::root(),
            Step::Key(parent, key) => parent.pointer().key(key),
            Step::Index(parent, index) => parent.pointer().index(index),
            Step::At(pointer) => pointer.clone(),
        }
    }
}
