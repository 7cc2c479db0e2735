//! What could be written at a place.

use stave_diag::SourceId;
use stave_operations::operations;

use super::cursor::{cursor, holds, innermost, shape_at};
use super::words::{self, Word, word};
use crate::model::{Flow, Node, Text};
use crate::shape::Holds;
use crate::yaml::TreeValue;

/// Something to offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What is shown and, with what is behind it, written.
    pub label: String,
    pub insert: String,
    pub detail: String,
    pub kind: CompletionKind,
    /// The bytes that it replaces.
    pub start: usize,
    pub end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    Field,
    Value,
    Operation,
    Port,
    Variable,
}

/// Everything that could be written at an offset, in the order of the format or the file.
#[must_use]
pub fn completions(text: &str, offset: usize) -> Vec<Completion> {
    let offset = text.floor_char_boundary(offset);
    let parsed = crate::parse(SourceId(0), text);
    // A line that is being written often breaks the text; the rest of it still shows what there is.
    let parsed =
        if parsed.flow.is_some() { parsed } else { crate::parse(SourceId(0), &without_line(text, offset)) };
    let Some(flow) = parsed.flow else { return top_level(text, offset) };
    if let Some(tree) = &parsed.tree
        && let (path, value) = innermost(tree, offset)
        && let TreeValue::String(inner) = &value.value
        && let Some(found) = embedded(text, offset, &flow, &path, inner)
    {
        return found;
    }
    outer(text, offset, &flow)
}

fn without_line(text: &str, offset: usize) -> String {
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[offset..].find('\n').map_or(text.len(), |newline| offset + newline);
    format!("{}{}", &text[..start], &text[end..])
}

