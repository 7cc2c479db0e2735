//! A literal template that feeds several outputs has a key for each of them.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_operations::ResultShape;

use super::subject::{Subject, listed};
use crate::model::{Node, Transform};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        diagnostics.extend(list_as_something_else(node));
    }
    for node in subject.nodes() {
        let Some(ResultShape::Filled(filled)) = node.descriptor().map(|operation| operation.result) else {
            continue;
        };
        // A single output takes the whole value, whatever its keys.
        if node.outputs.len() < 2 || !node.outputs.is_complete() {
            continue;
        }
        let operation = node.transform.as_ref().and_then(Transform::operation);
        let args = operation.and_then(|operation| operation.args.as_ref());
        let Some(template) = args.and_then(|args| args.entry(filled)) else { continue };
        let Some(keys) = template.value.entries() else { continue };
        let required = node.outputs.iter().filter(|port| port.is_required()).map(|port| port.name.as_str());
        let lacking: Vec<&str> =
            required.filter(|name| !keys.iter().any(|entry| entry.key.value == *name)).collect();
        if !lacking.is_empty() {
            let names = listed(lacking.iter().copied());
            let message = format!("the template has no {names}, which node `{}` must give", node.id.value);
            diagnostics.push(
                Diagnostic::new(codes::LACKING_OUTPUT, template.key.span, message)
                    .help("add it to the template, or mark the output `optional: true`"),
            );
        }
        for entry in keys.iter().filter(|entry| node.output(&entry.key.value).is_none()) {
            let message = format!(
                "node `{}` has no output `{}`, so the value is dropped",
                node.id.value, entry.key.value
            );
            let names = listed(node.outputs.iter().map(|port| port.name.as_str()));
            diagnostics.push(
                Diagnostic::new(codes::EXTRA_OUTPUT, entry.key.span, message)
                    .help(format!("its outputs are {names}; add one, or remove the key")),
            );
        }
    }
}

/// What filters and maps give is a list, which the only output has to take.
fn list_as_something_else(node: &Node) -> Option<Diagnostic> {
    let op = node.descriptor().filter(|operation| operation.result == ResultShape::List)?.name;
    let [port] = &*node.outputs else { return None };
    let port_type = port.port_type.as_ref().filter(|port_type| port_type.json_type() != "array")?;
    let message = format!(
        "`{op}` gives a list, and the output `{}` is of type `{}`",
        port.name.as_str(),
        port_type.word()
    );
    Some(
        Diagnostic::new(codes::INCOMPATIBLE_TYPES, port_type.span, message)
            .help("write `type: array`, or `type: table` for a list of rows"),
    )
}
