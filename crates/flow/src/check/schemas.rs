//! Schemas are valid JSON Schema (draft 7 unless they say otherwise), are self-contained, and allow the
//! type of their port.

use jsonschema::Draft;
use stave_canon::Value;
use stave_diag::codes::flow as codes;
use stave_diag::codes::prompt::PROMPT_MISSPELT_REQUIREMENT;
use stave_diag::{Diagnostic, Span, did_you_mean};
use stave_schema::{OutputRequirements, SchemaFault, SchemaValidator};

use super::schema_overlap::is_of;
use super::subject::{Subject, listed, tools};
use crate::model::{Port, Text};
use crate::yaml::{Tree, TreeValue};

/// The types of JSON Schema.
pub(super) const JSON_TYPES: [&str; 7] =
    ["array", "boolean", "integer", "null", "number", "object", "string"];

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        for port in node.inputs.iter().chain(&node.outputs).chain(&node.error) {
            if let Some(schema) = &port.schema {
                let found = faults(schema, &format!("the schema of `{}`", port.name.as_str()));
                if found.is_empty() {
                    diagnostics.extend(type_conflict(port, schema));
                }
                diagnostics.extend(found);
            }
        }
        if let Some(schema) = node.prompt.as_ref().and_then(|prompt| prompt.output_schema.as_ref()) {
            diagnostics.extend(faults(schema, "`output_schema`"));
        }
        if let Some(stated) = node.prompt.as_ref().and_then(|prompt| prompt.output_requirements.as_ref()) {
            diagnostics.extend(requirement_faults(stated));
            diagnostics.extend(requirement_slips(stated));
        }
        for tool in tools(node) {
            if let Some(parameters) = &tool.parameters {
                diagnostics.extend(faults(parameters, "`parameters` of the tool"));
            }
        }
    }
}

/// A compiled schema, when it is a valid one. References may only point into the schema itself.
pub(super) fn compile(schema: &Tree) -> Option<SchemaValidator> {
    if remote_reference(schema).is_some() {
        return None;
    }
    let value = schema.to_value();
    SchemaValidator::of_draft(&value, draft(&value.to_serde())).ok()
}

/// The draft that a schema names, and draft 7 when it names none.
fn draft(schema: &serde_json::Value) -> Draft {
    match Draft::Draft7.detect(schema) {
        known @ (Draft::Draft4 | Draft::Draft6 | Draft::Draft201909 | Draft::Draft202012) => known,
        _ => Draft::Draft7,
    }
}

fn faults(schema: &Tree, what: &str) -> Vec<Diagnostic> {
    if !matches!(schema.value, TreeValue::Mapping(_) | TreeValue::Bool(_)) {
        let message = format!("{what} must be a mapping or a boolean, and this is {}", schema.kind());
        let diagnostic = Diagnostic::new(codes::BAD_SCHEMA, schema.span, message);
        return vec![diagnostic.help("write a JSON Schema, such as `{type: object}`")];
    }
    if let Some((span, target)) = remote_reference(schema) {
        let message = format!("{what} refers to `{target}`, which is outside the schema");
        let help = "copy what it refers to under `definitions` and refer to `#/definitions/…`";
        return vec![Diagnostic::new(codes::BAD_SCHEMA, span, message).help(help)];
    }
    if is_plain(schema) {
        return Vec::new();
    }
    let own = schema.to_value();
    let value = own.to_serde();
    let draft = draft(&value);
    let meta = match draft {
        Draft::Draft4 => jsonschema::draft4::meta::validator(),
        Draft::Draft6 => jsonschema::draft6::meta::validator(),
        Draft::Draft201909 => jsonschema::draft201909::meta::validator(),
        Draft::Draft202012 => jsonschema::draft202012::meta::validator(),
        _ => jsonschema::draft7::meta::validator(),
    };
    let invalid: Vec<Diagnostic> = meta
        .iter_errors(&value)
        .map(|error| invalid(schema, what, error.instance_path().as_str(), &error.to_string()))
        .collect();
    if !invalid.is_empty() {
        return invalid;
    }
    // What the meta schema cannot say: a pattern that is no regular expression, a reference to nothing, and what
    // validation would cost.
    let fault = SchemaValidator::of_draft(&own, draft).err();
    fault.map(|fault| unusable(schema, what, &fault)).into_iter().collect()
}

