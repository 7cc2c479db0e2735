//! Names of nodes, ports and context fields follow one pattern and take no reserved word.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Fix, Span};

use super::subject::Subject;
use crate::model::Port;

/// Names that a placeholder, a template or code reads as something else.
const RESERVED_PORTS: [&str; 3] = ["context", "secrets", "prompt_output"];

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for field in subject.flow.context.fields() {
        diagnostics.extend(pattern("context field", field.as_str(), field.span));
    }
    for node in subject.nodes() {
        diagnostics.extend(pattern("node", &node.id, node.id.span));
        if let Some(id) = node.id_field.as_ref()
            && id.as_str() != node.id.value
        {
            let message = format!("the id `{}` differs from the node's key `{}`", id.as_str(), node.id.value);
            diagnostics.push(
                Diagnostic::new(codes::ID_MISMATCH, id.span, message)
                    .label(node.id.span, "the key is the id")
                    .help("remove the `id` field, or make it repeat the key")
                    .fix(Fix::replace("repeat the key", id.embedded.whole(), node.id.value.clone())),
            );
        }
        let inputs = node.inputs.iter().map(|port| ("input", port));
        let outputs = node.outputs.iter().map(|port| ("output", port));
        let error = node.error.iter().map(|port| ("error port", port));
        for (what, port) in inputs.chain(outputs).chain(error) {
            diagnostics.extend(port_name(what, port));
        }
    }
}

fn port_name(what: &str, port: &Port) -> Option<Diagnostic> {
    let name = port.name.as_str();
    if RESERVED_PORTS.contains(&name) {
        let message = format!("the {what} cannot be named `{name}`, which has a meaning of its own");
        let help = format!("choose another name, such as `{name}_value`");
        return Some(Diagnostic::new(codes::RESERVED_NAME, port.name.span, message).help(help));
    }
    pattern(what, name, port.name.span)
}

/// Small letters, digits and underscores, beginning with a letter.
fn pattern(what: &str, name: &str, span: Span) -> Option<Diagnostic> {
    let mut bytes = name.bytes();
    let fits = bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|next| next.is_ascii_lowercase() || next.is_ascii_digit() || next == b'_');
    if fits {
        return None;
    }
    let why = if name.starts_with('_') {
        "names with a leading `_` are reserved"
    } else {
        "it must match `[a-z][a-z0-9_]*`"
    };
    let diagnostic =
        Diagnostic::new(codes::BAD_NAME, span, format!("the {what} `{name}` has a bad name: {why}"));
    let legal: String = name
        .chars()
        .map(|next| if next.is_ascii_alphanumeric() { next.to_ascii_lowercase() } else { '_' })
        .collect();
    let legal = legal.trim_start_matches(|first: char| !first.is_ascii_lowercase());
    Some(if legal.is_empty() { diagnostic } else { diagnostic.help(format!("name it `{legal}`")) })
}
