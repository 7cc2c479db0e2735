//! What a node reads, and where.

use stave_diag::Span;
use stave_operations::Descriptor;
use stave_script::Read;
use stave_script::state_key::KeySegment;

use crate::check::subject::Subject;
use crate::model::{Node, NodeStateScope, Prompt, State, Text, Transform};
use crate::yaml::Tree;

/// What a prompt puts in front of its models, each with its place: its templates, its references, and the addresses at
/// which the models are asked.
pub(super) fn of_prompt(subject: &Subject<'_>, node: &Node) -> Vec<(Read, Span)> {
    let templates = subject.templates(node).iter().flat_map(|(_, found)| found.reads.iter().cloned());
    let mut reads: Vec<(Read, Span)> = templates.collect();
    for endpoint in node.prompt.iter().flat_map(endpoints) {
        of_text(endpoint, &mut reads);
    }
    for reference in node.prompt.iter().flat_map(|prompt| prompt.context_refs.iter()) {
        of_text(reference, &mut reads);
        reads.extend(input_of(reference.as_str()).map(|read| (read, reference.span)));
    }
    reads
}

/// The input whose value a reference puts in front of the model. Where a placeholder can name it, or can make the reference
/// one to an input, that is any of them.
fn input_of(reference: &str) -> Option<Read> {
    const PREFIX: &str = "memory:";
    match reference.split_once("${") {
        Some((written, _)) => {
            (PREFIX.starts_with(written) || written.starts_with(PREFIX)).then_some(Read::EveryInput)
        }
        None => reference.strip_prefix(PREFIX).map(|input| Read::Input(input.to_owned())),
    }
}

fn endpoints(prompt: &Prompt) -> impl Iterator<Item = &Text> {
    let fallback = prompt.fallback.as_ref().and_then(|fallback| fallback.model.as_ref());
    prompt.model.iter().chain(fallback).filter_map(|model| model.endpoint.as_ref())
}

/// What the arguments of an operation read, each with its place.
pub(super) fn of_arguments(args: &Tree) -> Vec<(Read, Span)> {
    let mut reads = Vec::new();
    args.each_text(&mut |text| of_text(text, &mut reads));
    reads
}

fn of_text(text: &Text, reads: &mut Vec<(Read, Span)>) {
    let found = stave_script::reads::of_text(text.as_str()).into_iter();
    reads.extend(found.map(|(read, range)| (read, text.at(range))));
}

/// What the transform of a node reads. Code that passes `inputs` on reads all of them, and so does an operation
/// that hands on what it is given.
pub(super) fn of_transform(subject: &Subject<'_>, node: &Node) -> Vec<Read> {
    let Some(transform) = node.transform.as_ref() else { return vec![Read::Reply] };
    if let Some(operation) = transform.operation() {
        let args = operation.args.iter().flat_map(of_arguments).map(|(read, _)| read);
        let schema = transform.op().and_then(stave_operations::operation);
        let all = schema.is_none_or(Descriptor::hands_inputs_on);
        return args.chain(all.then_some(Read::EveryInput)).collect();
    }
    match subject.code.get(node.id.as_str()) {
        Some(code) => code.facts.reads.values.iter().cloned().collect(),
        None => vec![Read::EveryInput, Read::EveryContextField, Read::Reply],
    }
}

/// What the key of a node's state record is made of. A record of a session is found by the session as well.
pub(super) fn of_key(node: &Node, state: &State) -> Vec<Read> {
    let is_session = state.scope.is_some_and(|scope| scope.value == NodeStateScope::Session);
    let session = is_session.then(|| Read::Context("session_id".to_owned()));
    of_key_template(node, state.key_template()).into_iter().chain(session).collect()
}

/// What the keys of a node's state record and of its cached results are made of.
pub(super) fn of_keys(node: &Node) -> Vec<Read> {
    let state = node.state.as_ref().map(|state| of_key(node, state)).unwrap_or_default();
    let cache = node.runtime.cache.as_ref();
    let template = cache.and_then(|cache| cache.key.as_ref()).map(Text::as_str);
    // Without a key of the author's, the inputs and the context are the key.
    let whole = cache.is_some() && template.is_none();
    let keys = template.into_iter().flat_map(|key| of_key_template(node, key));
    state
        .into_iter()
        .chain(keys)
        .chain(whole.then_some([Read::EveryInput, Read::EveryContextField]).into_iter().flatten())
        .collect()
}

fn of_key_template(node: &Node, template: &str) -> Vec<Read> {
    let segments = stave_script::state_key::parse(template).unwrap_or_default();
    let read = |names: &[String]| match names {
        [first, field, ..] if first == "context" => Some(Read::Context(field.clone())),
        [first, second] if (first == "node" && second == "id") || (first == "flow" && second == "name") => {
            None
        }
        [name, ..] if node.input(name).is_some() => Some(Read::Input(name.clone())),
        [name, ..] => Some(Read::Context(name.clone())),
        [] => None,
    };
    let paths = segments.iter().filter_map(|segment| match segment {
        KeySegment::Path { names, .. } => read(names),
        KeySegment::Literal(_) => None,
    });
    paths.collect()
}

/// Whether the code of a node may read its state, and whether it may write it.
pub(super) fn state_use(subject: &Subject<'_>, node: &Node) -> (bool, bool) {
    let facts = subject.code.get(node.id.as_str()).map(|code| &code.facts);
    facts.map_or((false, false), |facts| (facts.reads.gets_state, facts.reads.sets_state))
}

/// The operation of a node, with its arguments.
pub(super) fn operation(node: &Node) -> Option<(&str, &Tree)> {
    let operation = node.transform.as_ref().and_then(Transform::operation)?;
    Some((operation.op.as_ref()?.as_str(), operation.args.as_ref()?))
}
