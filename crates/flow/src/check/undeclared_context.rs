//! Context fields are declared: those a node says it needs, and by [`Subject::undeclared_context`] those that other
//! rules find in edges, templates, arguments and code.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span, did_you_mean};

use super::subject::Subject;
use crate::model::{BUILT_IN_CONTEXT, Text};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        for field in &node.runtime.requires_context {
            diagnostics.extend(subject.undeclared_context(field.as_str(), field.span));
        }
    }
}

impl Subject<'_> {
    /// Whether a context field can be read: declared, always there, or filled by the deployment.
    pub(super) fn has_context(&self, name: &str) -> bool {
        let deployed = self.flow.deployment.as_ref().and_then(|deployment| deployment.context.as_ref());
        self.declared.contains(name)
            || BUILT_IN_CONTEXT.contains(&name)
            || deployed.is_some_and(|context| context.fields.contains_key(name))
    }

    /// Whether every field of the context is known: those that are declared, and those that the deployment fills.
    pub(super) fn knows_context(&self) -> bool {
        let deployment = &self.flow.deployment;
        let deployed = deployment.as_ref().is_some_and(|deployment| deployment.context.is_unreadable());
        self.flow.context.is_complete() && !deployment.is_unreadable() && !deployed
    }

    /// A report that a context field is not declared, unless it is or may be.
    pub(super) fn undeclared_context(&self, name: &str, span: Span) -> Option<Diagnostic> {
        if self.has_context(name) || !self.knows_context() {
            return None;
        }
        let message = format!("the context has no field `{name}`");
        let diagnostic = Diagnostic::new(codes::UNDECLARED_CONTEXT, span, message);
        let declared = self.flow.context.fields().map(Text::as_str).chain(BUILT_IN_CONTEXT);
        Some(match did_you_mean(name, declared) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic
                .label(self.flow.context.span, "the fields are declared here")
                .help(format!("add `{name}` to `context.requires` or `context.optional`")),
        })
    }
}
