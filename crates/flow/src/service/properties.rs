//! The properties that schemas declare, and where paths into a value name them.
//!
//! A property belongs to the port whose schema describes it. An input without a schema of its own has the
//! properties of the only port that feeds it.

use std::collections::HashMap;

use stave_diag::Span;
use stave_script::interpolation::{self, PathStep};
use stave_script::{UsedPath, check_condition, check_expression, check_template};

use super::occurrences::{Occurrence, Symbol, within};
use crate::graph::{self, Connected, EdgeSource};
use crate::model::{Edge, Flow, Node, Port, Readable, Text, Transform};
use crate::yaml::Tree;

/// A port with the schema that describes its values.
#[derive(Clone, Copy)]
pub(super) struct Described<'flow> {
    pub(super) node: &'flow Node,
    pub(super) port: &'flow Port,
    pub(super) leaves: bool,
    pub(super) schema: &'flow Tree,
}

impl<'flow> Described<'flow> {
    fn symbol(&self, path: &[&str]) -> Symbol {
        Symbol::Property {
            node: self.node.id.value.clone(),
            port: self.port.name.as_str().to_owned(),
            leaves: self.leaves,
            path: path.iter().map(|step| (*step).to_owned()).collect(),
        }
    }

    /// What the schema says about the value at a path of properties.
    pub(super) fn at(&self, path: &[String]) -> Option<&'flow Tree> {
        path.iter().try_fold(self.schema, |schema, step| schema.get("properties")?.get(step))
    }
}

/// Every place that names a property.
pub(super) fn properties(flow: &Flow, text: &str) -> Vec<Occurrence> {
    let mut finder = Finder { text, found: Vec::new() };
    let edges = graph::connected(flow);
    let fed = feeders(&edges);
    for node in flow.nodes.values() {
        for described in ports(node) {
            finder.declared(&described, described.schema, &mut Vec::new(), true);
        }
        if let Some((described, answer)) = answer(node) {
            let is_second = described.port.schema.is_some();
            finder.declared(&described, answer, &mut Vec::new(), !is_second);
        }
        let input = |name: &str| of_input(node, name, &fed);
        finder.templates(node, input);
        finder.placeholders(node, input);
    }
    for connected in &edges {
        if let EdgeSource::Output(node, port) = connected.origin
            && let Some(described) = of_output(node, port)
        {
            finder.edge(connected.edge, &described);
        }
    }
    finder.found
}

/// The port that a property belongs to, by its symbol's parts.
pub(super) fn owner<'flow>(
    flow: &'flow Flow,
    node: &str,
    port: &str,
    leaves: bool,
) -> Option<Described<'flow>> {
    let node = flow.nodes.get(node)?;
    if leaves {
        of_output(node, node.output(port).or_else(|| node.error_port(port))?)
    } else {
        of_port(node, node.input(port)?, false)
    }
}

fn of_port<'flow>(node: &'flow Node, port: &'flow Port, leaves: bool) -> Option<Described<'flow>> {
    Some(Described { node, port, leaves, schema: port.schema.as_ref()? })
}

/// An output has the schema of its prompt's answer when it has none of its own.
fn of_output<'flow>(node: &'flow Node, port: &'flow Port) -> Option<Described<'flow>> {
    of_port(node, port, true).or_else(|| {
        answer(node)
            .map(|(described, _)| described)
            .filter(|described| described.port.name.as_str() == port.name.as_str())
    })
}

/// The only output of a prompt without a transform, with the schema of the answer.
fn answer(node: &Node) -> Option<(Described<'_>, &Tree)> {
    let answer = node.prompt.as_ref().filter(|_| node.transform.is_absent())?.output_schema.as_ref()?;
    let [port] = &*node.outputs else { return None };
    let schema = port.schema.as_ref().unwrap_or(answer);
    Some((Described { node, port, leaves: true, schema }, answer))
}

fn ports(node: &Node) -> impl Iterator<Item = Described<'_>> {
    let inputs = node.inputs.iter().map(|port| (port, false));
    let outputs = node.outputs.iter().chain(&node.error).map(|port| (port, true));
    inputs.chain(outputs).filter_map(|(port, leaves)| of_port(node, port, leaves))
}

type Feeders<'flow> = HashMap<(&'flow str, &'flow str), Option<Described<'flow>>>;

