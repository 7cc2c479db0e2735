//! Prompt templates and system texts are Jinja over the node's inputs and the context.

use stave_diag::Diagnostic;

use super::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for (_, found) in subject.nodes().flat_map(|node| subject.templates(node)) {
        for used in &found.paths {
            if let [root, name, ..] = used.path.as_slice()
                && root == "context"
            {
                diagnostics.extend(subject.undeclared_context(name, used.span));
            }
        }
        diagnostics.extend(found.diagnostics.iter().cloned());
    }
}
