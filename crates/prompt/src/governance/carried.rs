//! What a prompt carries along besides its fields for instructions: metadata, output requirements, role.

use stave_canon::{Object, Pointer, Value};

use crate::PromptIr;

/// One carried text with its place in the prompt's dictionary.
#[derive(Debug)]
pub(super) struct Carried<'t> {
    pub(super) pointer: Pointer,
    pub(super) text: &'t str,
    /// Whether it is a reference: it says so, or a digest replaced it.
    pub(super) is_reference: bool,
}

/// Every text that a prompt carries along, keys included; those that `before` carries as well are left out.
pub(super) fn texts<'t>(ir: &'t PromptIr, before: Option<&PromptIr>) -> Vec<Carried<'t>> {
    let mut out = Vec::new();
    visit(ir, before, &mut Pointer::root(), &mut |pointer: &Pointer, text, is_reference| {
        out.push(Carried { pointer: pointer.clone(), text, is_reference });
    });
    out
}

/// The same texts in the same order without their places, which are dear.
pub(super) fn each<'t>(ir: &'t PromptIr, before: Option<&PromptIr>, with: &mut impl FnMut(&'t str, bool)) {
    visit(ir, before, &mut (), &mut |(): &(), text, is_reference| with(text, is_reference));
}

/// A place in the dictionary, where anybody wants to know it.
trait Place: Sized {
    fn key(&self, key: &str) -> Self;
    fn index(&self, index: usize) -> Self;
}

impl Place for Pointer {
    fn key(&self, key: &str) -> Self {
        Pointer::key(self, key)
    }

    fn index(&self, index: usize) -> Self {
        Pointer::index(self, index)
    }
}

impl Place for () {
    fn key(&self, _: &str) -> Self {}

    fn index(&self, _: usize) -> Self {}
}

fn visit<'t, P: Place>(
    ir: &'t PromptIr,
    before: Option<&PromptIr>,
    root: &mut P,
    with: &mut impl FnMut(&P, &'t str, bool),
) {
    if before.is_none_or(|before| before.role != ir.role) {
        with(&root.key("role"), &ir.role, is_named(&ir.role));
    }
    let metadata = before.map(|before| &before.metadata);
    members(&root.key("metadata"), &ir.metadata, metadata, true, with);
    let requirements = before.map(|before| &*before.output_requirements);
    members(&root.key("output_requirements"), &ir.output_requirements, requirements, false, with);
    members(root, &ir.later_fields, before.map(|before| &before.later_fields), false, with);
}

fn members<'t, P: Place>(
    at: &P,
    object: &'t Object,
    before: Option<&Object>,
    has_originals: bool,
    with: &mut impl FnMut(&P, &'t str, bool),
) {
    for (key, value) in object {
        if before.is_some_and(|before| before.get(key) == Some(value)) {
            continue;
        }
        member(at, key, value, has_originals && key == "original_context_refs", with);
    }
}

fn member<'t, P: Place>(
    at: &P,
    key: &'t str,
    value: &'t Value,
    are_references: bool,
    with: &mut impl FnMut(&P, &'t str, bool),
) {
    let place = at.key(key);
    with(&place, key, is_named(key));
    walk(&place, value, are_references, false, with);
}

fn walk<'t, P: Place>(
    at: &P,
    value: &'t Value,
    are_references: bool,
    is_inside: bool,
    with: &mut impl FnMut(&P, &'t str, bool),
) {
    match value {
        Value::String(text) => with(at, text, (are_references && is_inside) || is_named(text)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(&at.index(index), item, are_references, true, with);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                let place = at.key(key);
                with(&place, key, are_references || is_named(key));
                walk(&place, value, are_references, true, with);
            }
        }
        _ => {}
    }
}

/// Whether a text says that it is a reference.
fn is_named(text: &str) -> bool {
    let text = text.trim_start();
    let named =
        |prefix: &str| text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    named("file:") || named("diff:")
}
