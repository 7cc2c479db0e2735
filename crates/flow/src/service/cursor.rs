//! Where in the document a cursor is, also while the text around it cannot be read.

use crate::shape::{FLOW, FormatField, FormatShape, Holds};
use crate::yaml::{Tree, TreeValue};

/// A place for something to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    /// Keys from the root on; an item of a list is `-`.
    pub(super) path: Vec<String>,
    /// Whether a key is being written, rather than the value of the path's last key.
    pub(super) in_key: bool,
}

/// The place of an offset by indentation alone.
pub(super) fn cursor(text: &str, offset: usize) -> Cursor {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = Line::of(before.get(start..).unwrap_or_default());
    let mut path = Vec::new();
    let mut in_key = true;
    if let Some((outer, inner)) = flow_mapping(line.content) {
        let piece = inner.rsplit(',').next().unwrap_or_default().trim_start();
        if let Some(key) = key_of(piece) {
            path.push(key.to_owned());
            in_key = false;
        }
        if let Some(key) = key_of(outer) {
            path.push(key.to_owned());
        }
    } else if let Some(key) = key_of(line.content) {
        path.push(key.to_owned());
        in_key = false;
    }
    let mut need = line.column;
    let mut in_list = false;
    for dash in line.dashes.iter().rev() {
        path.push("-".to_owned());
        need = *dash;
        in_list = true;
    }
    // A bare word behind a dash is an item, not a key.
    for above in before.get(..start).unwrap_or_default().lines().rev() {
        if need == 0 && !in_list {
            break;
        }
        let above = Line::of(above);
        if above.content.is_empty() || above.content.starts_with('#') {
            continue;
        }
        if !above.dashes.is_empty() && above.column == need && !in_list {
            for dash in above.dashes.iter().rev() {
                path.push("-".to_owned());
                need = *dash;
            }
            in_list = true;
            continue;
        }
        let is_above = above.column < need || (in_list && above.column == need && above.dashes.is_empty());
        if is_above && let Some(key) = key_of(above.content) {
            path.push(key.to_owned());
            need = above.column;
            in_list = false;
            for dash in above.dashes.iter().rev() {
                path.push("-".to_owned());
                need = *dash;
                in_list = true;
            }
        }
    }
    path.reverse();
    Cursor { path, in_key }
}

/// A line without its indentation and the dashes of the items that begin on it.
struct Line<'text> {
    column: usize,
    dashes: Vec<usize>,
    content: &'text str,
}

impl<'text> Line<'text> {
    fn of(line: &'text str) -> Self {
        let mut rest = line.trim_end_matches('\r');
        let mut column = 0;
        let mut dashes = Vec::new();
        loop {
            let spaces = rest.len() - rest.trim_start_matches(' ').len();
            rest = rest.trim_start_matches(' ');
            column += spaces;
            match rest.strip_prefix("- ").or_else(|| (rest == "-").then_some("")) {
                Some(after) => {
                    dashes.push(column);
                    column += rest.len() - after.len();
                    rest = after;
                }
                None => return Line { column, dashes, content: rest },
            }
        }
    }
}

/// The key of `key: value` or `key:`.
fn key_of(content: &str) -> Option<&str> {
    let (key, rest) = content.split_once(':')?;
    if !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let key = key.trim().trim_matches(['"', '\'']);
    let is_key = !key.is_empty()
        && key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'));
    is_key.then_some(key)
}

/// The text ahead of and inside the last flow mapping that is still open.
fn flow_mapping(content: &str) -> Option<(&str, &str)> {
    let mut open = Vec::new();
    for (index, letter) in content.char_indices() {
        match letter {
            '{' if !content.get(..index).is_some_and(|before| before.ends_with(['$', '{'])) => {
                open.push(index);
            }
            '}' => {
                open.pop();
            }
            _ => {}
        }
    }
    let at = open.last()?;
    Some((content.get(..*at)?, content.get(at + 1..)?))
}

/// What the format says about the value at a path.
pub(super) fn holds(path: &[String]) -> Option<Holds> {
    let mut here = Holds::One(&FLOW);
    for step in path {
        here = match here {
            Holds::One(shape) | Holds::Implementation(shape) => shape.field(step)?.holds,
            Holds::List(shape) | Holds::Map(shape) => Holds::One(shape),
            Holds::TextList | Holds::NameList => Holds::Text,
            Holds::Words(words) | Holds::WordMap(words) => Holds::Word(words),
            Holds::Arguments | Holds::FreeMap | Holds::JsonSchema => return Some(here),
            _ => return None,
        };
    }
    Some(here)
}

/// The structure whose fields are the keys at a path.
pub(super) fn shape_at(path: &[String]) -> Option<&'static FormatShape> {
    match holds(path)? {
        Holds::One(shape) | Holds::Implementation(shape) => Some(shape),
        _ => None,
    }
}

/// The field that a path's last key is.
pub(super) fn field_at(path: &[String]) -> Option<&'static FormatField> {
    let (last, way) = path.split_last()?;
    shape_at(way)?.field(last)
}

/// The innermost value at an offset, with its path. Keys count as their entry; items are `-`.
pub(super) fn innermost(root: &Tree, offset: usize) -> (Vec<String>, &Tree) {
    let mut path = Vec::new();
    let mut here = root;
    loop {
        let inside = |tree: &Tree| (tree.span.start as usize..=tree.span.end as usize).contains(&offset);
        let next = match &here.value {
            TreeValue::Mapping(entries) => entries
                .iter()
                .find(|entry| inside(&entry.value) && entry.value.span.start >= here.span.start)
                .map(|entry| (entry.key.value.clone(), &entry.value)),
            TreeValue::Sequence(items) => items
                .iter()
                .find(|item| inside(item) && item.span.start >= here.span.start)
                .map(|item| ("-".to_owned(), item)),
            _ => None,
        };
        let Some((step, tree)) = next else { return (path, here) };
        path.push(step);
        here = tree;
    }
}

/// The key at an offset, with the path that ends in it.
pub(super) fn key_at(root: &Tree, offset: usize) -> Option<(Vec<String>, stave_diag::Span)> {
    let (mut path, tree) = innermost(root, offset);
    let entries = tree.entries()?;
    let key = entries
        .iter()
        .find(|entry| (entry.key.span.start as usize..=entry.key.span.end as usize).contains(&offset))?;
    path.push(key.key.value.clone());
    Some((path, key.key.span))
}
