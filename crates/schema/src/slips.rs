//! Slips in the output requirements of a prompt. The short form takes any object, so a misspelt word becomes a field or a
//! description without a fault, and answers are checked against something else than the author meant.
//!
//! Invariant: nothing is reported of requirements that say what their words say: no slip, no report.

use stave_canon::{Object, Pointer, Value};

use crate::OutputRequirements;
use crate::requirements::{MEMBERS, is_format, is_long_form};
use crate::short_form::{is_json_schema, is_type_word, meant_type};

/// Finds the known word that another one is most likely a slip of.
pub type Nearest<'n> = &'n dyn Fn(&str, &[&'static str]) -> Option<&'static str>;

/// A word that most likely means another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequirementSlip {
    /// The value, or the value under the key, that has the word.
    pub pointer: Pointer,
    /// What is wrong, and what is made of it.
    pub message: String,
    pub help: String,
}

impl OutputRequirements {
    /// The likely slips in the `output_requirements` of a prompt.
    #[must_use]
    pub fn slips(stated: &Object, nearest: Nearest<'_>) -> Vec<RequirementSlip> {
        let mut found = Vec::new();
        if is_long_form(stated) {
            if let Some(schema) = stated.get("schema") {
                of_types(schema, &Pointer::root().key("schema"), nearest, &mut found);
            }
            return found;
        }
        if is_json_schema(stated) {
            return found;
        }
        of_members(stated, nearest, &mut found);
        if found.is_empty() {
            of_fields(stated, &Pointer::root(), nearest, &mut found);
        }
        found
    }
}

/// The slips of an object that was to be the long form and is read as a schema.
fn of_members(stated: &Object, nearest: Nearest<'_>, found: &mut Vec<RequirementSlip>) {
    let meant = |key: &str| if MEMBERS.contains(&key) { None } else { nearest(key, &MEMBERS) };
    let has_format = |key: &str| stated.get(key).and_then(Value::as_str).is_some_and(is_format);
    let is_format_misspelt = || stated.keys().any(|key| meant(key) == Some("format") && has_format(key));
    match stated.get("format") {
        Some(Value::String(word)) if !is_format(word) => {
            let is_word = !word.contains(|sign: char| sign.is_whitespace() || sign == '|');
            let are_members =
                stated.keys().all(|key| MEMBERS.contains(&key.as_str()) || meant(key).is_some());
            if is_type_word(word) || !is_word || !are_members {
                return;
            }
            found.push(RequirementSlip {
                pointer: Pointer::root().key("format"),
                message: format!("`{word}` is not a format of answers, so all of this is read as a schema"),
                help: "write `json`, `markdown`, `xml` or `text`".to_owned(),
            });
        }
        Some(_) if has_format("format") => {}
        None if is_format_misspelt() => {}
        _ => return,
    }
    for key in stated.keys() {
        if let Some(meant) = meant(key) {
            found.push(RequirementSlip {
                pointer: Pointer::root().key(key),
                message: format!("`{key}` is not a requirement, so all of this is read as a schema"),
                help: format!("did you mean `{meant}`?"),
            });
        }
    }
}

/// The slips of a schema in the short form. A JSON Schema is checked as one.
fn of_types(value: &Value, pointer: &Pointer, nearest: Nearest<'_>, found: &mut Vec<RequirementSlip>) {
    match value {
        Value::String(text) => {
            if let Some(meant) = meant_type(text, nearest) {
                found.push(RequirementSlip {
                    pointer: pointer.clone(),
                    message: format!(
                        "`{text}` is not a type, so it is read as a description and any value fits"
                    ),
                    help: format!(
                        "did you mean `{meant}`? a description of several words is never taken for a slip"
                    ),
                });
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                of_types(item, &pointer.index(index), nearest, found);
            }
        }
        Value::Object(fields) if !is_json_schema(fields) => of_fields(fields, pointer, nearest, found),
        _ => {}
    }
}

fn of_fields(fields: &Object, pointer: &Pointer, nearest: Nearest<'_>, found: &mut Vec<RequirementSlip>) {
    for (key, value) in fields {
        of_types(value, &pointer.key(key), nearest, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known word with the same first two and the same last letters.
    fn nearest(word: &str, known: &[&'static str]) -> Option<&'static str> {
        let near =
            |known: &&&'static str| known.get(..2) == word.get(..2) && word.len().abs_diff(known.len()) < 2;
        known.iter().find(near).copied()
    }

    fn pointers(text: &str) -> Vec<String> {
        let stated = stave_canon::parse(text).unwrap();
        let slips = OutputRequirements::slips(stated.as_object().unwrap(), &nearest);
        slips.iter().map(|slip| slip.pointer.to_string()).collect()
    }

    #[test]
    fn slips_are_found_where_they_stand() {
        for (text, places) in [
            (r#"{"format": "yaml"}"#, vec!["/format"]),
            (r#"{"formt": "markdown", "required_fields": ["a"]}"#, vec!["/formt"]),
            (r#"{"format": "markdown", "required_feilds": ["a"]}"#, vec!["/required_feilds"]),
            (r#"{"x": "strin"}"#, vec!["/x"]),
            (r#"{"a": ["strin"], "b": {"c": "strin?"}, "d": "string|nul"}"#, vec!["/a/0", "/b/c", "/d"]),
            (r#"{"format": "json", "schema": {"x": "strin"}}"#, vec!["/schema/x"]),
        ] {
            assert_eq!(pointers(text), places, "{text}");
        }
    }

    #[test]
    fn what_says_what_it_means_is_left_alone() {
        for text in [
            "{}",
            r#"{"format": "markdown", "required_fields": ["Risks"]}"#,
            r#"{"format": "string", "example": "string"}"#,
            r#"{"format": "json", "title": "string"}"#,
            r#"{"format": "the format of the file", "name": "string"}"#,
            r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#,
            r#"{"a": "text", "b": ["int"], "c": "low|high", "d": "strings of the plan", "e": "any", "f": 3}"#,
        ] {
            assert!(pointers(text).is_empty(), "{text}");
        }
    }
}