/// The start of the word that ends at an offset.
fn word_start(text: &str, offset: usize, is_part: impl Fn(char) -> bool) -> usize {
    let before = &text[..offset];
    before.len()
        - before.chars().rev().take_while(|letter| is_part(*letter)).map(char::len_utf8).sum::<usize>()
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn is_dotted(letter: char) -> bool {
    is_name(letter) || matches!(letter, '.' | '-')
}

fn offered(
    text: &str,
    offset: usize,
    words: Vec<Word>,
    kind: CompletionKind,
    is_part: impl Fn(char) -> bool,
) -> Vec<Completion> {
    let start = word_start(text, offset, is_part);
    words
        .into_iter()
        .map(|word| Completion {
            label: word.text.clone(),
            insert: word.text,
            detail: word.detail,
            kind,
            start,
            end: offset,
        })
        .collect()
}

fn top_level(text: &str, offset: usize) -> Vec<Completion> {
    keys(text, offset, &[], None)
}

/// The keys of the structure at a path, without those that are there.
fn keys(text: &str, offset: usize, path: &[String], flow: Option<&Flow>) -> Vec<Completion> {
    let mut words: Vec<Word> = Vec::new();
    if let Some(shape) = shape_at(path) {
        words.extend(shape.fields.iter().map(|field| word(field.name, field.summary)));
    } else if let (Some(Holds::Arguments), Some(flow), ["nodes", id, ..]) =
        (holds(path), flow, path.iter().map(String::as_str).collect::<Vec<_>>().as_slice())
        && path.last().is_some_and(|last| last == "args")
        && let Some(operation) = flow.nodes.get(*id).and_then(Node::descriptor)
    {
        words.extend(operation.arguments.iter().map(|argument| word(argument.name, argument.summary)));
    }
    let mut found = offered(text, offset, words, CompletionKind::Field, is_dotted);
    for completion in &mut found {
        completion.insert.push_str(": ");
    }
    found
}

fn outer(text: &str, offset: usize, flow: &Flow) -> Vec<Completion> {
    let place = cursor(text, offset);
    let path: Vec<&str> = place.path.iter().map(String::as_str).collect();
    let line = text[..offset].rsplit('\n').next().unwrap_or_default();
    // A quote that is still open keeps the text from being read, but not its line.
    if let Some((_, typed)) = line.split_once(": ").filter(|_| !place.in_key)
        && typed.starts_with(['"', '\''])
        && let Some(words) = inside(typed, flow, &place.path)
    {
        return offered(text, offset, words, CompletionKind::Variable, is_name);
    }
    let value = |words, kind| offered(text, offset, words, kind, is_dotted);
    if place.in_key {
        if let [.., "requires_context", "-"] = path.as_slice() {
            return value(words::context_fields(flow), CompletionKind::Variable);
        }
        return keys(text, offset, &place.path, Some(flow));
    }
    match path.as_slice() {
        [.., "spec", "op"] => {
            let words = operations().map(|operation| word(operation.name, operation.summary)).collect();
            value(words, CompletionKind::Operation)
        }
        ["edges", "-", "from"] => value(words::origins(flow), CompletionKind::Port),
        ["edges", "-", "to"] => value(words::destinations(flow), CompletionKind::Port),
        ["nodes", own, .., "maps_to"] => {
            let ids = flow.nodes.keys().filter(|id| id != own).map(|id| word(id, "node")).collect();
            value(ids, CompletionKind::Variable)
        }
        [.., "requires_context"] => value(words::context_fields(flow), CompletionKind::Variable),
        _ => {
            let words = match holds(&place.path) {
                Some(Holds::Word(words) | Holds::Words(words)) => {
                    words.iter().map(|text| word(*text, "")).collect()
                }
                Some(Holds::Boolean) => ["true", "false"].map(|text| word(text, "")).to_vec(),
                Some(Holds::Version) => {
                    ["\"1.0\"", "\"1.1\""].map(|text| word(text, "the version of the format")).to_vec()
                }
                _ => Vec::new(),
            };
            value(words, CompletionKind::Value)
        }
    }
}

/// What could be written inside a template, code, an expression or a placeholder. `None` when the text is
/// an ordinary value.
fn embedded(
    text: &str,
    offset: usize,
    flow: &Flow,
    path: &[String],
    inner: &Text,
) -> Option<Vec<Completion>> {
    let start = inner.span.start as usize;
    let words = inside(text.get(start..offset)?, flow, path)?;
    Some(offered(text, offset, words, CompletionKind::Variable, is_name))
}

/// The words for a text at a path, of which `before` precedes the cursor.
fn inside(before: &str, flow: &Flow, path: &[String]) -> Option<Vec<Word>> {
    let steps: Vec<&str> = path.iter().map(String::as_str).collect();
    let node = match steps.as_slice() {
        ["nodes", id, ..] => flow.nodes.get(*id),
        _ => None,
    };
    match (steps.as_slice(), node) {
        (["nodes", _, "prompt", "template" | "system"], Some(node)) => template(before, flow, node),
        (["nodes", _, "transform", "spec"], Some(node)) => code(before, flow, node),
        (["nodes", _, "transform", "spec", "args", ..], Some(node)) => placeholder(before, flow, node),
        (["nodes", _, "state" | "runtime", .., "key"], Some(node)) => key(before, flow, node),
        (["edges", "-", "condition" | "transform"], _) => Some(expression(before, flow)),
        _ => None,
    }
}

/// The dotted path that ends at the cursor, without the word that is being written.
fn chain(before: &str) -> Vec<&str> {
    let start = word_start(before, before.len(), |letter| is_name(letter) || letter == '.');
    let mut parts: Vec<&str> = before[start..].split('.').collect();
    parts.pop();
    parts
}

fn members(before: &str, flow: &Flow, node: &Node) -> Option<Vec<Word>> {
    match chain(before).as_slice() {
        [] => None,
        ["context"] => Some(words::context_fields(flow)),
        [root] => Some(node.input(root).map(words::properties).unwrap_or_default()),
        _ => Some(Vec::new()),
    }
}

fn template(before: &str, flow: &Flow, node: &Node) -> Option<Vec<Word>> {
    let opened = before.rfind("{{").max(before.rfind("{%"))?;
    let closed = before.rfind("}}").max(before.rfind("%}"));
    if closed.is_some_and(|closed| closed > opened) {
        return None;
    }
    Some(members(before, flow, node).unwrap_or_else(|| {
        let mut words = words::inputs(node);
        words.push(word("context", "the request's context"));
        words
    }))
}

fn placeholder(before: &str, flow: &Flow, node: &Node) -> Option<Vec<Word>> {
    let opened = before.rfind("${")?;
    if before.rfind('}').is_some_and(|closed| closed > opened) {
        return None;
    }
    Some(members(before, flow, node).unwrap_or_else(|| {
        let mut words = words::inputs(node);
        words.push(word("context", "the request's context"));
        words.push(word("secrets", "values that are never logged"));
        if node.prompt.is_read() {
            words.push(word("prompt_output", "what the model answered"));
        }
        words
    }))
}

fn key(before: &str, flow: &Flow, node: &Node) -> Option<Vec<Word>> {
    let opened = before.rfind('{')?;
    if before.rfind('}').is_some_and(|closed| closed > opened) {
        return None;
    }
    Some(members(before, flow, node).unwrap_or_else(|| {
        let mut words = words::inputs(node);
        words.extend(words::context_fields(flow));
        words.push(word("node.id", "the node's id"));
        words
    }))
}

/// Python: keys of `inputs`, fields of `context`, methods of `state`.
fn code(before: &str, flow: &Flow, node: &Node) -> Option<Vec<Word>> {
    let start = word_start(before, before.len(), is_name);
    let head = &before[..start];
    let quoted = ["inputs['", "inputs[\"", "inputs.get('", "inputs.get(\""];
    if quoted.iter().any(|opening| head.ends_with(opening)) {
        let mut words = words::inputs(node);
        if node.prompt.is_read() {
            words.push(word("prompt_output", "what the model answered"));
        }
        return Some(words);
    }
    if head.ends_with("context.") || head.ends_with("context.get('") || head.ends_with("context.get(\"") {
        return Some(words::context_fields(flow));
    }
    if head.ends_with("state.") {
        let methods =
            [("get", "get(field, default)"), ("set", "set(field, value)"), ("delete", "delete(field)")];
        return Some(methods.map(|(name, detail)| word(name, detail)).to_vec());
    }
    let line = head.rsplit('\n').next().unwrap_or_default();
    if line.contains("return {") && (head.ends_with('\'') || head.ends_with('"')) {
        let outputs = node.outputs.iter();
        return Some(outputs.map(|port| word(port.name.as_str(), words::type_word(port))).collect());
    }
    Some(Vec::new())
}

fn expression(before: &str, flow: &Flow) -> Vec<Word> {
    match chain(before).as_slice() {
        ["context"] => words::context_fields(flow),
        [] => vec![
            word("value", "what travels on the edge"),
            word("outputs", "all outputs of the node it leaves"),
            word("context", "the request's context"),
        ],
        _ => Vec::new(),
    }
}
