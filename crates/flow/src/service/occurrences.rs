//! Every place where a node, a port or a context field is named, in YAML, Jinja, Python, expressions and
//! placeholders.
//!
//! Invariant: the text of an occurrence's span is exactly the name, so replacing the spans renames.

use stave_diag::Span;
use stave_operations::ResultShape;
use stave_script::interpolation::{self, PathStep};
use stave_script::state_key::{self, KeySegment};
use stave_script::{Used, UsedPath, check_condition, check_expression, check_template, check_transform};

use super::properties::properties;
use crate::graph::{self, EdgeSource, EdgeTarget};
use crate::model::{Edge, Flow, FlowTest, INPUT, Node, OUTPUT, Port, Text, Transform};
use crate::yaml::Tree;

/// Something that has a name of its own in a flow.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    Node(String),
    Input {
        node: String,
        port: String,
    },
    /// An output or the error port of a node.
    Output {
        node: String,
        port: String,
    },
    Context(String),
    /// What a port's schema says about a part of the port's values.
    Property {
        node: String,
        port: String,
        /// Whether the port is an output or the error port.
        leaves: bool,
        /// From the value inwards, never empty.
        path: Vec<String>,
    },
}

impl Symbol {
    /// The name itself.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Symbol::Node(name) | Symbol::Context(name) => name,
            Symbol::Input { port, .. } | Symbol::Output { port, .. } => port,
            Symbol::Property { path, .. } => path.last().map(String::as_str).unwrap_or_default(),
        }
    }

    /// "input `x` of node `n`", for messages.
    #[must_use]
    pub fn described(&self) -> String {
        match self {
            Symbol::Node(name) => format!("node `{name}`"),
            Symbol::Input { node, port } => format!("input `{port}` of node `{node}`"),
            Symbol::Output { node, port } => format!("output `{port}` of node `{node}`"),
            Symbol::Context(name) => format!("context field `{name}`"),
            Symbol::Property { node, port, path, .. } => {
                format!("property `{}` of `{node}.{port}`", path.join("."))
            }
        }
    }
}

/// One place where a symbol is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    pub symbol: Symbol,
    pub span: Span,
    /// Whether it is the place where the symbol is declared.
    pub is_definition: bool,
}

/// Every occurrence in file order, each place once.
#[must_use]
pub fn occurrences(flow: &Flow, text: &str) -> Vec<Occurrence> {
    let mut finder = Finder { flow, text, found: Vec::new() };
    finder.flow();
    let mut found = finder.found;
    found.extend(properties(flow, text));
    found.sort_by_key(|occurrence| (occurrence.span, !occurrence.is_definition));
    found.dedup_by_key(|occurrence| occurrence.span);
    found
}

struct Finder<'flow> {
    flow: &'flow Flow,
    text: &'flow str,
    found: Vec<Occurrence>,
}

impl<'flow> Finder<'flow> {
    fn add(&mut self, symbol: Symbol, span: Span, is_definition: bool) {
        if let Some(span) = within(self.text, span, 0, symbol.name()) {
            self.found.push(Occurrence { symbol, span, is_definition });
        }
    }

    fn flow(&mut self) {
        let flow = self.flow;
        for field in flow.context.fields() {
            self.add(Symbol::Context(field.as_str().to_owned()), field.embedded.whole(), true);
        }
        for (field, _) in &flow.context.sensitivity {
            self.add(Symbol::Context(field.value.clone()), field.span, false);
        }
        let deployed = flow.deployment.as_ref().and_then(|deployment| deployment.context.as_ref());
        for (name, source) in deployed.iter().flat_map(|context| &context.fields) {
            if let Some(span) = within(self.text, source.span, 0, name) {
                let is_definition = !flow.context.declares(name);
                self.found.push(Occurrence { symbol: Symbol::Context(name.clone()), span, is_definition });
            }
        }
        for node in flow.nodes.values() {
            self.node(node);
        }
        for edge in &flow.edges {
            self.edge(edge);
        }
        for test in &flow.tests {
            self.test(test);
        }
    }