/// What is wrong with `output_requirements`: the fields of the long form, or the schema that answers are checked against.
fn requirement_faults(tree: &Tree) -> Vec<Diagnostic> {
    let value = tree.to_value();
    let Some(stated) = value.as_object() else { return Vec::new() };
    let bad = match OutputRequirements::of_prompt(stated) {
        Ok(stated) => {
            let fault = stated.effective_schema().and_then(|schema| SchemaValidator::new(&schema).err());
            return fault.map(|fault| unusable(tree, "`output_requirements`", &fault)).into_iter().collect();
        }
        Err(bad) => bad,
    };
    let found = bad.faults.into_iter().map(|(pointer, message)| {
        let message = format!("`output_requirements` cannot be used: {message}");
        Diagnostic::new(codes::BAD_SCHEMA, tree.locate(pointer.as_str()), message).help(
            "write `{field: type}`, or `format` with `required_fields`, `schema`, `max_tokens`, `example` and \
             `error_format`",
        )
    });
    found.collect()
}

/// Words in `output_requirements` that are most likely slips of known ones.
fn requirement_slips(tree: &Tree) -> Vec<Diagnostic> {
    let value = tree.to_value();
    let Some(stated) = value.as_object() else { return Vec::new() };
    let nearest = |word: &str, known: &[&'static str]| did_you_mean(word, known.iter().copied());
    let slips = OutputRequirements::slips(stated, &nearest).into_iter().map(|slip| {
        Diagnostic::new(PROMPT_MISSPELT_REQUIREMENT, tree.locate(slip.pointer.as_str()), slip.message)
            .help(slip.help)
    });
    slips.collect()
}

fn unusable(schema: &Tree, what: &str, fault: &SchemaFault) -> Diagnostic {
    if fault.is_costly() {
        let help = "apply each definition once, and describe alternatives with fewer subschemas";
        let message = format!("{what} costs too much to check values against: {fault}");
        return Diagnostic::new(codes::COSTLY_SCHEMA, schema.span, message).help(help);
    }
    let span = match fault {
        SchemaFault::Invalid { pointer, .. } => schema.locate(pointer),
        _ => schema.span,
    };
    let diagnostic = Diagnostic::new(codes::BAD_SCHEMA, span, format!("{what} cannot be used: {fault}"));
    match fault {
        SchemaFault::Invalid { pointer, .. } if pointer.contains("pattern") => {
            diagnostic.help("patterns have no lookaround and no backreferences, and repeat no large groups")
        }
        _ => diagnostic,
    }
}

/// Whether a schema is valid beyond doubt: it has only the everyday keywords, each with what it takes. Anything
/// else is left to the meta schema, which takes a hundred times longer.
fn is_plain(schema: &Tree) -> bool {
    let Some(entries) = schema.entries() else { return matches!(schema.value, TreeValue::Bool(_)) };
    entries.iter().all(|entry| {
        let value = &entry.value;
        let word = |tree: &Tree| tree.text().is_some_and(|text| JSON_TYPES.contains(&text.as_str()));
        let count = || matches!(&value.value, TreeValue::Number(number) if number.as_i64().is_some_and(|count| count >= 0));
        match entry.key.as_str() {
            "type" => word(value),
            "description" | "title" => value.text().is_some(),
            "properties" => {
                value.entries().is_some_and(|entries| entries.iter().all(|entry| is_plain(&entry.value)))
            }
            "items" => is_plain(value),
            "additionalProperties" => is_plain(value),
            "required" => value.items().is_some_and(distinct_texts),
            "enum" => value.items().is_some_and(|items| !items.is_empty() && distinct_texts(items)),
            "minimum" | "maximum" => matches!(value.value, TreeValue::Number(_)),
            "minLength" | "maxLength" | "minItems" | "maxItems" => count(),
            _ => false,
        }
    })
}

fn distinct_texts(items: &[Tree]) -> bool {
    items.iter().enumerate().all(|(index, item)| {
        let text = item.text().map(Text::as_str);
        text.is_some() && items.iter().take(index).all(|other| other.text().map(Text::as_str) != text)
    })
}

fn invalid(schema: &Tree, what: &str, pointer: &str, error: &str) -> Diagnostic {
    let span = schema.locate(pointer);
    let value = schema.to_value();
    if let (true, Some(word)) = (pointer.ends_with("/type"), value.pointer(pointer).and_then(Value::as_str)) {
        let message = format!("{what} has the type `{word}`, which JSON does not have");
        let diagnostic = Diagnostic::new(codes::BAD_SCHEMA, span, message);
        return match did_you_mean(word, JSON_TYPES) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(format!("use {}", listed(JSON_TYPES))),
        };
    }
    Diagnostic::new(codes::BAD_SCHEMA, span, format!("{what} is not valid JSON Schema: {error}"))
}

