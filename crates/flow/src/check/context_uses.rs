//! Which context fields a node reads, by whatever language.

use stave_diag::Span;
use stave_script::interpolation::{self, PathStep};

use super::placeholders::step_span;
use super::subject::Subject;
use crate::model::{Node, Transform};

/// The names with their places, in code, arguments and templates.
pub(super) fn of(subject: &Subject<'_>, node: &Node) -> Vec<(String, Span)> {
    let mut used = Vec::new();
    if let Some(code) = subject.code.get(node.id.as_str()) {
        used.extend(code.facts.context.iter().map(|used| (used.name.clone(), used.span)));
    }
    let operation = node.transform.as_ref().and_then(Transform::operation);
    if let Some(args) = operation.and_then(|operation| operation.args.as_ref()) {
        args.each_text(&mut |text| {
            let Ok(parsed) = interpolation::parse(text.as_str()) else { return };
            for path in parsed.placeholders().map(|placeholder| &placeholder.path) {
                if let ("context", Some((PathStep::Key(name), range))) =
                    (path.root.as_str(), path.steps.first())
                {
                    used.push((name.clone(), step_span(text, range)));
                }
            }
        });
    }
    for (_, found) in subject.templates(node) {
        used.extend(found.paths.iter().filter_map(|used| match used.path.as_slice() {
            [root, name, ..] if root == "context" => Some((name.clone(), used.span)),
            _ => None,
        }));
    }
    used
}
