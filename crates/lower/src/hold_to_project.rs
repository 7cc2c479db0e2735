//! What a project's policy says now, laid onto a document that was made under an earlier one or elsewhere: a compiled
//! flow, a document that was sent, the document of a run that goes on.
//!
//! Invariant: a budget only ever becomes tighter, and the labels are those of the project.

use stave_canon::{Object, Value};
use stave_exec::Document;

use crate::hold_to_labels;

/// Lays labels and budget of a project's policy onto a document.
pub fn hold_to_project(document: &mut Document, policy: &Object) {
    let none = Object::new();
    let said = policy.get("sensitivity").and_then(Value::as_object).unwrap_or(&none);
    hold_to_labels(document, said);
    let limits = policy.get("limits").and_then(|limits| limits.get("budget"));
    if let Some(budget) = limits.and_then(Value::as_object) {
        tighten_budget(&mut document.constants.policy, budget);
    }
}

/// Gives a baked policy the lesser of what it allows and of these bounds.
pub(crate) fn tighten_budget<'b>(
    policy: &mut Object,
    bounds: impl IntoIterator<Item = (&'b String, &'b Value)>,
) {
    let empty = || Value::Object(Object::new());
    let limits = policy.entry("limits".to_owned()).or_insert_with(empty);
    // A policy of another form is refused by the runtime.
    let Some(limits) = limits.as_object_mut() else { return };
    let Some(allowed) = limits.entry("budget".to_owned()).or_insert_with(empty).as_object_mut() else {
        return;
    };
    for (key, bound) in bounds {
        let is_less = |known: &Value| match (bound.as_f64(), known.as_f64()) {
            (Some(bound), Some(known)) => bound < known,
            _ => true,
        };
        if allowed.get(key).is_none_or(is_less) {
            allowed.insert(key.clone(), bound.clone());
        }
    }
}
