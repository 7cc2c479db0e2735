//! The walk over two values.

use stave_canon::{Object, Value};

use super::{ChangeKind, Diff, FlowChange, FlowPart};
use crate::edit::{Step, identity, steps};

pub(super) fn compare(before: &Value, after: &Value) -> Diff {
    let mut before = before.clone();
    let mut comparison = Comparison { diff: Diff::default(), path: Vec::new() };
    for (from, to) in renamed(&before, after) {
        comparison.diff.changes.push(FlowChange {
            kind: ChangeKind::Renamed,
            part: FlowPart::Node,
            path: format!("/nodes/{to}"),
            before: Some(Value::from(from.as_str())),
            after: Some(Value::from(to.as_str())),
        });
        rename(&mut before, &from, &to);
    }
    comparison.value(&before, after);
    comparison.diff
}

struct Comparison {
    diff: Diff,
    path: Vec<String>,
}

impl Comparison {
    fn value(&mut self, before: &Value, after: &Value) {
        if before == after {
            return;
        }
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => self.objects(before, after),
            (Value::Array(before), Value::Array(after)) => self.lists(before, after),
            _ => self.report(ChangeKind::Changed, Some(before), Some(after)),
        }
    }

    fn objects(&mut self, before: &Object, after: &Object) {
        for (key, old) in before {
            self.path.push(key.clone());
            match after.get(key) {
                Some(new) => self.value(old, new),
                None => self.report(ChangeKind::Removed, Some(old), None),
            }
            self.path.pop();
        }
        for (key, new) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
            self.path.push(key.clone());
            self.report(ChangeKind::Added, None, Some(new));
            self.path.pop();
        }
    }

    fn lists(&mut self, before: &[Value], after: &[Value]) {
        // An item that only moved within its list is no difference of edges and ports, which have names.
        let named = before.iter().chain(after).all(|item| identity(item).is_some());
        if named {
            for old in before {
                let new = after.iter().find(|new| identity(new) == identity(old));
                self.step(old, |this| match new {
                    Some(new) => this.value(old, new),
                    None => this.report(ChangeKind::Removed, Some(old), None),
                });
            }
            for new in after.iter().filter(|new| !before.iter().any(|old| identity(old) == identity(new))) {
                self.step(new, |this| this.report(ChangeKind::Added, None, Some(new)));
            }
            return;
        }
        for step in steps(before, after) {
            let (index, old, new) = match step {
                Step::Keep { old, new } => (new, before.get(old), after.get(new)),
                Step::Remove { old } => (old, before.get(old), None),
                Step::Insert { new } => (new, None, after.get(new)),
            };
            self.path.push(index.to_string());
            match (old, new) {
                (Some(old), Some(new)) => self.value(old, new),
                (old, new) => {
                    let kind = if old.is_some() { ChangeKind::Removed } else { ChangeKind::Added };
                    self.report(kind, old, new);
                }
            }
            self.path.pop();
        }
    }

    fn step(&mut self, item: &Value, visit: impl FnOnce(&mut Self)) {
        self.path.push(identity(item).unwrap_or_default());
        visit(self);
        self.path.pop();
    }

    fn report(&mut self, kind: ChangeKind, before: Option<&Value>, after: Option<&Value>) {
        let steps: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let path: String =
            self.path.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect();
        let change =
            FlowChange { kind, part: part(&steps), path, before: before.cloned(), after: after.cloned() };
        match steps.as_slice() {
            ["nodes", _, "position", ..] => self.diff.layout.push(change),
            ["metadata", name] if name.ends_with("_at") => self.diff.layout.push(change),
            // The `id` field repeats the key and says nothing of its own.
            ["nodes", id, "id"] => {
                let repeats = |value: Option<&Value>| value.is_none_or(|value| value.as_str() == Some(id));
                let list = if repeats(before) && repeats(after) {
                    &mut self.diff.layout
                } else {
                    &mut self.diff.changes
                };
                list.push(change);
            }
            _ => self.diff.changes.push(change),
        }
    }
}

fn part(steps: &[&str]) -> FlowPart {
    match steps {
        ["metadata" | "version", ..] => FlowPart::Metadata,
        ["context", ..] => FlowPart::Context,
        ["edges", ..] => FlowPart::Edge,
        ["deployment", ..] => FlowPart::Deployment,
        ["nodes"] | ["nodes", _] => FlowPart::Node,
        ["nodes", _, "inputs" | "outputs" | "error", ..] => FlowPart::Port,
        ["nodes", _, "prompt", ..] => FlowPart::Prompt,
        ["nodes", _, "transform", ..] => FlowPart::Transform,
        ["nodes", _, "state", ..] => FlowPart::State,
        ["nodes", _, "runtime", ..] => FlowPart::Runtime,
        ["nodes", ..] => FlowPart::Node,
        _ => FlowPart::Other,
    }
}

