//! `{path}` inside the key of a state record: the grammar, with the place of every part.
//!
//! A path is a name followed by `.name`; `{{` and `}}` stand for literal braces.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySegment {
    Literal(String),
    Path {
        /// The names of the path; never empty.
        names: Vec<String>,
        /// The bytes of the whole placeholder, braces included.
        range: Range<usize>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StateKeyError {
    pub range: Range<usize>,
    pub message: String,
}

/// Cuts a key template into segments. Every fault is reported.
pub fn parse(text: &str) -> Result<Vec<KeySegment>, Vec<StateKeyError>> {
    let mut segments = Vec::new();
    let mut errors = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(['{', '}']).map(|offset| at + offset) {
        literal.push_str(&text[at..found]);
        let rest = &text[found..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            literal.push_str(&rest[..1]);
            at = found + 2;
        } else if rest.starts_with('}') {
            errors.push(StateKeyError {
                range: found..found + 1,
                message: "`}` has no `{` before it".to_owned(),
            });
            at = found + 1;
        } else if let Some(end) = rest.find('}').map(|offset| found + offset) {
            let names: Vec<String> = text[found + 1..end].split('.').map(str::to_owned).collect();
            if names.iter().all(|name| is_name(name)) {
                if !literal.is_empty() {
                    segments.push(KeySegment::Literal(std::mem::take(&mut literal)));
                }
                segments.push(KeySegment::Path { names, range: found..end + 1 });
            } else {
                let message = "a placeholder is `{name}` or `{name.name}`".to_owned();
                errors.push(StateKeyError { range: found..end + 1, message });
            }
            at = end + 1;
        } else {
            errors
                .push(StateKeyError { range: found..text.len(), message: "`{` is never closed".to_owned() });
            at = text.len();
        }
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() {
        segments.push(KeySegment::Literal(literal));
    }
    if errors.is_empty() { Ok(segments) } else { Err(errors) }
}

fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|next| next.is_ascii_alphanumeric() || next == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_hold_paths_and_double_braces_are_literal() {
        let segments = parse("c_{session_id}{{x}}{node.id}").unwrap();
        let path = |names: &[&str], range: Range<usize>| KeySegment::Path {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            range,
        };
        assert_eq!(
            segments,
            [
                KeySegment::Literal("c_".to_owned()),
                path(&["session_id"], 2..14),
                KeySegment::Literal("{x}".to_owned()),
                path(&["node", "id"], 19..28),
            ]
        );
    }

    #[test]
    fn every_fault_is_reported() {
        let errors = parse("a}b{}c{").unwrap_err();
        assert_eq!(errors.iter().map(|error| error.range.start).collect::<Vec<_>>(), [1, 3, 6]);
    }
}
