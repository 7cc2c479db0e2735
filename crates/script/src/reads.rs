//! Which values a text reads: the one answer that the checker and the runtime share.
//!
//! Invariant: an answer may name too much, never too little. A literal field (`context.name`, `inputs['name']`)
//! counts as that field. Every other use of an object counts as all of its fields, because the text can then
//! reach any of them: by iterating, by a computed key, by passing the object on, or under another name.

use serde::{Deserialize, Serialize};

use crate::interpolation::{self, Path, PathStep};

/// A value that a text reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Read {
    Input(String),
    EveryInput,
    /// One field of the request's context.
    Context(String),
    EveryContextField,
    /// What the node's own model answered.
    Reply,
}

/// The name under which code and arguments see the model's answer.
const REPLY: &str = "prompt_output";

impl Read {
    /// What `${path}` reads; `None` for a secret, which is not a value of the flow.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Read> {
        match (path.root.as_str(), path.steps.first()) {
            ("secrets", _) => None,
            ("context", Some((PathStep::Key(name), _))) => Some(Read::Context(name.clone())),
            ("context", _) => Some(Read::EveryContextField),
            (REPLY, _) => Some(Read::Reply),
            (root, _) => Some(Read::Input(root.to_owned())),
        }
    }

    /// What the input of this name is to code: the model's answer is among the inputs.
    pub(crate) fn of_input(name: &str) -> Read {
        if name == REPLY { Read::Reply } else { Read::Input(name.to_owned()) }
    }
}

/// What the `${…}` of a text read, each with the bytes of its placeholder. A text that is not an interpolation
/// cannot be filled, so it reads nothing.
#[must_use]
pub fn of_text(text: &str) -> Vec<(Read, std::ops::Range<usize>)> {
    let Ok(parsed) = interpolation::parse(text) else { return Vec::new() };
    let reads = parsed
        .placeholders()
        .filter_map(|placeholder| Some((Read::of_path(&placeholder.path)?, placeholder.range.clone())));
    reads.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_reads_a_field_or_the_whole_context() {
        let reads = |text: &str| of_text(text).into_iter().map(|(read, _)| read).collect::<Vec<_>>();
        assert_eq!(
            reads("${context.a.b} ${context['c']}"),
            [Read::Context("a".to_owned()), Read::Context("c".to_owned())]
        );
        assert_eq!(reads("${context} ${context[0]}"), [Read::EveryContextField, Read::EveryContextField]);
        assert_eq!(
            reads("${x[0]} ${prompt_output.y} ${secrets.KEY}"),
            [Read::Input("x".to_owned()), Read::Reply]
        );
    }
}
