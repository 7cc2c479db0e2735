//! Steps of a workflow that send labelled data to somebody who may not have it.
//!
//! Receivers that only the run decides on, and models, are held to their scope by the run.

use stave_diag::codes::flow::SENSITIVE_DATA_LEAK;
use stave_diag::{Diagnostic, SourceId, Span};
use stave_exec::dataflow::Origin;
use stave_exec::{Document, DocumentNode};
use stave_flow::Scopes;
use stave_flow::model::Sensitivity;
use stave_operations::{Receiver, step_kind};
use stave_script::address::written_host;

use crate::hold_to_labels::of_workflow;

/// What is wrong with the document of a workflow whose text this is.
#[must_use]
pub fn workflow_leaks(document: &Document, source: SourceId, text: &str, scopes: &Scopes) -> Vec<Diagnostic> {
    let Some(most) = scopes.fields.values().copied().max() else { return Vec::new() };
    let nodes = &document.graph.nodes;
    let found = of_workflow(&document.graph, &scopes.fields, most);
    let leaks = nodes.iter().filter_map(|node| {
        let level = found.of_step(&node.id);
        let (name, takes) = receiver(node, scopes)?;
        if level <= takes {
            return None;
        }
        let message = format!(
            "{} data reaches {name} in step `{}`, which takes {} data at most",
            level.word(),
            node.id,
            takes.word()
        );
        let help = "leave it out of the arguments, or name the receiver under `[accepts]` in stave.toml";
        Some(Diagnostic::new(SENSITIVE_DATA_LEAK, place(node, source, text), message).help(help))
    });
    leaks.collect()
}

/// Who gets the arguments of a step; none when the step works inside the run.
fn receiver(node: &DocumentNode, scopes: &Scopes) -> Option<(String, Sensitivity)> {
    let text = |name: &str| node.with.get(name).and_then(|value| value.as_str()).map(str::trim);
    let host = |name: &str| {
        let host = text(name).and_then(written_host);
        let shown = host.as_ref().map_or_else(
            || "a host that only the run decides".to_owned(),
            |host| format!("the host `{}`", host.name()),
        );
        (shown, scopes.host(host.as_ref()))
    };
    Some(match step_kind(&node.kind)?.receiver {
        Receiver::Host { address } => host(address),
        Receiver::FeatureStore { .. } => ("the feature store".to_owned(), scopes.store("features")),
        Receiver::Tool { server, tool } => {
            let name = format!("{}/{}", text(server).unwrap_or_default(), text(tool).unwrap_or_default());
            (format!("the tool `{name}`"), scopes.tool(&name))
        }
        Receiver::Nobody | Receiver::Model => return None,
    })
}

/// The line of a step, from where it begins.
fn place(node: &DocumentNode, source: SourceId, text: &str) -> Span {
    let Some(origin) = Origin::of(&node.extra) else { return Span::new(source, 0, 0) };
    let before = usize::try_from(origin.line).unwrap_or(1).saturating_sub(1);
    let start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let indent = line.len() - line.trim_start().len();
    Span::new(source, start + indent, start + line.len())
}
