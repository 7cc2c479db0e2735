//! How confidential a value is.

use stave_shape::Shape;

/// How confidential a value is, from open to closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Shape)]
#[shape(words)]
pub enum Sensitivity {
    #[default]
    Public,
    /// Serves its own request, and is not put where others read it.
    Private,
    /// Does not leave the scope that it came from.
    Restricted,
}

impl Sensitivity {
    /// The level of content that is made from both.
    #[must_use]
    pub fn join(self, other: Sensitivity) -> Sensitivity {
        self.max(other)
    }

    /// The level that a word names. A word that nobody knows could mean anything, so it counts as the highest.
    #[must_use]
    pub fn at_worst(word: Option<&str>) -> Sensitivity {
        word.and_then(Sensitivity::from_word).unwrap_or(Sensitivity::Restricted)
    }
}
