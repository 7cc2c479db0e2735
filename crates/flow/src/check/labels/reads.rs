//! What a node reads, and where.

use stave_diag::Span;
use stave_script::interpolation::{self, PathStep};
use stave_script::python::StateMethod;

use crate::check::subject::Subject;
use crate::model::{Node, Text, Transform};
use crate::yaml::Tree;

/// A value that a text reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Read {
    Input(String),
    Context(String),
    /// What the node's own model answered.
    Reply,
}

/// What the templates of a node's prompt put in front of its model, each with its place.
pub(super) fn of_prompt(subject: &Subject<'_>, node: &Node) -> Vec<(Read, Span)> {
    let paths = subject.templates(node).iter().flat_map(|(_, found)| &found.paths);
    let reads = paths.filter_map(|used| match used.path.as_slice() {
        [root, name, ..] if root == "context" => Some((Read::Context(name.clone()), used.span)),
        [root, ..] => Some((Read::Input(root.clone()), used.span)),
        [] => None,
    });
    reads.collect()
}

/// What the arguments of an operation read, each with its place.
pub(super) fn of_arguments(args: &Tree) -> Vec<(Read, Span)> {
    let mut reads = Vec::new();
    args.each_text(&mut |text| of_text(text, &mut reads));
    reads
}

fn of_text(text: &Text, reads: &mut Vec<(Read, Span)>) {
    let Ok(parsed) = interpolation::parse(text.as_str()) else { return };
    for placeholder in parsed.placeholders() {
        let span = text.at(placeholder.range.clone());
        let read = match (placeholder.path.root.as_str(), placeholder.path.steps.first()) {
            ("context", Some((PathStep::Key(name), _))) => Read::Context(name.clone()),
            ("secrets" | "context", _) => continue,
            ("prompt_output", _) => Read::Reply,
            (root, _) => Read::Input(root.to_owned()),
        };
        reads.push((read, span));
    }
}

/// What the transform of a node reads. Code that passes `inputs` on reads all of them.
pub(super) fn of_transform(subject: &Subject<'_>, node: &Node) -> Vec<Read> {
    let Some(transform) = &node.transform else { return vec![Read::Reply] };
    if let Some(args) = transform.operation().and_then(|operation| operation.args.as_ref()) {
        return of_arguments(args).into_iter().map(|(read, _)| read).collect();
    }
    let Some(code) = subject.code.get(node.id.as_str()) else { return Vec::new() };
    let facts = &code.facts;
    let named = facts.inputs.iter().map(|used| match used.name.as_str() {
        "prompt_output" => Read::Reply,
        name => Read::Input(name.to_owned()),
    });
    let mut reads: Vec<Read> = named.collect();
    if !facts.inputs_complete {
        reads.extend(node.inputs.iter().map(|port| Read::Input(port.name.as_str().to_owned())));
        reads.push(Read::Reply);
    }
    reads.extend(facts.context.iter().map(|used| Read::Context(used.name.clone())));
    if !facts.context_complete {
        let fields = subject.flow.context.fields();
        reads.extend(fields.map(|field| Read::Context(field.as_str().to_owned())));
    }
    reads
}

/// Whether the code of a node may read its state, and whether it may write it.
pub(super) fn state_use(subject: &Subject<'_>, node: &Node) -> (bool, bool) {
    let Some(facts) = subject.code.get(node.id.as_str()).map(|code| &code.facts) else {
        return (false, false);
    };
    let any = |wanted: fn(StateMethod) -> bool| {
        !facts.state_complete || facts.state.iter().any(|used| wanted(used.method))
    };
    (any(|method| method == StateMethod::Get), any(|method| method != StateMethod::Get))
}

/// The address that an operation calls, when it calls one.
pub(super) fn address(node: &Node) -> Option<&Text> {
    let operation = node.transform.as_ref().and_then(Transform::operation)?;
    let op = operation.op.as_ref()?.as_str();
    if !op.starts_with("http.") {
        return None;
    }
    operation.args.as_ref()?.get("url")?.text()
}
