//! What a phrase means among the things of a flow.

use crate::graph;
use crate::model::{Flow, INPUT, Node, PortType, Text};
use crate::types::connection;

/// How many things a phrase can mean.
pub(super) enum Found<T> {
    None,
    One(T),
    Several(Vec<T>),
}

/// An end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Thing {
    Field(String),
    Port { node: String, port: String },
    Node(String),
    Response,
}

impl Thing {
    /// As an edge names it.
    pub(super) fn end(&self) -> String {
        match self {
            Thing::Field(name) => format!("{INPUT}.{name}"),
            Thing::Port { node, port } => format!("{node}.{port}"),
            Thing::Node(node) => node.clone(),
            Thing::Response => "_output".to_owned(),
        }
    }

    pub(super) fn node(&self) -> Option<&str> {
        match self {
            Thing::Port { node, .. } | Thing::Node(node) => Some(node),
            Thing::Field(_) | Thing::Response => None,
        }
    }

    /// The name and type of what leaves here.
    pub(super) fn name_and_type(&self, flow: &Flow) -> (String, &'static str) {
        match self {
            Thing::Field(name) => (name.clone(), "string"),
            Thing::Port { node, port } => {
                let found = flow.nodes.get(node).and_then(|node| node.output(port));
                let kind =
                    found.and_then(|port| port.port_type.as_ref()).map_or("object", |kind| kind.value.word());
                (port.clone(), kind)
            }
            Thing::Node(node) => (node.clone(), "object"),
            Thing::Response => ("response".to_owned(), "object"),
        }
    }
}

/// Words that say nothing about which thing is meant.
const EMPTY: &[&str] =
    &["the", "a", "an", "node", "step", "of", "my", "our", "its", "output", "input", "port", "call"];

/// Words for a node that asks a model.
const MODEL: &[&str] = &["llm", "model", "prompt", "ai", "gpt", "assistant"];

/// Words that mean the same, by their stems.
const SAME: &[&[&str]] = &[
    &["fetch", "read", "get", "load", "lookup", "retriev"],
    &["generat", "creat", "produc", "mak", "generation"],
    &["respons", "answer", "repl"],
    &["featur"],
    &["updat", "sav", "stor", "writ"],
    &["format"],
    &["customer", "user", "client"],
    &["conversation", "histor", "chat", "session"],
];

fn stem(word: &str) -> String {
    let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
    for ending in ["ations", "ation", "ions", "ion", "ing", "ers", "er", "es", "ed", "s", "e"] {
        if let Some(stem) = word.strip_suffix(ending).filter(|stem| stem.len() >= 4) {
            return stem.to_owned();
        }
    }
    word.to_owned()
}

fn alike(left: &str, right: &str) -> bool {
    let (left, right) = (stem(left), stem(right));
    let near = |one: &str, other: &str| one == other || (one.len() >= 4 && other.starts_with(one));
    near(&left, &right)
        || near(&right, &left)
        || SAME.iter().any(|group| {
            group.iter().any(|word| near(word, &left) || *word == left)
                && group.iter().any(|word| near(word, &right) || *word == right)
        })
}

