//! Port names are unique in each direction; the error port shares the outputs' names.

use std::collections::HashMap;

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Severity, Span};

use super::subject::Subject;
use crate::model::Port;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        unique("input", &node.id, node.inputs.iter(), diagnostics);
        unique("output", &node.id, node.outputs.iter().chain(&node.error), diagnostics);
    }
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for field in subject.flow.context.fields() {
        if let Some(first) = seen.insert(field.as_str(), field.span) {
            let message = format!("the context declares `{}` twice", field.as_str());
            diagnostics.push(
                Diagnostic::new(codes::DUPLICATE_PORT, field.span, message)
                    .severity(Severity::Warning)
                    .label(first, "it is declared here first")
                    .help("keep it in `requires` or in `optional`, not in both"),
            );
        }
    }
}

fn unique<'flow>(
    direction: &str,
    node: &str,
    ports: impl Iterator<Item = &'flow Port>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for port in ports {
        let name = port.name.as_str();
        match seen.get(name) {
            Some(first) => diagnostics.push(
                Diagnostic::new(
                    codes::DUPLICATE_PORT,
                    port.name.span,
                    format!("node `{node}` has two {direction} ports named `{name}`"),
                )
                .label(*first, "the first one")
                .help("remove one of the two or rename it"),
            ),
            None => {
                seen.insert(name, port.name.span);
            }
        }
    }
}
