//! What the default dialect lets pass in silence, because the specification's own examples do it. The
//! strict dialect reports it.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::context_uses;
use super::subject::Subject;
use crate::model::{BUILT_IN_CONTEXT, Node};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    if !subject.options.strict {
        return;
    }
    for node in subject.nodes() {
        let id = &node.id.value;
        if node.id_field.is_absent() {
            let message = format!("node `{id}` has no `id` field");
            diagnostics.push(
                Diagnostic::new(codes::IMPLICIT_ID, node.id.span, message)
                    .help(format!("add `id: {id}` to it")),
            );
        }
        if let (Some(prompt), true) = (node.prompt.as_ref(), node.transform.is_absent()) {
            let message = format!("node `{id}` has a `prompt` and no `transform`");
            let diagnostic = Diagnostic::new(codes::IMPLICIT_TRANSFORM, prompt.key, message);
            diagnostics.push(diagnostic.help("add a transform that returns `prompt_output`"));
        }
        if let Some(error) = node.error.as_ref().filter(|error| !error.type_written) {
            let message = format!("the error port `{}` has no `type`", error.name.as_str());
            diagnostics.push(
                Diagnostic::new(codes::UNTYPED_ERROR_PORT, error.name.span, message)
                    .help("add `type: object` to it"),
            );
        }
        if let Some(facts) = subject.code.get(node.id.as_str()).map(|code| &code.facts)
            && let Some(span) = facts.first_await.filter(|_| !facts.is_async)
        {
            let message = "`await` is used in a `def` that is not `async`, which Python itself rejects";
            diagnostics.push(
                Diagnostic::new(codes::AWAIT_IN_DEF, span, message)
                    .help("write `async def transform(inputs, context, state):`"),
            );
        }
        built_in_context(subject, node, diagnostics);
    }
}

fn built_in_context(subject: &Subject<'_>, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    for (name, span) in context_uses::of(subject, node) {
        if BUILT_IN_CONTEXT.contains(&name.as_str()) && !subject.flow.context.declares(&name) {
            let message = format!("the context field `{name}` is used without being declared");
            diagnostics.push(
                Diagnostic::new(codes::IMPLICIT_CONTEXT, span, message)
                    .help(format!("add `{name}` to `context.requires`")),
            );
        }
    }
}
