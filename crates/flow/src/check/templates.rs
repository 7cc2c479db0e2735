//! Prompt templates and system texts are Jinja over the node's inputs and the context.

use stave_diag::Diagnostic;
use stave_script::check_template;

use super::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(prompt) = &node.prompt else { continue };
        let mut scope: Vec<&str> = node.inputs.iter().map(|port| port.name.as_str()).collect();
        scope.push("context");
        for text in prompt.system.iter().chain(&prompt.template) {
            let found = check_template(&text.embedded, &scope);
            for used in &found.paths {
                if let [root, name, ..] = used.path.as_slice()
                    && root == "context"
                {
                    diagnostics.extend(subject.undeclared_context(name, used.span));
                }
            }
            diagnostics.extend(found.diagnostics);
        }
    }
}