    /// The fields of requests, and the nodes that expectations and decisions name. Replies of models and hosts and
    /// outputs name none of them.
    fn test(&mut self, test: &'flow FlowTest) {
        let request = test.request.as_ref();
        let turns = request.map(|request| request.items().unwrap_or(std::slice::from_ref(request)));
        for entry in turns.unwrap_or_default().iter().flat_map(|turn| turn.entries().unwrap_or_default()) {
            if self.flow.context.declares(&entry.key.value) {
                self.add(Symbol::Context(entry.key.value.clone()), entry.key.span, false);
            }
        }
        let named = test.expect.iter().flat_map(|expect| expect.path.iter().chain(&expect.skipped));
        for node in named.flatten() {
            self.add(Symbol::Node(node.as_str().to_owned()), node.embedded.whole(), false);
        }
        for entry in test.decisions.as_ref().and_then(Tree::entries).unwrap_or_default() {
            self.address(&entry.key.value, entry.key.span);
        }
    }

    /// The nodes of a question's address, such as `each[3].ask`.
    fn address(&mut self, address: &str, span: Span) {
        let slice = self.text.get(span.range()).unwrap_or_default();
        let Some(mut at) = slice.find(address) else { return };
        for step in address.split('.') {
            let node = step.split_once('[').map_or(step, |(node, _)| node);
            let start = span.start as usize + at;
            if !node.is_empty() {
                let span = Span::new(span.source, start, start + node.len());
                self.add(Symbol::Node(node.to_owned()), span, false);
            }
            at += step.len() + 1;
        }
    }

    fn node(&mut self, node: &'flow Node) {
        let id = &node.id.value;
        self.add(Symbol::Node(id.clone()), node.id.span, true);
        if let Some(field) = node.id_field.as_ref().filter(|field| field.as_str() == id) {
            self.add(Symbol::Node(id.clone()), field.embedded.whole(), false);
        }
        for port in &node.inputs {
            self.add(input(node, port.name.as_str()), port.name.embedded.whole(), true);
        }
        for port in node.outputs.iter().chain(&node.error) {
            self.add(output(node, port.name.as_str()), port.name.embedded.whole(), true);
        }
        for field in &node.runtime.requires_context {
            self.add(Symbol::Context(field.as_str().to_owned()), field.embedded.whole(), false);
        }
        let keys = node.state.iter().filter_map(|state| state.key.as_ref());
        let keys = keys.chain(node.runtime.cache.iter().filter_map(|cache| cache.key.as_ref()));
        for key in keys.collect::<Vec<_>>() {
            self.key_template(node, key);
        }
        self.prompt(node);
        self.each(node);
        if let Some(transform) = node.transform.as_ref() {
            self.transform(node, transform);
        }
    }

    /// `{path}` over inputs and context fields.
    fn key_template(&mut self, node: &Node, key: &Text) {
        for segment in state_key::parse(key.as_str()).unwrap_or_default() {
            let KeySegment::Path { names, range } = segment else { continue };
            let span = key.at(range);
            match names.as_slice() {
                [root, name, ..] if root == "context" => self.context_path(span, root.len() + 1, name),
                [root, ..] if root == "node" || root == "flow" || root == "context" => {}
                [name, ..] if node.input(name).is_some() => self.add(input(node, name), span, false),
                [name, ..] => self.add(Symbol::Context(name.clone()), span, false),
                [] => {}
            }
        }
    }

    fn context_path(&mut self, span: Span, skip: usize, name: &str) {
        if let Some(span) = within(self.text, span, skip, name) {
            self.found.push(Occurrence {
                symbol: Symbol::Context(name.to_owned()),
                span,
                is_definition: false,
            });
        }
    }

    /// What `transform.each` names: the node, and its input.
    fn each(&mut self, node: &'flow Node) {
        let Some(each) = node.each() else { return };
        self.add(Symbol::Node(each.node.as_str().to_owned()), each.node.embedded.whole(), false);
        if let (Some(target), Some(port)) = (self.flow.nodes.get(each.node.as_str()), each.port)
            && target.input(port.as_str()).is_some()
        {
            self.add(input(target, port.as_str()), port.embedded.whole(), false);
        }
    }

