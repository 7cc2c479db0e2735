//! What a script touches, each with the place where it does.

use stave_diag::Span;

/// A name that a script uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    pub name: String,
    pub span: Span,
    /// Whether the use copes with an absent value, as `inputs.get('x')` does and `inputs['x']` does not.
    pub optional: bool,
}

/// A path from a root name inwards: `customer_data.age` and `outputs['valid']`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedPath {
    /// The root name, then one part for each attribute or literal text key; never empty.
    pub path: Vec<String>,
    /// The place of the whole path.
    pub span: Span,
    /// The place of the root name alone.
    pub root: Span,
}
