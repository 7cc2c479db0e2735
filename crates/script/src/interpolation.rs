//! `${path}` inside the arguments of an operation: the grammar, with the place of every part.
//!
//! `path` is a name followed by `.name`, `[0]` or `["any text"]`; a final `?` makes it optional; `$${`
//! stands for a literal `${`. The checker resolves paths against ports and schemas, the runtime against
//! values; both read them here.

use std::ops::Range;

/// A text cut into literal parts and placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpolation {
    pub segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    Literal(String),
    Placeholder(Placeholder),
}

/// One `${…}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    pub path: Path,
    /// Written with a final `?`: an absent value is left out instead of being an error.
    pub optional: bool,
    /// The bytes of the whole placeholder, `${` and `}` included.
    pub range: Range<usize>,
}

/// A root name and the steps from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    pub root: String,
    pub root_range: Range<usize>,
    pub steps: Vec<(PathStep, Range<usize>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    Key(String),
    Index(usize),
}

/// Where and why a text is not an interpolation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InterpolationError {
    pub range: Range<usize>,
    pub message: String,
}

impl Interpolation {
    /// The only placeholder, when the text is nothing else. Its value then keeps its JSON type.
    #[must_use]
    pub fn sole(&self) -> Option<&Placeholder> {
        match self.segments.as_slice() {
            [Segment::Placeholder(placeholder)] => Some(placeholder),
            _ => None,
        }
    }

    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Placeholder(placeholder) => Some(placeholder),
            Segment::Literal(_) => None,
        })
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.root)?;
        for (step, _) in &self.steps {
            match step {
                PathStep::Key(key) if is_name(key) => write!(out, ".{key}")?,
                PathStep::Key(key) => write!(out, "[{key:?}]")?,
                PathStep::Index(index) => write!(out, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Cuts a text into segments. Every malformed placeholder is reported.
pub fn parse(text: &str) -> Result<Interpolation, Vec<InterpolationError>> {
    let mut segments = Vec::new();
    let mut errors = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('$').map(|offset| at + offset) {
        literal.push_str(&text[at..found]);
        let rest = &text[found..];
        if rest.starts_with("$${") {
            literal.push_str("${");
            at = found + 3;
        } else if rest.starts_with("${") {
            match placeholder(text, found) {
                Ok(placeholder) => {
                    if !literal.is_empty() {
                        segments.push(Segment::Literal(std::mem::take(&mut literal)));
                    }
                    at = placeholder.range.end;
                    segments.push(Segment::Placeholder(placeholder));
                }
                Err(error) => {
                    at = error.range.end.max(found + 2);
                    errors.push(error);
                }
            }
        } else {
            literal.push('$');
            at = found + 1;
        }
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() || segments.is_empty() {
        segments.push(Segment::Literal(literal));
    }
    if errors.is_empty() { Ok(Interpolation { segments }) } else { Err(errors) }
}

/// Reads the placeholder that starts at `start` with `${`.
fn placeholder(text: &str, start: usize) -> Result<Placeholder, InterpolationError> {
    let mut cursor = Cursor { text, at: start + 2 };
    let fail = |cursor: &Cursor<'_>, message: &str| {
        // The fault covers the placeholder up to its end, or up to the line's end when it never closes.
        let rest = &text[cursor.at..];
        let end = rest
            .find(['}', '\n'])
            .map_or(text.len(), |offset| cursor.at + offset + usize::from(rest[offset..].starts_with('}')));
        InterpolationError { range: start..end, message: message.to_owned() }
    };
    let root_start = cursor.at;
    let Some(root) = cursor.name() else { return Err(fail(&cursor, "`${` must be followed by a name")) };
    let root_range = root_start..cursor.at;
    let mut steps = Vec::new();
    loop {
        let step_start = cursor.at;
        let step = if cursor.take('.') {
            cursor.name().map(PathStep::Key).ok_or_else(|| fail(&cursor, "`.` must be followed by a name"))?
        } else if cursor.take('[') {
            let step = cursor
                .quoted()
                .map(PathStep::Key)
                .or_else(|| cursor.integer().map(PathStep::Index))
                .ok_or_else(|| fail(&cursor, "`[` must be followed by an index or a quoted key"))?;
            if !cursor.take(']') {
                return Err(fail(&cursor, "`]` is missing"));
            }
            step
        } else {
            break;
        };
        steps.push((step, step_start..cursor.at));
    }
    let optional = cursor.take('?');
    if !cursor.take('}') {
        return Err(fail(&cursor, "`}` is missing, or the path has a character that it cannot have"));
    }
    Ok(Placeholder { path: Path { root, root_range, steps }, optional, range: start..cursor.at })
}

fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|next| next.is_ascii_alphanumeric() || next == '_')
}

struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn name(&mut self) -> Option<String> {
        let rest = self.rest();
        let end = rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        if !is_name(name) {
            return None;
        }
        self.at += end;
        Some(name.to_owned())
    }

    fn integer(&mut self) -> Option<usize> {
        let rest = self.rest();
        let end = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
        let index = rest[..end].parse().ok()?;
        self.at += end;
        Some(index)
    }

    /// A key in single or double quotes; a backslash keeps the character after it.
    fn quoted(&mut self) -> Option<String> {
        let quote = self.rest().chars().next().filter(|first| matches!(first, '"' | '\''))?;
        let mut key = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((offset, character)) = characters.next() {
            if character == quote {
                self.at += offset + 1;
                return Some(key);
            }
            key.push(if character == '\\' { characters.next()?.1 } else { character });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let parsed = parse(text).unwrap();
        let segments = parsed.segments.iter().map(|segment| match segment {
            Segment::Literal(text) => format!("{text:?}"),
            Segment::Placeholder(placeholder) => {
                format!("<{}{}>", placeholder.path, if placeholder.optional { "?" } else { "" })
            }
        });
        segments.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_are_cut_into_literals_and_paths() {
        assert_eq!(shown("${n}"), "<n>");
        assert_eq!(shown("n=${a.b[0][\"zip code\"]['x']?} $5"), "\"n=\" <a.b[0][\"zip code\"].x?> \" $5\"");
        assert_eq!(shown("$${n} is ${n}"), "\"${n} is \" <n>");
        assert_eq!(shown(""), "\"\"");
        assert_eq!(shown("é$"), "\"é$\"");
    }

    #[test]
    fn every_malformed_placeholder_is_reported_at_its_place() {
        let errors = parse("a ${} b ${x.} c ${y[} d ${z").unwrap_err();
        let ranges: Vec<_> = errors.iter().map(|error| error.range.clone()).collect();
        assert_eq!(ranges, [2..5, 8..13, 16..21, 24..27]);
    }
}
