//! The requests of HTTP operations: an address that says where it leads, and headers that a flow may set.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_operations::ArgumentKind;
use stave_script::header_names::{is_of_the_client, is_token};
use stave_script::url_template;

use super::subject::Subject;
use crate::model::Transform;
use crate::yaml::Tree;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(operation) = node.transform.as_ref().and_then(Transform::operation) else { continue };
        let (Some(descriptor), Some(args)) = (node.descriptor(), &operation.args) else { continue };
        for argument in descriptor.arguments {
            let Some(tree) = args.get(argument.name) else { continue };
            match argument.kind {
                ArgumentKind::Url => diagnostics.extend(address(tree)),
                ArgumentKind::Headers => diagnostics.extend(headers(tree)),
                _ => {}
            }
        }
    }
}

/// A malformed placeholder is reported as such elsewhere.
fn address(tree: &Tree) -> Option<Diagnostic> {
    let text = tree.text()?;
    stave_script::interpolation::parse(text.as_str()).ok()?;
    let error = url_template::check(text.as_str()).err()?;
    let message = format!("the address {error}");
    Some(
        Diagnostic::new(codes::BAD_ADDRESS, tree.span, message)
            .help("write it as `https://host/path`, or let one `${…}` be the whole address"),
    )
}

fn headers(tree: &Tree) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for entry in tree.entries().unwrap_or_default() {
        let name = entry.key.as_str();
        if is_of_the_client(name) {
            let message = format!("the header `{name}` is set by the client, not by a flow");
            found.push(Diagnostic::new(codes::BAD_HEADER, entry.key.span, message).help("remove it"));
        } else if !is_token(name) {
            let message = format!("`{name}` is not the name of a header");
            let help = "write letters, digits and `-`";
            found.push(Diagnostic::new(codes::BAD_HEADER, entry.key.span, message).help(help));
        }
        let is_sendable = |next: char| !next.is_control() || next == '\t';
        if entry.value.text().is_some_and(|text| !text.as_str().chars().all(is_sendable)) {
            let message = format!("the value of `{name}` has a line break or a control character");
            let help = "write it on one line";
            found.push(Diagnostic::new(codes::BAD_HEADER, entry.value.span, message).help(help));
        }
    }
    found
}