/// The place and text of the first reference that leaves the schema.
fn remote_reference(schema: &Tree) -> Option<(Span, String)> {
    match &schema.value {
        TreeValue::Mapping(entries) => entries.iter().find_map(|entry| {
            let target = entry.value.text().filter(|_| entry.key.value == "$ref");
            match target {
                Some(target) if !target.as_str().starts_with('#') => {
                    Some((target.span, target.as_str().to_owned()))
                }
                _ => remote_reference(&entry.value),
            }
        }),
        TreeValue::Sequence(items) => items.iter().find_map(remote_reference),
        _ => None,
    }
}

/// A schema that lists its values, none of which is of the port's type.
fn listed_conflict(port: &Port, schema: &Tree, wanted: &str) -> Option<Diagnostic> {
    let entry = schema.entry("const").or_else(|| schema.entry("enum"))?;
    let values = match &entry.value.value {
        TreeValue::Sequence(items) if entry.key.value == "enum" => items.iter().map(Tree::to_value).collect(),
        _ => vec![entry.value.to_value()],
    };
    if values.iter().any(|value| is_of(value, wanted)) {
        return None;
    }
    let port_type = port.port_type.as_ref()?;
    let name = port.name.as_str();
    let message = format!("`{name}` is of type `{}`, and nothing that its schema lists is", port_type.word());
    Some(
        Diagnostic::new(codes::SCHEMA_TYPE_CONFLICT, entry.value.span, message)
            .label(port_type.span, "the port's type")
            .help("list values of that type, or change the port's type"),
    )
}

fn type_conflict(port: &Port, schema: &Tree) -> Option<Diagnostic> {
    let port_type = port.port_type.as_ref()?;
    let wanted = port_type.json_type();
    let Some(entry) = schema.entry("type") else { return listed_conflict(port, schema, wanted) };
    let words: Vec<&str> = match &entry.value.value {
        TreeValue::String(text) => vec![text.as_str()],
        TreeValue::Sequence(items) => items.iter().filter_map(Tree::text).map(Text::as_str).collect(),
        _ => return None,
    };
    let fits = words.iter().any(|word| *word == wanted || (*word == "integer" && wanted == "number"));
    if fits {
        return None;
    }
    let message = format!(
        "`{}` is of type `{}`, and its schema allows only `{}`",
        port.name.as_str(),
        port_type.word(),
        words.join("`, `")
    );
    Some(
        Diagnostic::new(codes::SCHEMA_TYPE_CONFLICT, entry.value.span, message)
            .label(port_type.span, "the port's type")
            .help(format!("write `type: {wanted}` in the schema, or change the port's type")),
    )
}
