//! What a prompt carries along besides its fields for instructions: metadata, output requirements, role.

use stave_canon::{Pointer, Value};

use crate::PromptIr;

/// One carried text with its place in the prompt's dictionary.
#[derive(Debug)]
pub(super) struct Carried<'t> {
    pub(super) pointer: Pointer,
    pub(super) text: &'t str,
}

/// Every text that a prompt carries along, keys included.
pub(super) fn texts(ir: &PromptIr) -> Vec<Carried<'_>> {
    let mut out = vec![Carried { pointer: Pointer::root().key("role"), text: &ir.role }];
    let trees = [("metadata", &ir.metadata), ("output_requirements", &ir.output_requirements)];
    for (field, object) in trees {
        let at = Pointer::root().key(field);
        for (key, value) in object {
            member(&at, key, value, &mut out);
        }
    }
    for (key, value) in &ir.later_fields {
        member(&Pointer::root(), key, value, &mut out);
    }
    out
}

/// The carried texts that are references: those that say so, and those that a digest replaced.
pub(super) fn references<'t>(texts: &'t [Carried<'t>]) -> impl Iterator<Item = &'t Carried<'t>> {
    texts.iter().filter(|carried| {
        let text = carried.text.trim_start();
        let named =
            |prefix: &str| text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        carried.pointer.as_str().starts_with("/metadata/original_context_refs/")
            || named("file:")
            || named("diff:")
    })
}

fn member<'t>(at: &Pointer, key: &'t str, value: &'t Value, out: &mut Vec<Carried<'t>>) {
    let pointer = at.key(key);
    out.push(Carried { pointer: pointer.clone(), text: key });
    walk(&pointer, value, out);
}

fn walk<'t>(at: &Pointer, value: &'t Value, out: &mut Vec<Carried<'t>>) {
    match value {
        Value::String(text) => out.push(Carried { pointer: at.clone(), text }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(&at.index(index), item, out);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                member(at, key, value, out);
            }
        }
        _ => {}
    }
}
