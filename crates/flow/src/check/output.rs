//! The response is built in one way: as a whole, or field by field.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::Subject;
use crate::model::{Endpoint, OUTPUT};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let flow = subject.flow;
    let ends =
        || flow.edges.iter().filter_map(|edge| edge.to.as_ref()).filter(|end| end.node.value == OUTPUT);
    let whole: Option<&Endpoint> = ends().find(|end| end.port.is_none());
    let field = ends().find(|end| end.port.is_some());
    match (whole, field) {
        (Some(whole), Some(field)) => {
            let (first, second) = if whole.span < field.span { (whole, field) } else { (field, whole) };
            let message = "the response is built as a whole and by field at once";
            diagnostics.push(
                Diagnostic::new(codes::MIXED_OUTPUT, second.span, message)
                    .label(first.span, format!("`{first}` here"))
                    .help("send every value to `_output.name`, or one whole value to `_output`"),
            );
        }
        (None, None) if !flow.nodes.is_empty() && subject.unreadable_destinations() == 0 => {
            let span = flow.metadata.name.as_ref().map_or(flow.metadata.span, |name| name.span);
            diagnostics.push(
                Diagnostic::new(codes::NO_OUTPUT, span, "no edge enters `_output`, so a run answers nothing")
                    .help("add an edge `{from: node.port, to: _output}`"),
            );
        }
        _ => {}
    }
}