/// The words of a phrase that carry meaning.
fn telling<'text>(words: &[&'text str]) -> Vec<&'text str> {
    let strip = |word: &'text str| word.trim_matches(['`', '"', '\'', ',']);
    words.iter().map(|word| strip(word)).filter(|word| !EMPTY.contains(word) && !word.is_empty()).collect()
}

/// How well words describe something that has these words.
fn score(words: &[&str], own: &[&str], extra: &[&str]) -> usize {
    words
        .iter()
        .map(|word| {
            if own.contains(word) {
                4
            } else if own.iter().any(|own| alike(word, own)) {
                3
            } else {
                usize::from(extra.iter().any(|extra| alike(word, extra)))
            }
        })
        .sum()
}

fn best<T: Clone>(scored: Vec<(usize, T)>) -> Found<T> {
    let top = scored.iter().map(|(score, _)| *score).max().unwrap_or(0);
    let mut found: Vec<T> =
        scored.into_iter().filter(|(score, _)| *score == top && top > 0).map(|(_, thing)| thing).collect();
    match found.len() {
        0 => Found::None,
        1 => found.pop().map_or(Found::None, Found::One),
        _ => Found::Several(found),
    }
}

/// The node that a phrase means: by its id, by what it does, or as "the LLM".
pub(super) fn node<'flow>(flow: &'flow Flow, words: &[&str]) -> Found<&'flow Node> {
    let words = telling(words);
    if let [only] = words.as_slice()
        && let Some(node) = flow.nodes.get(*only)
    {
        return Found::One(node);
    }
    let (model, words): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| MODEL.contains(word));
    let nodes = flow.nodes.values().filter(|node| model.is_empty() || node.prompt.is_read());
    let scored = nodes.map(|node| {
        let own: Vec<&str> = node.id.value.split('_').collect();
        let mut extra: Vec<&str> = node.op().map(|op| op.split(['.', '_']).collect()).unwrap_or_default();
        if node.prompt.is_read() {
            extra.push("generation");
        }
        let ports = node.outputs.iter().flat_map(|port| port.name.as_str().split('_'));
        extra.extend(ports);
        (score(&words, &own, &extra) + usize::from(!model.is_empty()), node)
    });
    best(scored.collect())
}

/// The node whose model is meant; any phrase means the only one there is.
pub(super) fn prompt_node<'flow>(flow: &'flow Flow, words: &[&str]) -> Found<&'flow Node> {
    let mut prompts = flow.nodes.values().filter(|node| node.prompt.is_read());
    match (prompts.next(), prompts.next()) {
        (None, _) => Found::None,
        (Some(only), None) => Found::One(only),
        _ => match node(flow, words) {
            Found::One(node) if !node.prompt.is_read() => Found::None,
            found => found,
        },
    }
}

fn described(words: &[&str]) -> String {
    words.join(" ")
}

/// What a phrase means as the beginning of an edge: a port, a field of the request, or a node's only output.
pub(super) fn origin(flow: &Flow, words: &[&str]) -> Result<Thing, String> {
    let told = telling(words);
    if let [only] = told.as_slice() {
        if let Some(field) = only.strip_prefix("_input.") {
            return Ok(Thing::Field(field.to_owned()));
        }
        if let Some((node, port)) = only.split_once('.') {
            return Ok(Thing::Port { node: node.to_owned(), port: port.to_owned() });
        }
    }
    let ports = flow.nodes.values().flat_map(|node| {
        node.outputs.iter().map(move |port| {
            let own: Vec<&str> = port.name.as_str().split('_').collect();
            let extra: Vec<&str> = node.id.value.split('_').collect();
            let thing = Thing::Port { node: node.id.value.clone(), port: port.name.as_str().to_owned() };
            (own, extra, thing)
        })
    });
    let fields = flow.context.fields().map(|field| {
        let own: Vec<&str> = field.as_str().split('_').collect();
        (own, vec!["request"], Thing::Field(field.as_str().to_owned()))
    });
    let scored = ports.chain(fields).map(|(own, extra, thing)| (score(&told, &own, &extra), thing)).collect();
    match best(scored) {
        Found::One(thing) => Ok(thing),
        Found::None => Err(format!("nothing that leaves a node is like \"{}\"", described(words))),
        Found::Several(things) => {
            let ends: Vec<String> = things.iter().map(Thing::end).collect();
            Err(format!("\"{}\" could be {}", described(words), ends.join(" or ")))
        }
    }
}

/// What a phrase means as the end of an edge.
pub(super) fn destination(flow: &Flow, words: &[&str]) -> Result<Thing, String> {
    let told = telling(words);
    match told.as_slice() {
        ["_output" | "result" | "caller"] | ["final", "response"] => return Ok(Thing::Response),
        [] if words.contains(&"output") => return Ok(Thing::Response),
        [only] => {
            if let Some((node, port)) = only.split_once('.') {
                return Ok(Thing::Port { node: node.to_owned(), port: port.to_owned() });
            }
        }
        _ => {}
    }
    match node(flow, words) {
        Found::One(node) => Ok(Thing::Node(node.id.value.clone())),
        Found::None => Err(format!("no node is like \"{}\"", described(words))),
        Found::Several(nodes) => {
            let ids: Vec<&str> = nodes.iter().map(|node| node.id.as_str()).collect();
            Err(format!("\"{}\" could be {}", described(words), ids.join(" or ")))
        }
    }
}

/// The port of a node that takes what an origin gives: the one of the same name, or the only one that fits
/// and is free. `Err(None)` when there is none.
pub(super) fn entry(flow: &Flow, origin: &Thing, destination: &Thing) -> Result<String, Option<String>> {
    let id = match destination {
        Thing::Port { node, port } => return Ok(format!("{node}.{port}")),
        Thing::Node(id) => id,
        Thing::Response | Thing::Field(_) => return Ok("_output".to_owned()),
    };
    let Some(node) = flow.nodes.get(id) else { return Err(Some(format!("there is no node `{id}`"))) };
    let (name, kind) = origin.name_and_type(flow);
    if node.input(&name).is_some() {
        return Ok(format!("{id}.{name}"));
    }
    let fed: Vec<String> = graph::connected(flow)
        .iter()
        .filter(|edge| edge.destination.node().is_some_and(|target| target.id.value == *id))
        .filter_map(|edge| edge.destination.port().map(|port| port.name.as_str().to_owned()))
        .collect();
    let from = PortType::from_word(kind);
    let free = node.inputs.iter().filter(|port| {
        let fits = match (from, &port.port_type) {
            (Some(from), Some(to)) => connection(from, to.value).is_some(),
            _ => false,
        };
        fits && !fed.iter().any(|fed| fed == port.name.as_str())
    });
    let names: Vec<&str> = free.map(|port| Text::as_str(&port.name)).collect();
    match names.as_slice() {
        [only] => Ok(format!("{id}.{only}")),
        [] => Err(None),
        several => Err(Some(format!("it could enter {} of node `{id}`", several.join(" or ")))),
    }
}
