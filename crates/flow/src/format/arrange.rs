//! Keys in the specification's order, without what only repeats something.

use super::FormatOptions;
use super::tree::{Child, Container, Content, Node, Remark};
use crate::shape::{FLOW, FormatShape, Holds};

/// What the format says about a place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known {
    Shape(&'static FormatShape),
    ListOf(&'static FormatShape),
    MapOf(&'static FormatShape),
    Nothing,
}

impl Known {
    pub(super) fn of(holds: Holds) -> Known {
        match holds {
            Holds::One(shape) | Holds::Implementation(shape) => Known::Shape(shape),
            Holds::List(shape) => Known::ListOf(shape),
            Holds::Map(shape) => Known::MapOf(shape),
            _ => Known::Nothing,
        }
    }

    /// What is known about a member of the place.
    pub(super) fn member(self, key: Option<&str>) -> Known {
        match (self, key) {
            (Known::Shape(shape), Some(key)) => {
                shape.field(key).map_or(Known::Nothing, |field| Known::of(field.holds))
            }
            (Known::ListOf(shape), None) | (Known::MapOf(shape), Some(_)) => Known::Shape(shape),
            _ => Known::Nothing,
        }
    }
}

/// Sorts known keys. With aliases in the text nothing is moved, since an alias must stay behind its anchor.
pub(super) fn arrange(root: &mut Node, options: FormatOptions, may_move: bool) {
    visit(root, Known::Shape(&FLOW), None, options, may_move);
}

fn visit(node: &mut Node, known: Known, id: Option<&str>, options: FormatOptions, may_move: bool) {
    let Content::Container(container) = &mut node.content else { return };
    if may_move && let (Known::Shape(shape), true) = (known, container.is_mapping) {
        if let Some(id) = id.filter(|_| options.drops_ids) {
            drop_id(container, id);
        }
        container.children.sort_by_key(|child| shape.rank(child.name().unwrap_or_default()));
    }
    for child in &mut container.children {
        let name = child.name().map(str::to_owned);
        let nodes = matches!(known, Known::MapOf(_));
        visit(
            &mut child.value,
            known.member(name.as_deref()),
            name.as_deref().filter(|_| nodes),
            options,
            may_move,
        );
    }
}

/// Takes out an `id` that repeats the node's key. Its comments go to what comes next.
fn drop_id(container: &mut Container, id: &str) {
    let repeats = |child: &Child| {
        child.name() == Some("id")
            && matches!(&child.value.content, Content::Scalar(scalar) if scalar.decoded == id)
    };
    // The only key of a node has to stay: without it there would be no mapping.
    let Some(index) = container.children.iter().position(repeats).filter(|_| container.children.len() > 1)
    else {
        return;
    };
    let gone = container.children.remove(index);
    let mut comments = gone.leading;
    comments.extend(gone.trailing.map(|text| Remark { text, blank: false }));
    match container.children.get_mut(index) {
        Some(next) => {
            comments.append(&mut next.leading);
            next.leading = comments;
        }
        None => {
            comments.append(&mut container.closing);
            container.closing = comments;
        }
    }
}
