//! A flow as the graph that the studio draws: nodes with ports, edges with ids, and where all of it stands.

use std::collections::{HashMap, HashSet};

use stave_canon::{Object, Value};
use stave_diag::{Diagnostic, Severity, Span};
use stave_flow::graph::{self, Connected, EdgeSource, EdgeTarget, Unresolved};
use stave_flow::model::{Edge, Endpoint, Flow, INPUT, Node, NodeStateScope, OUTPUT, Port, Sensitivity, Text};
use stave_flow::types::{Connection, connection};

use super::findings::node_of;
use super::layout;
use super::places::Places;
use crate::api::Cast;

/// A node and perhaps a port of it.
type End = (String, Option<String>);

/// Where an edge begins and ends.
type Ends = (End, End);

/// A flow with what was found in it.
pub(super) struct Graph<'f> {
    flow: &'f Flow,
    diagnostics: &'f [Diagnostic],
    places: &'f Places,
    connected: Vec<Connected<'f>>,
}

impl<'f> Graph<'f> {
    pub(super) fn new(flow: &'f Flow, diagnostics: &'f [Diagnostic], places: &'f Places) -> Graph<'f> {
        Graph { flow, diagnostics, places, connected: graph::connected(flow) }
    }

    pub(super) fn to_value(&self) -> Value {
        let layout = layout::layout(self.flow);
        let at = |id: &str| layout.at.get(id).map_or(Value::Null, |(x, y)| point(*x, *y));
        let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
        for found in self.diagnostics {
            let Some(node) = node_of(found, self.flow) else { continue };
            count(counts.entry(node).or_default(), found.severity);
        }
        let fed = self.fed_ports();
        let mut nodes = vec![self.input(at(INPUT))];
        for node in self.flow.nodes.values() {
            let counted = counts.get(node.id.as_str()).copied().unwrap_or_default();
            nodes.push(self.node(node, at(node.id.as_str()), counted, &fed));
        }
        nodes.push(self.output(at(OUTPUT)));
        Value::from_iter([
            ("nodes", Value::Array(nodes)),
            ("edges", Value::Array(self.edges())),
            ("width", layout.width.into()),
            ("height", layout.height.into()),
        ])
    }

    /// The ports that an edge is at: node, port, and whether it is an output.
    fn fed_ports(&self) -> HashSet<(&'f str, &'f str, bool)> {
        let mut fed = HashSet::new();
        for edge in &self.connected {
            if let (Some(node), Some(port)) = (edge.origin.node(), edge.origin.port()) {
                fed.insert((node.id.as_str(), port.name.as_str(), true));
            }
            if let (Some(node), Some(port)) = (edge.destination.node(), edge.destination.port()) {
                fed.insert((node.id.as_str(), port.name.as_str(), false));
            }
        }
        fed
    }

    fn input(&self, layout: Value) -> Value {
        let fields = request(self.flow, &self.connected);
        let used: HashSet<&str> = self
            .connected
            .iter()
            .filter_map(|edge| if let EdgeSource::Request(field) = edge.origin { Some(field) } else { None })
            .collect();
        let outputs = fields.iter().map(|field| {
            Value::from_iter([
                ("name", Value::from(field.name)),
                ("type", field.port_type.into()),
                ("optional", (!field.required).into()),
                ("description", field.description.into()),
                ("sensitivity", field.sensitivity.map(Sensitivity::word).into()),
                ("accepts", Value::Null),
                ("schema", field.schema.clone().unwrap_or_default()),
                ("connected", used.contains(field.name).into()),
                ("range", self.places.range(field.span)),
            ])
        });
        let outputs: Vec<Value> = outputs.collect();
        let span = self.flow.context.span;
        let range = if span.is_empty() { Value::Null } else { self.range(span) };
        border(INPUT, "input", "request", (Vec::new(), outputs), layout, range)
    }

    fn output(&self, layout: Value) -> Value {
        let mut names: Vec<&str> = Vec::new();
        for edge in &self.connected {
            let name = match edge.destination {
                EdgeTarget::Response => "",
                EdgeTarget::ResponseField(field) => field,
                EdgeTarget::Input(..) => continue,
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let is_fed = !names.is_empty();
        if names.is_empty() {
            names.push("");
        }
        let ports = names.into_iter().map(|name| {
            Value::from_iter([
                ("name", Value::from(name)),
                ("type", Value::Null),
                ("optional", false.into()),
                ("description", Value::Null),
                ("sensitivity", Value::Null),
                ("accepts", Value::Null),
                ("schema", Value::Null),
                ("connected", is_fed.into()),
                ("range", Value::Null),
            ])
        });
        border(OUTPUT, "output", "response", (ports.collect(), Vec::new()), layout, Value::Null)
    }

    fn node(
        &self,
        node: &'f Node,
        layout: Value,
        (errors, warnings): (usize, usize),
        fed: &HashSet<(&str, &str, bool)>,
    ) -> Value {
        let id = node.id.as_str();
        let port = |port: &Port, out: bool| self.port(port, fed.contains(&(id, port.name.as_str(), out)));
        let ports =
            |ports: &[Port], out: bool| Value::Array(ports.iter().map(|one| port(one, out)).collect());
        let kind = match (node.prompt.as_ref(), node.op(), node.transform.as_ref()) {
            (Some(_), _, _) => "prompt",
            (None, Some(_), _) => "op",
            (None, None, Some(transform)) if transform.code().is_some() => "code",
            _ => "other",
        };
        let position = node
            .position
            .as_ref()
            .and_then(|position| Some(point(position.x.as_ref()?.as_f64(), position.y.as_ref()?.as_f64())));
        let scope = node.state.as_ref().and_then(|state| state.scope).map(|scope| match scope.value {
            NodeStateScope::Request => "request",
            NodeStateScope::Session => "session",
        });
        Value::from_iter([
            ("id", Value::from(id)),
            ("kind", kind.into()),
            ("op", node.op().into()),
            ("title", id.into()),
            ("subtitle", subtitle(node).into()),
            ("inputs", ports(&node.inputs, false)),
            ("outputs", ports(&node.outputs, true)),
            ("error", node.error.as_ref().map(|error| port(error, true)).unwrap_or_default()),
            ("position", position.unwrap_or_default()),
            ("layout", layout),
            ("range", self.range(node.id.span.to(node.span))),
            ("state", scope.into()),
            ("effects", graph::effect(self.flow, node).is_some().into()),
            ("tool_only", self.is_tool_only(node).into()),
            ("model", model(node).into()),
            ("errors", errors.into()),
            ("warnings", warnings.into()),
        ])
    }

    /// Whether a model or a loop calls the node and no edge reaches it.
    fn is_tool_only(&self, node: &Node) -> bool {
        let id = node.id.as_str();
        let is_called =
            self.flow.nodes.values().any(|other| other.called().any(|target| target.as_str() == id));
        let leads =
            self.connected.iter().any(|edge| edge.origin.node().is_some_and(|from| from.id.value == id));
        is_called && !leads
    }

    fn port(&self, port: &Port, connected: bool) -> Value {
        let word = |label: &Option<stave_flow::model::Spanned<Sensitivity>>| {
            Value::from(label.as_ref().map(|label| label.value.word()))
        };
        Value::from_iter([
            ("name", Value::from(port.name.as_str())),
            ("type", port.port_type.map(|kind| kind.value.word()).into()),
            ("optional", port.is_optional().into()),
            ("description", port.description.as_ref().map(Text::as_str).into()),
            ("sensitivity", word(&port.sensitivity)),
            ("accepts", word(&port.accepts)),
            ("schema", port.schema.as_ref().map(stave_flow::yaml::Tree::to_value).unwrap_or_default()),
            ("connected", connected.into()),
            ("range", self.range(port.span)),
        ])
    }

    fn edges(&self) -> Vec<Value> {
        let mut ids: HashMap<String, usize> = HashMap::new();
        let mut unique = |id: String| {
            let count = ids.entry(id.clone()).or_default();
            *count += 1;
            if *count == 1 { id } else { format!("{id}#{count}") }
        };
        let by_index: HashMap<usize, &Connected<'f>> =
            self.connected.iter().map(|edge| (edge.edge.index, edge)).collect();
        let mut edges = Vec::new();
        for edge in &self.flow.edges {
            let connected = by_index.get(&edge.index).copied();
            let ends = match connected {
                Some(connected) => ends(connected),
                None => (written(edge.from.as_ref()), written(edge.to.as_ref())),
            };
            let id = unique(format!("{}>{}", end_text(&ends.0), end_text(&ends.1)));
            edges.push(self.edge(edge, connected, id, &ends));
        }
        for (from, to, kind, name, span) in calls(self.flow) {
            let id = unique(format!("{from}>{to}:{kind}:{name}"));
            let end = |node: &str| (node.to_owned(), None);
            let mut members = edge_members(id, kind, &end(from), &end(to));
            members.insert("range".into(), self.range(span));
            edges.push(members.into());
        }
        edges
    }

    fn edge(&self, edge: &Edge, connected: Option<&Connected<'_>>, id: String, (from, to): &Ends) -> Value {
        let mut members = edge_members(id, "data", from, to);
        let mut put = |key: &str, value: Value| {
            members.insert(key.to_owned(), value);
        };
        let text = |end: Option<&Endpoint>| end.map(ToString::to_string).unwrap_or_default();
        put("index", edge.index.into());
        put(
            "written",
            Value::from_iter([("from", text(edge.from.as_ref())), ("to", text(edge.to.as_ref()))]),
        );
        put("condition", edge.condition.as_ref().map(Text::as_str).into());
        put("transform", edge.transform.as_ref().map(Text::as_str).into());
        put("error", connected.is_some_and(|edge| matches!(edge.origin, EdgeSource::Error(..))).into());
        put("cast", connected.map_or("none", cast).into());
        put("broken", if connected.is_some() { Value::Null } else { self.fault(edge).into() });
        put("range", self.range(edge.span));
        let mut counted = (0, 0);
        let holds = |found: &&Diagnostic| (edge.span.start..=edge.span.end).contains(&found.primary.start);
        for found in self.diagnostics.iter().filter(holds) {
            count(&mut counted, found.severity);
        }
        put("errors", counted.0.into());
        put("warnings", counted.1.into());
        members.into()
    }

    /// Why an edge has an end that does not exist.
    fn fault(&self, edge: &Edge) -> String {
        let (Some(from), Some(to)) = (&edge.from, &edge.to) else {
            return "an end of it is not written".to_owned();
        };
        let said = |end: &Endpoint, fault: &Unresolved<'_>| match fault {
            Unresolved::UnknownNode | Unresolved::UnknownPseudoNode => {
                format!("there is no node `{}`", end.node.value)
            }
            Unresolved::OutputAsOrigin => "`_output` cannot be a beginning".to_owned(),
            Unresolved::InputAsDestination => "`_input` cannot be an end".to_owned(),
            Unresolved::UndeclaredField => format!("the request has no field for `{end}`"),
            Unresolved::UnknownPort(node) => format!("`{}` has no such port as `{end}`", node.id.value),
            Unresolved::NoDefault(_) => format!("`{end}` has no port that could be meant"),
            Unresolved::AmbiguousDefault(ports) => {
                format!("`{end}` could mean {}", ports.join(", "))
            }
            Unresolved::Unreadable => format!("what `{end}` names cannot be read"),
        };
        if let Err(fault) = graph::origin(self.flow, from) {
            return said(from, &fault);
        }
        match graph::destination(self.flow, to) {
            Err(fault) => said(to, &fault),
            Ok(_) => String::new(),
        }
    }

    /// The span without the blank lines behind it.
    fn range(&self, span: Span) -> Value {
        let mut range = span.range();
        let text = self.places.text().get(range.clone()).unwrap_or_default();
        range.end = range.start + text.trim_end().len();
        self.places.range_of(range).into()
    }
}

/// A field of the request, with what the ports it feeds say about it.
pub(super) struct RequestField<'f> {
    pub(super) name: &'f str,
    pub(super) span: Span,
    pub(super) required: bool,
    pub(super) port_type: Option<&'static str>,
    pub(super) schema: Option<Value>,
    pub(super) description: Option<&'f str>,
    pub(super) sensitivity: Option<Sensitivity>,
}

/// The fields of the request. A field has the type of the ports that it feeds.
pub(super) fn request<'f>(flow: &'f Flow, connected: &[Connected<'f>]) -> Vec<RequestField<'f>> {
    let mut ports: HashMap<&str, Vec<&'f Port>> = HashMap::new();
    for edge in connected.iter().filter(|edge| edge.edge.transform.is_absent()) {
        if let (EdgeSource::Request(field), Some(port)) = (edge.origin, edge.destination.port()) {
            ports.entry(field).or_default().push(port);
        }
    }
    let required = flow.context.requires.len();
    let fields = flow.context.fields().enumerate().map(|(index, field)| {
        let fed = ports.get(field.as_str()).map(Vec::as_slice).unwrap_or_default();
        let label = flow.context.sensitivity.iter().find(|(name, _)| name.value == field.as_str());
        RequestField {
            name: field.as_str(),
            span: field.span,
            required: index < required,
            port_type: fed.iter().find_map(|port| port.port_type).map(|kind| kind.value.word()),
            schema: fed.iter().find_map(|port| port.schema.as_ref()).map(stave_flow::yaml::Tree::to_value),
            description: fed.iter().find_map(|port| port.description.as_ref()).map(Text::as_str),
            sensitivity: label.map(|(_, label)| label.value),
        }
    });
    fields.collect()
}

fn border(
    id: &str,
    kind: &str,
    title: &str,
    (inputs, outputs): (Vec<Value>, Vec<Value>),
    layout: Value,
    range: Value,
) -> Value {
    Value::from_iter([
        ("id", Value::from(id)),
        ("kind", kind.into()),
        ("op", Value::Null),
        ("title", title.into()),
        ("subtitle", "".into()),
        ("inputs", inputs.into()),
        ("outputs", outputs.into()),
        ("error", Value::Null),
        ("position", Value::Null),
        ("layout", layout),
        ("range", range),
        ("state", Value::Null),
        ("effects", false.into()),
        ("tool_only", false.into()),
        ("model", Value::Null),
        ("errors", 0_u32.into()),
        ("warnings", 0_u32.into()),
    ])
}

/// What every edge has, with the values of an edge that is written nowhere.
fn edge_members(id: String, kind: &str, from: &End, to: &End) -> Object {
    let end = |(node, port): &End| {
        Value::from_iter([("node", Value::from(node.as_str())), ("port", port.clone().into())])
    };
    Object::from_iter([
        ("id".to_owned(), id.into()),
        ("kind".to_owned(), kind.into()),
        ("index".to_owned(), Value::Null),
        ("from".to_owned(), end(from)),
        ("to".to_owned(), end(to)),
        ("written".to_owned(), Value::Null),
        ("condition".to_owned(), Value::Null),
        ("transform".to_owned(), Value::Null),
        ("error".to_owned(), false.into()),
        ("cast".to_owned(), "none".into()),
        ("broken".to_owned(), Value::Null),
        ("range".to_owned(), Value::Null),
        ("errors".to_owned(), 0_u32.into()),
        ("warnings".to_owned(), 0_u32.into()),
    ])
}

fn ends(connected: &Connected<'_>) -> Ends {
    let owned = |node: &str, port: &str| (node.to_owned(), Some(port.to_owned()));
    let from = match connected.origin {
        EdgeSource::Request(field) => owned(INPUT, field),
        EdgeSource::Output(node, port) | EdgeSource::Error(node, port) => {
            owned(node.id.as_str(), port.name.as_str())
        }
    };
    let to = match connected.destination {
        EdgeTarget::Response => owned(OUTPUT, ""),
        EdgeTarget::ResponseField(field) => owned(OUTPUT, field),
        EdgeTarget::Input(node, port) => owned(node.id.as_str(), port.name.as_str()),
    };
    (from, to)
}

fn written(end: Option<&Endpoint>) -> End {
    match end {
        Some(end) => (end.node.value.clone(), end.port.as_ref().map(|port| port.value.clone())),
        None => (String::new(), None),
    }
}

fn end_text((node, port): &End) -> String {
    match port.as_deref() {
        Some("") | None => node.clone(),
        Some(port) => format!("{node}.{port}"),
    }
}

/// What happens to a value on an edge, in a word.
pub(super) fn cast_word(connection: Connection) -> &'static str {
    Cast::of(connection).word()
}

fn cast(connected: &Connected<'_>) -> &'static str {
    if connected.edge.transform.is_read() {
        return "none";
    }
    let from = connected.origin.port().and_then(|port| port.port_type);
    let to = connected.destination.port().and_then(|port| port.port_type);
    let pair = from.zip(to).and_then(|(from, to)| connection(from.value, to.value));
    pair.map_or("none", cast_word)
}

/// The calls between nodes: a model's tools, and what a loop runs.
fn calls(flow: &Flow) -> Vec<(&str, &str, &'static str, &str, Span)> {
    let mut calls = Vec::new();
    for node in flow.nodes.values() {
        for tool in node.prompt.iter().flat_map(|prompt| &prompt.tools) {
            let target = tool.maps_to.as_ref().filter(|target| flow.nodes.contains_key(target.as_str()));
            let name = tool.name.as_ref().map_or("", Text::as_str);
            if let Some(target) = target {
                calls.push((node.id.as_str(), target.as_str(), "tool", name, tool.span));
            }
        }
    }
    for node in flow.nodes.values() {
        if let Some(target) = node.each().and_then(|each| flow.nodes.get(each.node.as_str())) {
            calls.push((node.id.as_str(), target.id.as_str(), "each", "", node.id.span));
        }
    }
    calls
}

fn subtitle(node: &Node) -> String {
    match (model(node), node.op(), node.transform.as_ref()) {
        (Some(model), _, _) => model,
        (None, _, _) if node.prompt.is_read() => "default model".to_owned(),
        (None, Some(op), _) => op.to_owned(),
        (None, None, Some(_)) => "code".to_owned(),
        (None, None, None) => String::new(),
    }
}

fn model(node: &Node) -> Option<String> {
    let model = node.prompt.as_ref()?.model.as_ref()?;
    model.name.as_ref().map(|name| name.as_str().to_owned())
}

fn point(x: f64, y: f64) -> Value {
    Value::from_iter([("x", x), ("y", y)])
}

fn count((errors, warnings): &mut (usize, usize), severity: Severity) {
    match severity {
        Severity::Error => *errors += 1,
        Severity::Warning => *warnings += 1,
        Severity::Note => {}
    }
}