/// Nodes that are gone and came back under another id with the same body.
pub(crate) fn renamed(before: &Value, after: &Value) -> Vec<(String, String)> {
    let nodes = |flow: &Value| flow.get("nodes").and_then(Value::as_object).cloned().unwrap_or_default();
    let (old, new) = (nodes(before), nodes(after));
    let mut taken: Vec<&str> = Vec::new();
    let mut pairs = Vec::new();
    for (from, body) in old.iter().filter(|(id, _)| !new.contains_key(*id)) {
        let body = bare(body);
        let found = new.iter().find(|(id, other)| {
            !old.contains_key(*id) && !taken.contains(&id.as_str()) && bare(other) == body
        });
        if let Some((to, _)) = found {
            taken.push(to);
            pairs.push((from.clone(), to.clone()));
        }
    }
    pairs
}

/// A node's body without what follows its id or its place on the canvas.
fn bare(node: &Value) -> Value {
    let mut node = node.clone();
    if let Some(fields) = node.as_object_mut() {
        fields.shift_remove("id");
        fields.shift_remove("position");
    }
    node
}

/// Renames a node in a value: its key, the ends of edges, and tools that lead to it.
fn rename(flow: &mut Value, from: &str, to: &str) {
    let Some(flow) = flow.as_object_mut() else { return };
    if let Some(nodes) = flow.get_mut("nodes").and_then(Value::as_object_mut) {
        if let Some((index, _, mut body)) = nodes.shift_remove_full(from) {
            if let Some(id) = body.as_object_mut().and_then(|body| body.get_mut("id")) {
                *id = Value::from(to);
            }
            nodes.shift_insert(index.min(nodes.len()), to.to_owned(), body);
        }
        for node in nodes.values_mut() {
            if let Some(target) = item_node(node).filter(|target| target.as_str() == Some(from)) {
                *target = Value::from(to);
            }
            let tools = node.as_object_mut().and_then(|node| node.get_mut("prompt"));
            let tools = tools.and_then(Value::as_object_mut).and_then(|prompt| prompt.get_mut("tools"));
            let Some(Value::Array(tools)) = tools else { continue };
            for target in tools.iter_mut().filter_map(|tool| tool.as_object_mut()?.get_mut("maps_to")) {
                if target.as_str() == Some(from) {
                    *target = Value::from(to);
                }
            }
        }
    }
    if let Some(Value::Array(tests)) = flow.get_mut("tests") {
        tests.iter_mut().for_each(|test| rename_in_test(test, from, to));
    }
    let Some(Value::Array(edges)) = flow.get_mut("edges") else { return };
    for edge in edges.iter_mut().filter_map(Value::as_object_mut) {
        for end in ["from", "to"] {
            let Some(Value::String(text)) = edge.get_mut(end) else { continue };
            if text == from {
                to.clone_into(text);
            } else if let Some(port) = text.strip_prefix(from).and_then(|rest| rest.strip_prefix('.')) {
                *text = format!("{to}.{port}");
            }
        }
    }
}

/// Renames a node in what a test expects and decides.
fn rename_in_test(test: &mut Value, from: &str, to: &str) {
    let Some(test) = test.as_object_mut() else { return };
    if let Some(expect) = test.get_mut("expect").and_then(Value::as_object_mut) {
        for list in ["path", "skipped"] {
            let Some(Value::Array(nodes)) = expect.get_mut(list) else { continue };
            for node in nodes.iter_mut().filter(|node| node.as_str() == Some(from)) {
                *node = Value::from(to);
            }
        }
    }
    let Some(decisions) = test.get_mut("decisions").and_then(Value::as_object_mut) else { return };
    let renamed = |address: &str| {
        let step = |step: &str| match step.strip_prefix(from) {
            Some(rest) if rest.is_empty() || rest.starts_with('[') => format!("{to}{rest}"),
            _ => step.to_owned(),
        };
        address.split('.').map(step).collect::<Vec<_>>().join(".")
    };
    *decisions = std::mem::take(decisions)
        .into_iter()
        .map(|(address, decision)| (renamed(&address), decision))
        .collect();
}

/// The id of the node that a node runs for every item of a list.
fn item_node(node: &mut Value) -> Option<&mut Value> {
    let spec =
        node.as_object_mut()?.get_mut("transform")?.as_object_mut()?.get_mut("spec")?.as_object_mut()?;
    let is_each = spec.get("op").and_then(Value::as_str) == Some(stave_operations::TRANSFORM_EACH.name);
    spec.get_mut("args").filter(|_| is_each)?.as_object_mut()?.get_mut("node")
}
