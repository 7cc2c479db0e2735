//! Schemas are valid JSON Schema (draft 7 unless they say otherwise), stand on their own, and allow the
//! type of their port.

use jsonschema::{Draft, Validator};
use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::subject::{Subject, tools};
use crate::model::{Port, Text};
use crate::yaml::{Tree, TreeValue};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        for port in node.inputs.iter().chain(&node.outputs).chain(&node.error) {
            if let Some(schema) = &port.schema {
                let what = format!("the schema of `{}`", port.name.as_str());
                match fault(schema, &what) {
                    Some(fault) => diagnostics.push(fault),
                    None => diagnostics.extend(type_conflict(port, schema)),
                }
            }
        }
        let output = node.prompt.as_ref().and_then(|prompt| prompt.output_schema.as_ref());
        diagnostics.extend(output.and_then(|schema| fault(schema, "`output_schema`")));
        for tool in tools(node) {
            let Some(parameters) = &tool.parameters else { continue };
            diagnostics.extend(fault(parameters, "`parameters` of the tool"));
        }
    }
}

/// A compiled schema. References may only point into the schema itself.
pub(super) fn compile(schema: &Tree) -> Option<Validator> {
    options().build(&schema.to_value().to_serde()).ok()
}

fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options().with_draft(Draft::Draft7)
}

fn fault(schema: &Tree, what: &str) -> Option<Diagnostic> {
    if !matches!(schema.value, TreeValue::Mapping(_) | TreeValue::Bool(_)) {
        let message = format!("{what} must be a mapping or a boolean, and this is {}", schema.kind());
        return Some(
            Diagnostic::new(codes::BAD_SCHEMA, schema.span, message)
                .help("write a JSON Schema, such as `{type: object}`"),
        );
    }
    if let Some((span, target)) = remote_reference(schema) {
        let message = format!("{what} refers to `{target}`, which is outside the schema");
        return Some(
            Diagnostic::new(codes::BAD_SCHEMA, span, message)
                .help("copy what it refers to under `definitions` and refer to `#/definitions/…`"),
        );
    }
    let value = schema.to_value().to_serde();
    if let Err(error) = jsonschema::draft7::meta::validate(&value) {
        let span = schema.locate(error.instance_path().as_str());
        let message = format!("{what} is not valid JSON Schema: {error}");
        return Some(Diagnostic::new(codes::BAD_SCHEMA, span, message));
    }
    let error = options().build(&value).err()?;
    let span = schema.locate(error.instance_path().as_str());
    Some(Diagnostic::new(codes::BAD_SCHEMA, span, format!("{what} can not be used: {error}")))
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

fn type_conflict(port: &Port, schema: &Tree) -> Option<Diagnostic> {
    let port_type = port.port_type.as_ref()?;
    let wanted = port_type.json_type();
    let entry = schema.entry("type")?;
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
