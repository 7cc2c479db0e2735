//! Tools have names of their own and are answered by a node that can take their arguments, or by a
//! server.

use std::collections::{HashMap, HashSet};

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::schemas::JSON_TYPES;
use super::subject::{Subject, suggest, tools};
use crate::model::{Node, PortType, Readable, Text, ToolDeclaration};
use crate::yaml::{Tree, TreeValue};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut looped: HashSet<String> = HashSet::new();
    for node in subject.nodes() {
        let mut names: HashMap<&str, Span> = HashMap::new();
        for tool in tools(node) {
            if let Some(name) = &tool.name
                && let Some(first) = names.insert(name.as_str(), name.span)
            {
                let message = format!("the prompt has two tools named `{}`", name.as_str());
                diagnostics.push(
                    Diagnostic::new(codes::DUPLICATE_TOOL, name.span, message).label(first, "the first one"),
                );
            }
            match (&tool.maps_to, &tool.mcp) {
                (Readable::Read(target), _) => mapped(subject, node, tool, target, &mut looped, diagnostics),
                (Readable::Absent, Readable::Absent) => diagnostics.extend(unanswered(node, tool)),
                (Readable::Absent, Readable::Read(_) | Readable::Unreadable) | (Readable::Unreadable, _) => {}
            }
        }
    }
}

fn mapped(
    subject: &Subject<'_>,
    caller: &Node,
    tool: &ToolDeclaration,
    target: &Text,
    looped: &mut HashSet<String>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let id = target.as_str();
    let Some(node) = subject.flow.nodes.get(id) else {
        if subject.flow.nodes.is_unreadable(id) {
            return;
        }
        let message = format!("the tool leads to `{id}`, and there is no such node");
        let known: Vec<&str> =
            subject.nodes().map(|node| node.id.as_str()).filter(|id| *id != caller.id.value).collect();
        let diagnostic = Diagnostic::new(codes::UNKNOWN_TOOL_TARGET, target.span, message);
        diagnostics
            .push(suggest(diagnostic, id, target.span, &known, |listed| format!("use one of {listed}")));
        return;
    };
    let caller_id = caller.id.as_str();
    let reason = if id == caller_id {
        Some(format!("node `{id}` would call itself"))
    } else if subject.leads_to(caller_id, id, false) {
        Some(format!("node `{id}` waits for what `{caller_id}` makes, and `{caller_id}` would call it"))
    } else if subject.leads_to(id, caller_id, true) {
        // NodeMap that call each other in a circle are one loop, told at its first call.
        if looped.contains(id) || looped.contains(caller_id) {
            return;
        }
        looped.extend([id.to_owned(), caller_id.to_owned()]);
        Some(format!("node `{caller_id}` waits for what `{id}` makes, and would call it too"))
    } else {
        None
    };
    if let Some(reason) = reason {
        diagnostics.push(
            Diagnostic::new(codes::TOOL_LOOP, target.span, reason)
                .help("let the tool lead to a node of its own, on no path with the caller"),
        );
        return;
    }
    parameters(node, tool, diagnostics);
}

/// Arguments travel to the inputs of the same name.
fn parameters(node: &Node, tool: &ToolDeclaration, diagnostics: &mut Vec<Diagnostic>) {
    let written = tool.parameters.as_ref().and_then(|parameters| parameters.get("type")).and_then(Tree::text);
    if let Some(written) =
        written.filter(|written| written.as_str() != "object" && JSON_TYPES.contains(&written.as_str()))
    {
        let message = format!("the tool takes `{}`, and arguments come as an object", written.as_str());
        diagnostics.push(
            Diagnostic::new(codes::TOOL_PARAMETER, written.span, message)
                .help("write `type: object` with a property for each argument"),
        );
        return;
    }
    let properties = tool.parameters.as_ref().and_then(|parameters| parameters.get("properties"));
    for entry in properties.and_then(Tree::entries).unwrap_or_default() {
        let name = entry.key.as_str();
        let Some(port) = node.input(name) else {
            if !node.inputs.is_complete() {
                continue;
            }
            let message =
                format!("the tool's parameter `{name}` is not an input of node `{}`", node.id.value);
            let known: Vec<&str> = node.inputs.iter().map(|port| port.name.as_str()).collect();
            let diagnostic = Diagnostic::new(codes::TOOL_PARAMETER, entry.key.span, message);
            diagnostics.push(suggest(diagnostic, name, entry.key.span, &known, |listed| {
                match known.as_slice() {
                    [] => "remove it; the node has no inputs".to_owned(),
                    _ => format!("its inputs are {listed}"),
                }
            }));
            continue;
        };
        let written = entry.value.get("type").and_then(Tree::text);
        let (Some(written), Some(port_type)) = (written, &port.port_type) else { continue };
        let wanted = port_type.json_type();
        let given = written.as_str();
        // A number or a boolean is printed on its way into a text.
        let fits = given == wanted
            || (given == "integer" && wanted == "number")
            || (wanted == "string" && matches!(given, "number" | "integer" | "boolean"));
        if !fits {
            let message = format!(
                "the tool's parameter `{name}` is `{given}`, and the input takes `{}`",
                port_type.word()
            );
            diagnostics.push(
                Diagnostic::new(codes::TOOL_PARAMETER, written.span, message)
                    .label(port_type.span, "the input's type")
                    .help(format!("write `type: {wanted}`, or change the input's type")),
            );
        }
    }
}

/// Without anyone to answer, the calls end the turn and must have a place in the output.
fn unanswered(node: &Node, tool: &ToolDeclaration) -> Option<Diagnostic> {
    let closed = |schema: &Tree| {
        matches!(schema.get("additionalProperties").map(|tree| &tree.value), Some(TreeValue::Bool(false)))
            && schema.get("properties").and_then(|properties| properties.get("tool_calls")).is_none()
    };
    let room = node.outputs.iter().any(|port| {
        port.port_type.is_some_and(|port_type| port_type.value == PortType::Object)
            && !port.schema.as_ref().is_some_and(closed)
    });
    if room || !node.outputs.is_complete() {
        return None;
    }
    let name = tool.name.as_ref()?;
    let message =
        format!("nothing answers the tool `{}`, and no output has room for its calls", name.as_str());
    Some(
        Diagnostic::new(codes::UNANSWERED_TOOL, name.span, message).help(
            "add `maps_to` with a node's id, or an output of type `object` with a `tool_calls` property",
        ),
    )
}