/// The described port that feeds each input; absent where several do, or a transform is between.
fn feeders<'flow>(edges: &[Connected<'flow>]) -> Feeders<'flow> {
    let mut fed: Feeders<'flow> = HashMap::new();
    for connected in edges {
        let (Some(node), Some(port)) = (connected.destination.node(), connected.destination.port()) else {
            continue;
        };
        let from = match (connected.origin, &connected.edge.transform) {
            (EdgeSource::Output(node, port), Readable::Absent) => of_output(node, port),
            _ => None,
        };
        fed.entry((node.id.as_str(), port.name.as_str())).and_modify(|known| *known = None).or_insert(from);
    }
    fed
}

fn of_input<'flow>(node: &'flow Node, name: &str, fed: &Feeders<'flow>) -> Option<Described<'flow>> {
    let port = node.input(name)?;
    of_port(node, port, false).or_else(|| fed.get(&(node.id.as_str(), port.name.as_str())).copied().flatten())
}

struct Finder<'text> {
    text: &'text str,
    found: Vec<Occurrence>,
}

impl Finder<'_> {
    fn add(&mut self, symbol: Symbol, span: Span, is_definition: bool) {
        self.found.push(Occurrence { symbol, span, is_definition });
    }

    /// The keys under `properties` and the names under `required`, at any depth.
    fn declared<'tree>(
        &mut self,
        described: &Described<'_>,
        schema: &'tree Tree,
        path: &mut Vec<&'tree str>,
        is_definition: bool,
    ) {
        let properties = schema.get("properties").and_then(Tree::entries).unwrap_or_default();
        for entry in properties {
            path.push(entry.key.as_str());
            if let Some(span) = within(self.text, entry.key.span, 0, entry.key.as_str()) {
                self.add(described.symbol(path), span, is_definition);
            }
            self.declared(described, &entry.value, path, is_definition);
            path.pop();
        }
        let required = schema.get("required").and_then(Tree::items).unwrap_or_default();
        for name in required.iter().filter_map(Tree::text) {
            if properties.iter().any(|entry| entry.key.value == name.as_str()) {
                path.push(name.as_str());
                self.add(described.symbol(path), name.embedded.whole(), false);
                path.pop();
            }
        }
    }

    fn templates<'flow>(&mut self, node: &'flow Node, input: impl Fn(&str) -> Option<Described<'flow>>) {
        let Some(prompt) = node.prompt.as_ref() else { return };
        let mut scope: Vec<&str> = node.inputs.iter().map(|port| port.name.as_str()).collect();
        scope.push("context");
        for text in prompt.system.iter().chain(&prompt.template) {
            for used in check_template(&text.embedded, &scope).paths {
                if let Some(described) = used.path.first().and_then(|root| input(root)) {
                    self.path(&described, &used);
                }
            }
        }
    }

    fn placeholders<'flow>(&mut self, node: &'flow Node, input: impl Fn(&str) -> Option<Described<'flow>>) {
        let operation = node.transform.as_ref().and_then(Transform::operation);
        let Some(args) = operation.and_then(|operation| operation.args.as_ref()) else { return };
        args.each_text(&mut |text: &Text| {
            let Ok(parsed) = interpolation::parse(text.as_str()) else { return };
            for path in parsed.placeholders().map(|placeholder| &placeholder.path) {
                let Some(described) = input(&path.root) else { continue };
                let mut names: Vec<&str> = Vec::new();
                for (step, range) in &path.steps {
                    let PathStep::Key(key) = step else { break };
                    names.push(key);
                    if described.at(&owned(&names)).is_none() {
                        break;
                    }
                    if let Some(span) = within(self.text, text.at(range.clone()), 0, key) {
                        self.add(described.symbol(&names), span, false);
                    }
                }
            }
        });
    }

    fn edge(&mut self, edge: &Edge, described: &Described<'_>) {
        let name = described.port.name.as_str();
        let scope = ["value", "context", "outputs", name];
        let checks = edge.condition.iter().map(|text| check_condition(&text.embedded, &scope));
        let checks = checks.chain(edge.transform.iter().map(|text| check_expression(&text.embedded, &scope)));
        for check in checks.collect::<Vec<_>>() {
            for used in &check.paths {
                if used.path.first().is_some_and(|root| root == "value" || root == name) {
                    self.path(described, used);
                }
            }
        }
    }

    /// The steps of a path behind its root, as far as the schema names them.
    fn path(&mut self, described: &Described<'_>, used: &UsedPath) {
        let mut skip = used.root.end.saturating_sub(used.span.start) as usize;
        let mut names: Vec<&str> = Vec::new();
        for step in used.path.iter().skip(1) {
            names.push(step);
            if described.at(&owned(&names)).is_none() {
                return;
            }
            let Some(span) = within(self.text, used.span, skip, step) else { return };
            skip = span.end.saturating_sub(used.span.start) as usize;
            self.add(described.symbol(&names), span, false);
        }
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
