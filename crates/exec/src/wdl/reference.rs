//! `$input.path` and `$step.id.path` inside texts.

use super::tree::{Scalar, WdlLocation};

/// A reference and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference<'t> {
    pub(crate) target: Target,
    /// The input's name or the step's id.
    pub(crate) name: &'t str,
    pub(crate) place: WdlLocation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Input,
    Step,
}

/// Every reference in a text, in order.
pub(crate) fn find(scalar: &Scalar) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    let text = scalar.text.as_str();
    for (index, _) in text.match_indices('$') {
        let rest = text.get(index..).unwrap_or_default();
        let (target, prefix) = if rest.starts_with("$input.") {
            (Target::Input, "$input.")
        } else if rest.starts_with("$step.") {
            (Target::Step, "$step.")
        } else {
            continue;
        };
        let name = rest.get(prefix.len()..).unwrap_or_default();
        let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        let length = name.find(|character| !is_part(character)).unwrap_or(name.len());
        if length == 0 {
            continue;
        }
        let characters = text.get(..index).unwrap_or_default().chars().count();
        let place = WdlLocation {
            start: scalar.place.start + index,
            end: scalar.place.start + index + prefix.len() + length,
            line: scalar.place.line,
            column: scalar.place.column + u32::try_from(characters).unwrap_or(0),
        };
        found.push(Reference { target, name: name.get(..length).unwrap_or_default(), place });
    }
    found
}
