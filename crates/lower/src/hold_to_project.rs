//! What a project's policy says now, laid onto a document that was made under an earlier one or elsewhere: a compiled
//! flow, a document that was sent, the document of a resumed run.
//!
//! Invariant: a budget, a limit and what governance denies only ever become tighter, and the labels are those of the
//! project.

use stave_canon::{Object, Value};
use stave_exec::Document;

use crate::hold_to_labels;

/// Lays a project's policy onto a document: labels, budget, prompt limits, constraints and governance.
pub fn hold_to_project(document: &mut Document, policy: &Object) {
    let none = Object::new();
    let said = policy.get("sensitivity").and_then(Value::as_object).unwrap_or(&none);
    hold_to_labels(document, said);
    let limits = policy.get("limits");
    let baked = &mut document.constants.policy;
    if let Some(budget) = limits.and_then(|limits| limits.get("budget")).and_then(Value::as_object) {
        tighten_budget(baked, budget);
    }
    if let Some(tokens) = limits.and_then(|limits| limits.get("prompt_tokens")) {
        tighten_prompt(baked, tokens);
    }
    if let Some(constraints) = policy.get("constraints").and_then(Value::as_array) {
        add_constraints(baked, constraints);
    }
    if let Some(governance) = policy.get("governance") {
        add_governance(baked, governance);
    }
}

/// Gives a baked policy the lesser of its token limit for prompts and of this one.
fn tighten_prompt(policy: &mut Object, tokens: &Value) {
    let limits = policy.entry("limits".to_owned()).or_insert_with(|| Value::Object(Object::new()));
    let Some(limits) = limits.as_object_mut() else { return };
    let is_less = |known: &Value| match (tokens.as_i64(), known.as_i64()) {
        (Some(tokens), Some(known)) => tokens < known,
        _ => false,
    };
    if limits.get("prompt_tokens").is_none_or(is_less) {
        limits.insert("prompt_tokens".to_owned(), tokens.clone());
    }
}

/// The project's constraints, then those of the document that the project does not have.
fn add_constraints(policy: &mut Object, constraints: &[Value]) {
    let baked = match policy.get("constraints") {
        None => &[][..],
        Some(Value::Array(baked)) => baked.as_slice(),
        // A policy of another form is refused by the runtime.
        Some(_) => return,
    };
    policy.insert("constraints".to_owned(), union(constraints, baked).into());
}

/// A prompt is judged by the policies of the project and by those of the document. Phrases are allowed by both or not at
/// all, and texts are compared strictly unless both say otherwise.
fn add_governance(policy: &mut Object, project: &Value) {
    let baked = match policy.get("governance") {
        None => {
            policy.insert("governance".to_owned(), project.clone());
            return;
        }
        Some(baked) if baked == project => return,
        Some(Value::Array(list)) => Object::from_iter([("policies".to_owned(), Value::from(list.clone()))]),
        Some(Value::Object(set)) => set.clone(),
        Some(_) => return,
    };
    let Some(project) = project.as_object() else { return };
    let list = |set: &Object, key: &str| {
        set.get(key).and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default()
    };
    let is_specified = |set: &Object| set.get("mode").and_then(Value::as_str) == Some("specified");
    let mut joined = project.clone();
    joined.insert("policies".to_owned(), union(&list(project, "policies"), &list(&baked, "policies")).into());
    if joined.contains_key("allow") {
        let allowed = list(&baked, "allow");
        let both = list(project, "allow").into_iter().filter(|phrase| allowed.contains(phrase));
        joined.insert("allow".to_owned(), both.collect::<Vec<_>>().into());
    }
    if !(is_specified(project) && is_specified(&baked)) {
        joined.insert("mode".to_owned(), "strict".into());
    }
    policy.insert("governance".to_owned(), joined.into());
}

/// The values of the first list, then those of the second that are not among them.
fn union(first: &[Value], second: &[Value]) -> Vec<Value> {
    let new = second.iter().filter(|value| !first.contains(value));
    first.iter().chain(new).cloned().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        match stave_canon::parse(text) {
            Ok(Value::Object(object)) => object,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_document_is_judged_by_its_own_policies_and_by_those_of_the_project() {
        let project = object(r#"{"policies": [{"name": "a"}], "mode": "strict", "allow": ["x", "y"]}"#);
        for (baked, expected) in [
            (r"{}", r#"{"policies":[{"name":"a"}],"mode":"strict","allow":["x","y"]}"#),
            (
                r#"{"governance": {"mode": "specified", "allow": ["y", "z"], "policies": [{"name": "b"}]}}"#,
                r#"{"policies":[{"name":"a"},{"name":"b"}],"mode":"strict","allow":["y"]}"#,
            ),
            (
                r#"{"governance": [{"name": "a"}]}"#,
                r#"{"policies":[{"name":"a"}],"mode":"strict","allow":[]}"#,
            ),
        ] {
            let mut policy = object(baked);
            add_governance(&mut policy, &Value::Object(project.clone()));
            let held = policy.get("governance").map(ToString::to_string).unwrap_or_default();
            assert_eq!(stave_canon::parse(&held), stave_canon::parse(expected), "{baked}");
        }
    }

    #[test]
    fn limits_of_prompts_only_become_tighter_and_the_projects_constraints_come_first() {
        for (baked, limit) in [
            (r"{}", 9),
            (r#"{"limits": {"prompt_tokens": 3}}"#, 3),
            (r#"{"limits": {"prompt_tokens": 30}}"#, 9),
        ] {
            let mut policy = object(baked);
            tighten_prompt(&mut policy, &Value::from(9));
            assert_eq!(
                Value::Object(policy).pointer("/limits/prompt_tokens"),
                Some(&Value::from(limit)),
                "{baked}"
            );
        }
        let mut policy = object(r#"{"constraints": ["mine", "both"]}"#);
        add_constraints(&mut policy, &["theirs".into(), "both".into()]);
        assert_eq!(Value::Object(policy).to_string(), r#"{"constraints":["theirs","both","mine"]}"#);
    }
}