    fn prompt(&mut self, node: &'flow Node) {
        let Some(prompt) = node.prompt.as_ref() else { return };
        let mut scope: Vec<&str> = node.inputs.iter().map(|port| port.name.as_str()).collect();
        scope.push("context");
        for text in prompt.system.iter().chain(&prompt.template) {
            for used in check_template(&text.embedded, &scope).paths {
                self.path(&used, |name| node.input(name).map(|_| input(node, name)));
            }
        }
        for tool in &prompt.tools {
            let Some(target) = tool.maps_to.as_ref() else { continue };
            self.add(Symbol::Node(target.as_str().to_owned()), target.embedded.whole(), false);
            let Some(target) = self.flow.nodes.get(target.as_str()) else { continue };
            let properties = tool.parameters.as_ref().and_then(|parameters| parameters.get("properties"));
            for entry in properties.and_then(Tree::entries).unwrap_or_default() {
                if target.input(&entry.key.value).is_some() {
                    self.add(input(target, &entry.key.value), entry.key.span, false);
                }
            }
            // A list of required parameters names them too.
            let required = tool.parameters.as_ref().and_then(|parameters| parameters.get("required"));
            for name in required.and_then(Tree::items).unwrap_or_default().iter().filter_map(Tree::text) {
                if target.input(name.as_str()).is_some() {
                    self.add(input(target, name.as_str()), name.embedded.whole(), false);
                }
            }
        }
    }

    /// A path whose root is a name of the scope or `context`.
    fn path(&mut self, used: &UsedPath, root: impl Fn(&str) -> Option<Symbol>) {
        match used.path.as_slice() {
            [first, name, ..] if first == "context" => {
                let skip = (used.root.end.saturating_sub(used.span.start)) as usize;
                self.context_path(used.span, skip, name);
            }
            [first, ..] => {
                if let Some(symbol) = root(first) {
                    self.add(symbol, used.root, false);
                }
            }
            [] => {}
        }
    }

    fn used_context(&mut self, used: &Used) {
        let slice = self.text.get(used.span.range()).unwrap_or_default();
        let skip = if slice.starts_with("context") && used.name != "context" { "context".len() } else { 0 };
        self.context_path(used.span, skip, &used.name);
    }

    fn transform(&mut self, node: &'flow Node, transform: &'flow Transform) {
        if let Some(code) = transform.code() {
            let facts = check_transform(&code.embedded, transform.key).facts;
            for used in facts.inputs.iter().filter(|used| node.input(&used.name).is_some()) {
                self.add(input(node, &used.name), used.span, false);
            }
            facts.context.iter().for_each(|used| self.used_context(used));
            for key in facts.returns.iter().flat_map(|returned| &returned.keys) {
                if node.output(&key.name).is_some() {
                    self.add(output(node, &key.name), key.span, false);
                }
            }
        }
        let Some(operation) = transform.operation() else { return };
        let Some(args) = &operation.args else { return };
        args.each_text(&mut |text| {
            let Ok(parsed) = interpolation::parse(text.as_str()) else { return };
            for path in parsed.placeholders().map(|placeholder| &placeholder.path) {
                match (path.root.as_str(), path.steps.first()) {
                    ("context", Some((PathStep::Key(name), range))) => {
                        self.context_path(text.at(range.clone()), 0, name);
                    }
                    (root, _) if node.input(root).is_some() => {
                        self.add(input(node, root), text.at(path.root_range.clone()), false);
                    }
                    _ => {}
                }
            }
        });
        if let (true, Some(ResultShape::Filled(filled))) =
            (node.outputs.len() > 1, node.descriptor().map(|operation| operation.result))
        {
            let template = args.get(filled).and_then(Tree::entries).unwrap_or_default();
            for entry in template.iter().filter(|entry| node.output(&entry.key.value).is_some()) {
                self.add(output(node, &entry.key.value), entry.key.span, false);
            }
        }
    }

