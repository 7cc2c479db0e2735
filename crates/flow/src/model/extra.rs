//! Fields beside the specification's own.

use stave_yaml::{Spanned, Tree};

/// A field that the specification does not name. `x-` fields are the author's own.
#[derive(Debug, Clone, PartialEq)]
pub struct Extra {
    pub key: Spanned<String>,
    pub value: Tree,
}
