//! What `transform.each` runs is a node of its own, which has an input for the item.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::{Subject, listed, suggest};
use crate::model::{Each, Node, Text};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for (caller, each) in subject.nodes().filter_map(|node| Some((node, node.each()?))) {
        let id = each.node.as_str();
        let Some(node) = subject.flow.nodes.get(id) else {
            if subject.flow.nodes.is_unreadable(id) {
                continue;
            }
            let message = format!("`transform.each` runs `{id}`, and there is no such node");
            let known: Vec<&str> =
                subject.nodes().map(|node| node.id.as_str()).filter(|id| *id != caller.id.value).collect();
            let diagnostic = Diagnostic::new(codes::UNKNOWN_TOOL_TARGET, each.node.span, message);
            let diagnostic =
                suggest(diagnostic, id, each.node.span, &known, |listed| format!("use one of {listed}"));
            diagnostics.push(diagnostic);
            continue;
        };
        let caller_id = caller.id.as_str();
        if id == caller_id || subject.leads_to(caller_id, id, false) || subject.leads_to(id, caller_id, true)
        {
            let message = format!("node `{caller_id}` runs `{id}` itself, and edges join the two as well");
            diagnostics.push(
                Diagnostic::new(codes::TOOL_LOOP, each.node.span, message)
                    .help("let it run a node of its own, on no path with the caller"),
            );
            continue;
        }
        diagnostics.extend(port(subject, node, each));
    }
}

/// The input that takes the item, when it cannot be found.
fn port(subject: &Subject<'_>, node: &Node, each: Each<'_>) -> Option<Diagnostic> {
    let known: Vec<&str> = node.inputs.iter().map(|port| port.name.as_str()).collect();
    if let Some(port) = each.port {
        let name = port.as_str();
        if known.contains(&name) || !node.inputs.is_complete() {
            return None;
        }
        let message = format!("node `{}` has no input `{name}` that could take the item", node.id.value);
        let diagnostic = Diagnostic::new(codes::TOOL_PARAMETER, port.span, message);
        return Some(suggest(diagnostic, name, port.span, &known, |listed| {
            format!("its inputs are {listed}")
        }));
    }
    // An input or an edge that cannot be read may decide which input is left for the item.
    let is_certain = node.inputs.is_complete() && subject.unreadable_destinations() == 0;
    if item_port(subject, node, each).is_some() || !is_certain {
        return None;
    }
    let unfed = unfed(subject, node);
    let message = match unfed.as_slice() {
        [] => format!("every input of node `{}` is fed, and none is left for the item", node.id.value),
        several => {
            format!("the item could go to {} of node `{}`", listed(several.iter().copied()), node.id.value)
        }
    };
    let diagnostic = Diagnostic::new(codes::TOOL_PARAMETER, each.node.span, message);
    Some(diagnostic.help("name the input with `port`"))
}

/// The input of the node that takes the item: the one that is named, or the one that nothing else feeds.
pub(super) fn item_port<'flow>(
    subject: &Subject<'flow>,
    node: &'flow Node,
    each: Each<'flow>,
) -> Option<&'flow str> {
    match (each.port.map(Text::as_str), unfed(subject, node).as_slice()) {
        (Some(port), _) => Some(port),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

fn unfed<'flow>(subject: &Subject<'flow>, node: &'flow Node) -> Vec<&'flow str> {
    let fed = |name: &str| subject.arrivals(&node.id, name).next().is_some();
    node.inputs.iter().map(|port| port.name.as_str()).filter(|name| !fed(name)).collect()
}
