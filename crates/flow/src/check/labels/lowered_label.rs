//! A flow does not lower a label by its own word: not of a field that the project labels, and not of an output that
//! is made of more sensitive data. The project can let an output be lower, with a reason.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::travel::Labels;
use crate::check::subject::Subject;
use crate::model::{Node, Port, Sensitivity, Text};

pub(super) fn check(subject: &Subject<'_>, labels: &Labels<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let floors = &subject.options.scopes.fields;
    for (name, level) in &subject.flow.context.sensitivity {
        if let Some(floor) = floors.get(name.as_str()).filter(|floor| level.value < **floor) {
            let message = format!(
                "the context field `{}` is {} here, and the project labels it {}",
                name.value,
                level.value.word(),
                floor.word()
            );
            let help = format!("write `{}`, or leave the field out of `sensitivity`", floor.word());
            diagnostics.push(Diagnostic::new(codes::LOWERED_LABEL, level.span, message).help(help));
        }
    }
    for node in subject.nodes() {
        let id = node.id.as_str();
        let made = labels.made.get(id);
        for port in &node.outputs {
            diagnostics.extend(lowered(subject, node, port, made.map(|label| (label.level, label.steps()))));
        }
        if let Some(port) = node.error.as_ref() {
            let failed = labels.failed.get(id);
            diagnostics.extend(lowered(
                subject,
                node,
                port,
                failed.map(|label| (label.level, label.steps())),
            ));
        }
    }
}

type Made = (Sensitivity, Vec<(Span, String)>);

fn lowered(subject: &Subject<'_>, node: &Node, port: &Port, made: Option<Made>) -> Option<Diagnostic> {
    let own = port.sensitivity?;
    let (level, steps) = made.filter(|(level, _)| *level > own.value)?;
    let flow = subject.flow.metadata.name.as_ref().map(Text::as_str);
    let (id, name) = (node.id.as_str(), port.name.as_str());
    if subject.options.scopes.declassifies(flow, id, name) {
        return None;
    }
    let message = format!(
        "`{id}.{name}` is labelled {}, and node `{id}` reads {} data",
        own.value.word(),
        level.word()
    );
    let key = format!("{}/{id}.{name}", flow.unwrap_or("FLOW"));
    let help = format!(
        "remove the label; only the project can lower it, with `\"{key}\" = \"the reason\"` under `[labels.declassify]` \
         in stave.toml"
    );
    let mut diagnostic = Diagnostic::new(codes::LOWERED_LABEL, own.span, message).help(help);
    for (span, step) in steps {
        diagnostic = diagnostic.label(span, step);
    }
    Some(diagnostic)
}