    fn edge(&mut self, edge: &'flow Edge) {
        let ends = [(edge.from.as_ref(), true), (edge.to.as_ref(), false)];
        for (end, leaves) in ends {
            let Some(end) = end else { continue };
            let name = end.node.as_str();
            match (name, &end.port) {
                (INPUT, Some(port)) if leaves => {
                    self.add(Symbol::Context(port.value.clone()), port.span, false);
                }
                (INPUT | OUTPUT, _) => {}
                (_, port) => {
                    self.add(Symbol::Node(name.to_owned()), end.node.span, false);
                    if let Some(port) = port {
                        let (node, name) = (name.to_owned(), port.value.clone());
                        let symbol = if leaves {
                            Symbol::Output { node, port: name }
                        } else {
                            Symbol::Input { node, port: name }
                        };
                        self.add(symbol, port.span, false);
                    }
                }
            }
        }
        let origin = edge.from.as_ref().and_then(|end| graph::origin(self.flow, end).ok());
        let mut scope = vec!["value", "context", "outputs"];
        let own = origin.map(|origin| match origin {
            EdgeSource::Request(field) => (field, Symbol::Context(field.to_owned())),
            EdgeSource::Output(node, port) | EdgeSource::Error(node, port) => {
                (port.name.as_str(), output(node, port.name.as_str()))
            }
        });
        scope.extend(own.iter().map(|(name, _)| *name));
        let checks = edge.condition.iter().map(|text| check_condition(&text.embedded, &scope));
        let checks = checks.chain(edge.transform.iter().map(|text| check_expression(&text.embedded, &scope)));
        for check in checks.collect::<Vec<_>>() {
            for used in &check.names {
                if let Some((name, symbol)) = &own
                    && used.name == *name
                {
                    self.add(symbol.clone(), used.span, false);
                }
            }
            for used in &check.paths {
                match (used.path.as_slice(), origin.and_then(|origin| origin.node())) {
                    ([root, name, ..], Some(node)) if root == "outputs" && node.output(name).is_some() => {
                        let skip = (used.root.end.saturating_sub(used.span.start)) as usize;
                        if let Some(span) = within(self.text, used.span, skip, name) {
                            let symbol = output(node, name);
                            self.found.push(Occurrence { symbol, span, is_definition: false });
                        }
                    }
                    _ => self.path(used, |_| None),
                }
            }
        }
    }
}

/// The port that an edge enters or leaves, though the edge names only the node.
#[must_use]
pub fn default_port<'flow>(flow: &'flow Flow, edge: &'flow Edge, leaves: bool) -> Option<&'flow Port> {
    if leaves {
        graph::origin(flow, edge.from.as_ref()?).ok().and_then(|origin| origin.port())
    } else {
        match graph::destination(flow, edge.to.as_ref()?).ok()? {
            EdgeTarget::Input(_, port) => Some(port),
            _ => None,
        }
    }
}

fn input(node: &Node, port: &str) -> Symbol {
    Symbol::Input { node: node.id.value.clone(), port: port.to_owned() }
}

fn output(node: &Node, port: &str) -> Symbol {
    Symbol::Output { node: node.id.value.clone(), port: port.to_owned() }
}

/// The first place of a whole word in a span, from `skip` bytes on.
pub(super) fn within(text: &str, span: Span, skip: usize, word: &str) -> Option<Span> {
    let slice = text.get(span.range())?;
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut from = skip.min(slice.len());
    while let Some(found) = slice.get(from..)?.find(word) {
        let (start, end) = (from + found, from + found + word.len());
        let before = slice.get(..start)?.chars().next_back();
        let after = slice.get(end..)?.chars().next();
        if !before.is_some_and(is_part) && !after.is_some_and(is_part) && !word.is_empty() {
            let base = span.start as usize;
            return Some(Span::new(span.source, base + start, base + end));
        }
        from = start + slice.get(start..)?.chars().next().map_or(1, char::len_utf8);
    }
    None
}
