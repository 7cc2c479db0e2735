//! Code defines `transform`, and reads and returns what its node has.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Severity};
use stave_script::python::TransformFacts;

use super::subject::{Subject, listed, suggest};
use crate::model::Node;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(code) = subject.code.get(node.id.as_str()) else { continue };
        diagnostics.extend(code.diagnostics.iter().cloned());
        inputs(node, &code.facts, diagnostics);
        for used in &code.facts.context {
            diagnostics.extend(subject.undeclared_context(&used.name, used.span));
        }
        outputs(node, &code.facts, diagnostics);
        if node.state.is_absent()
            && let Some(used) = code.facts.state.first()
        {
            let message = format!("the code uses `state`, and node `{}` has none", node.id.value);
            diagnostics.push(
                Diagnostic::new(codes::STATE_NOT_CONFIGURED, used.span, message)
                    .label(node.id.span, "the node")
                    .help("add `state: {scope: request}` or `state: {scope: session}` to the node"),
            );
        }
    }
}

fn inputs(node: &Node, facts: &TransformFacts, diagnostics: &mut Vec<Diagnostic>) {
    for used in &facts.inputs {
        let name = used.name.as_str();
        let is_reply = name == "prompt_output" && !node.prompt.is_absent();
        if node.input(name).is_some() || is_reply || !node.inputs.is_complete() {
            continue;
        }
        let message = format!("node `{}` has no input `{name}`", node.id.value);
        let mut known: Vec<&str> = node.inputs.iter().map(|port| port.name.as_str()).collect();
        if node.prompt.is_read() {
            known.push("prompt_output");
        }
        let diagnostic = Diagnostic::new(codes::UNKNOWN_INPUT, used.span, message);
        let mut diagnostic = suggest(diagnostic, name, used.span, &known, |listed| match known.as_slice() {
            [] => format!("add an input `{name}` to the node, which has none"),
            _ => format!("use {listed}, or add an input `{name}` to the node"),
        });
        // The place may cover the quotes, so replacing it by a name is not certain to be right.
        diagnostic.fix = None;
        if used.optional {
            diagnostic.severity = Severity::Warning;
        }
        diagnostics.push(diagnostic);
    }
}

fn outputs(node: &Node, facts: &TransformFacts, diagnostics: &mut Vec<Diagnostic>) {
    if !node.outputs.is_complete() {
        return;
    }
    for returned in &facts.returns {
        for key in returned.keys.iter().filter(|key| node.output(&key.name).is_none()) {
            let message =
                format!("node `{}` has no output `{}`, so the value is dropped", node.id.value, key.name);
            let names = listed(node.outputs.iter().map(|port| port.name.as_str()));
            diagnostics.push(
                Diagnostic::new(codes::EXTRA_OUTPUT, key.span, message)
                    .help(format!("return {names}, or add an output `{}`", key.name)),
            );
        }
        if !returned.complete {
            continue;
        }
        let lacking: Vec<&str> = node
            .outputs
            .iter()
            .filter(|port| port.is_required())
            .map(|port| port.name.as_str())
            .filter(|name| !returned.keys.iter().any(|key| key.name == *name))
            .collect();
        if !lacking.is_empty() {
            let message = format!(
                "the code returns without {}, which node `{}` must give",
                listed(lacking.iter().copied()),
                node.id.value
            );
            diagnostics.push(
                Diagnostic::new(codes::LACKING_OUTPUT, returned.span, message)
                    .help("return it here too, or mark the output `optional: true`"),
            );
        }
    }
}
