//! What differs between two documents, by node and edge rather than by line.

use stave_canon::Value;

use crate::wdl::{WdlPolicy, bake};
use crate::{Document, DocumentEdge, DocumentNode};

/// The difference from one document to another. The time of generation is not part of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocumentDiff {
    pub added_nodes: Vec<String>,
    pub removed_nodes: Vec<String>,
    pub changed_nodes: Vec<ChangedNode>,
    pub added_edges: Vec<String>,
    pub removed_edges: Vec<String>,
    /// JSON pointers to everything else that differs, such as `/constants/policyRef`.
    pub other: Vec<String>,
}

/// A node that both documents have, with pointers from it to what differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedNode {
    pub id: String,
    pub pointers: Vec<String>,
}

impl DocumentDiff {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == DocumentDiff::default()
    }
}

/// Compares two documents.
#[must_use]
pub fn diff(before: &Document, after: &Document) -> DocumentDiff {
    let mut difference = DocumentDiff::default();
    for node in &after.graph.nodes {
        match before.node(&node.id) {
            None => difference.added_nodes.push(node.id.clone()),
            Some(earlier) if earlier != node => {
                let mut pointers = Vec::new();
                compare(&node_value(earlier), &node_value(node), "", &mut pointers);
                difference.changed_nodes.push(ChangedNode { id: node.id.clone(), pointers });
            }
            Some(_) => {}
        }
    }
    let removed = before.graph.nodes.iter().filter(|node| after.node(&node.id).is_none());
    difference.removed_nodes = removed.map(|node| node.id.clone()).collect();
    difference.added_edges = missing(&after.graph.edges, &before.graph.edges);
    difference.removed_edges = missing(&before.graph.edges, &after.graph.edges);
    compare(&frame(before), &frame(after), "", &mut difference.other);
    difference
}

/// Compares what two workflows compile to. The place of a step or a statement in its file is not a difference.
#[must_use]
pub fn diff_workflows(before: &Document, after: &Document) -> DocumentDiff {
    diff(&without_places(before), &without_places(after))
}

/// Compares two policies by what they decide: pointers into the baked policy. Where a statement stands is no difference.
#[must_use]
pub fn diff_policies(before: &WdlPolicy, after: &WdlPolicy) -> Vec<String> {
    let baked = |policy: &WdlPolicy| {
        let mut value = Value::Object(bake(policy, "", ""));
        remove_places(&mut value);
        value.pointer("/policy").cloned().unwrap_or_default()
    };
    let mut pointers = Vec::new();
    compare(&baked(before), &baked(after), "", &mut pointers);
    pointers
}

fn without_places(document: &Document) -> Document {
    let mut document = document.clone();
    document.metadata.source_file = String::new();
    for node in &mut document.graph.nodes {
        node.extra.shift_remove("origin");
    }
    let mut policy = Value::Object(std::mem::take(&mut document.constants.policy));
    remove_places(&mut policy);
    if let Value::Object(policy) = policy {
        document.constants.policy = policy;
    }
    document
}

/// Takes the places out of a baked policy: those of its statements and options, and the name of its file.
fn remove_places(baked: &mut Value) {
    let Some(policy) = baked.as_object_mut().and_then(|baked| baked.get_mut("policy")) else { return };
    let Some(policy) = policy.as_object_mut() else { return };
    policy.shift_remove("metadata");
    let params = policy.get_mut("params").and_then(Value::as_object_mut);
    if let Some(Value::Array(statements)) = params.and_then(|params| params.get_mut("evaluate")) {
        statements.iter_mut().for_each(remove_statement_places);
    }
}

fn remove_statement_places(statement: &mut Value) {
    let Some(statement) = statement.as_object_mut() else { return };
    for key in ["line", "column", "filename"] {
        statement.shift_remove(key);
    }
    for key in ["then", "else", "options"] {
        if let Some(Value::Array(statements)) = statement.get_mut(key) {
            statements.iter_mut().for_each(remove_statement_places);
        }
    }
}

/// The edges of one list that the other does not have, each as often as it is missing.
fn missing(edges: &[DocumentEdge], others: &[DocumentEdge]) -> Vec<String> {
    let mut left: Vec<&DocumentEdge> = others.iter().collect();
    let mut missing = Vec::new();
    for edge in edges {
        match left.iter().position(|other| *other == edge) {
            Some(index) => {
                left.swap_remove(index);
            }
            None => missing.push(edge_name(edge)),
        }
    }
    missing
}

/// An edge as people write it: the ends with their ports, and when it is taken.
#[must_use]
pub fn edge_name(edge: &DocumentEdge) -> String {
    let port = |key: &str| match edge.extra.get(key).and_then(Value::as_str) {
        Some(port) => format!(".{port}"),
        None => String::new(),
    };
    let mut name = format!("{}{} -> {}{}", edge.from, port("from_port"), edge.to, port("to_port"));
    if edge.on != crate::On::Success {
        name.push_str(&format!(" on {}", edge.on.word()));
    }
    for key in ["case", "condition", "transform"] {
        if let Some(value) = edge.extra.get(key).and_then(Value::as_str) {
            name.push_str(&format!(" {key} {value:?}"));
        }
    }
    if edge.extra.get("else") == Some(&Value::Bool(true)) {
        name.push_str(" else");
    }
    name
}

fn node_value(node: &DocumentNode) -> Value {
    stave_shape::Shape::write(node)
}

/// A document without its graph and its time.
fn frame(document: &Document) -> Value {
    let mut value = crate::to_value(document);
    if let Some(object) = value.as_object_mut() {
        object.shift_remove("graph");
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("generated_at");
        }
    }
    value
}

/// Pointers to the smallest parts that differ. Lists are compared as wholes.
fn compare(before: &Value, after: &Value, at: &str, pointers: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
            for key in keys {
                let pointer = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (before.get(key), after.get(key)) {
                    (Some(before), Some(after)) => compare(before, after, &pointer, pointers),
                    _ => pointers.push(pointer),
                }
            }
        }
        (before, after) if before != after => pointers.push(at.to_owned()),
        _ => {}
    }
}
