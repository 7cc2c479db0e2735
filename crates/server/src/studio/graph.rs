//! A flow as the graph that the studio draws: nodes with ports, edges with ids, and the places of all of them.

use std::collections::{HashMap, HashSet};

use stave_canon::Value;
use stave_diag::{Diagnostic, Severity, Span};
use stave_flow::graph::{self, Connected, EdgeSource, EdgeTarget, Unresolved};
use stave_flow::model::{
    Edge, Endpoint, Flow, INPUT, Node, NodeStateScope, OUTPUT, Port, PortType, Sensitivity, Text,
};
use stave_flow::types::connection;
use stave_shape::Nullable;

use super::findings::node_of;
use super::layout;
use super::places::Places;
use crate::api::Cast;
use crate::api::graph_types::{
    self, EdgeEnd, EdgeKind, Graph, GraphEdge, GraphNode, NodeKind, Point, StateScope, WrittenEnds,
};
use crate::api::text_types::Range;

/// A node and perhaps a port of it.
type End = (String, Option<String>);

/// Where an edge begins and ends.
type Ends = (End, End);

/// A flow with what was found in it.
pub(super) struct FlowGraph<'f> {
    flow: &'f Flow,
    diagnostics: &'f [Diagnostic],
    places: &'f Places,
    connected: Vec<Connected<'f>>,
}

impl<'f> FlowGraph<'f> {
    pub(super) fn new(flow: &'f Flow, diagnostics: &'f [Diagnostic], places: &'f Places) -> FlowGraph<'f> {
        FlowGraph { flow, diagnostics, places, connected: graph::connected(flow) }
    }

    /// The graph with the place of each node on the canvas.
    pub(super) fn drawn(&self) -> Graph {
        let layout = layout::layout(self.flow);
        // Every node of the flow and both of its borders have a place.
        let at = |id: &str| {
            let (x, y) = layout.at.get(id).copied().unwrap_or_default();
            Point { x, y }
        };
        let mut counts: HashMap<&str, (u64, u64)> = HashMap::new();
        for found in self.diagnostics {
            let Some(node) = node_of(found, self.flow) else { continue };
            count(counts.entry(node).or_default(), found.severity);
        }
        let (fed, tools) = (self.fed_ports(), self.tools_only());
        let mut nodes = vec![self.input(at(INPUT))];
        for node in self.flow.nodes.values() {
            let counted = counts.get(node.id.as_str()).copied().unwrap_or_default();
            nodes.push(self.node(node, at(node.id.as_str()), counted, (&fed, &tools)));
        }
        nodes.push(self.output(at(OUTPUT)));
        Graph { nodes, edges: self.edges(), width: layout.width, height: layout.height }
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

    fn input(&self, layout: Point) -> GraphNode {
        let fields = request(self.flow, &self.connected);
        let used: HashSet<&str> = self
            .connected
            .iter()
            .filter_map(|edge| if let EdgeSource::Request(field) = edge.origin { Some(field) } else { None })
            .collect();
        let outputs = fields.iter().map(|field| graph_types::Port {
            name: field.name.to_owned(),
            port_type: field.port_type.into(),
            optional: !field.required,
            description: field.description.map(str::to_owned).into(),
            sensitivity: field.sensitivity.into(),
            accepts: Nullable(None),
            schema: field.schema.clone().unwrap_or_default(),
            connected: used.contains(field.name),
            range: Some(self.places.range(field.span)).into(),
        });
        let span = self.flow.context.span;
        let range = (!span.is_empty()).then(|| self.places.trimmed(span));
        border(INPUT, NodeKind::Input, "request", (Vec::new(), outputs.collect()), layout, range)
    }

    fn output(&self, layout: Point) -> GraphNode {
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
        let ports = names.into_iter().map(|name| graph_types::Port {
            name: name.to_owned(),
            port_type: Nullable(None),
            optional: false,
            description: Nullable(None),
            sensitivity: Nullable(None),
            accepts: Nullable(None),
            schema: Value::Null,
            connected: is_fed,
            range: Nullable(None),
        });
        border(OUTPUT, NodeKind::Output, "response", (ports.collect(), Vec::new()), layout, None)
    }

    fn node(
        &self,
        node: &'f Node,
        layout: Point,
        (errors, warnings): (u64, u64),
        (fed, tools): (&HashSet<(&str, &str, bool)>, &HashSet<&str>),
    ) -> GraphNode {
        let id = node.id.as_str();
        let port = |port: &Port, out: bool| self.port(port, fed.contains(&(id, port.name.as_str(), out)));
        let ports = |ports: &[Port], out: bool| ports.iter().map(|one| port(one, out)).collect();
        let kind = match (node.prompt.as_ref(), node.op(), node.transform.as_ref()) {
            (Some(_), _, _) => NodeKind::Prompt,
            (None, Some(_), _) => NodeKind::Op,
            (None, None, Some(transform)) if transform.code().is_some() => NodeKind::Code,
            _ => NodeKind::Other,
        };
        let position = node.position.as_ref().and_then(|position| {
            Some(Point { x: position.x.as_ref()?.as_f64(), y: position.y.as_ref()?.as_f64() })
        });
        let scope = node.state.as_ref().and_then(|state| state.scope).map(|scope| match scope.value {
            NodeStateScope::Request => StateScope::Request,
            NodeStateScope::Session => StateScope::Session,
        });
        GraphNode {
            id: id.to_owned(),
            kind,
            op: node.op().map(str::to_owned).into(),
            title: id.to_owned(),
            subtitle: subtitle(node),
            inputs: ports(&node.inputs, false),
            outputs: ports(&node.outputs, true),
            error: node.error.as_ref().map(|error| port(error, true)).into(),
            position: position.into(),
            layout,
            range: Some(self.places.trimmed(node.id.span.to(node.span))).into(),
            state: scope.into(),
            effects: graph::effect(self.flow, node).is_some(),
            tool_only: tools.contains(id),
            model: model(node).into(),
            errors,
            warnings,
        }
    }

    /// The nodes that a model or a loop calls and that no edge leaves.
    fn tools_only(&self) -> HashSet<&'f str> {
        let leads: HashSet<&str> = self
            .connected
            .iter()
            .filter_map(|edge| edge.origin.node())
            .map(|from| from.id.as_str())
            .collect();
        let called = self.flow.nodes.values().flat_map(Node::called).map(Text::as_str);
        called.filter(|target| !leads.contains(target)).collect()
    }

    fn port(&self, port: &Port, connected: bool) -> graph_types::Port {
        graph_types::Port {
            name: port.name.as_str().to_owned(),
            port_type: port.port_type.map(|kind| kind.value).into(),
            optional: port.is_optional(),
            description: port.description.as_ref().map(|text| text.as_str().to_owned()).into(),
            sensitivity: port.sensitivity.as_ref().map(|label| label.value).into(),
            accepts: port.accepts.as_ref().map(|label| label.value).into(),
            schema: port.schema.as_ref().map(stave_flow::yaml::Tree::to_value).unwrap_or_default(),
            connected,
            range: Some(self.places.trimmed(port.span)).into(),
        }
    }

    fn edges(&self) -> Vec<GraphEdge> {
        let mut ids: HashMap<String, usize> = HashMap::new();
        let mut unique = |id: String| {
            let count = ids.entry(id.clone()).or_default();
            *count += 1;
            if *count == 1 { id } else { format!("{id}#{count}") }
        };
        let by_index: HashMap<usize, &Connected<'f>> =
            self.connected.iter().map(|edge| (edge.edge.index, edge)).collect();
        let mut found: Vec<&Diagnostic> = self.diagnostics.iter().collect();
        found.sort_by_key(|found| found.primary.start);
        let mut edges = Vec::new();
        for edge in &self.flow.edges {
            let connected = by_index.get(&edge.index).copied();
            let ends = match connected {
                Some(connected) => ends(connected),
                None => (written(edge.from.as_ref()), written(edge.to.as_ref())),
            };
            let id = unique(format!("{}>{}", end_text(&ends.0), end_text(&ends.1)));
            edges.push(self.edge(edge, connected, id, ends, &found));
        }
        for (from, to, kind, name, span) in calls(self.flow) {
            let id = unique(format!("{from}>{to}:{}:{name}", kind.word()));
            let end = |node: &str| (node.to_owned(), None);
            let range = self.places.trimmed(span);
            edges.push(unwritten_edge(id, kind, (end(from), end(to)), range));
        }
        edges
    }

    /// `found` is sorted by place.
    fn edge(
        &self,
        edge: &Edge,
        connected: Option<&Connected<'_>>,
        id: String,
        ends: Ends,
        found: &[&Diagnostic],
    ) -> GraphEdge {
        let text = |end: Option<&Endpoint>| end.map(ToString::to_string).unwrap_or_default();
        let owned = |text: Option<&Text>| text.map(|text| text.as_str().to_owned()).into();
        let mut counted = (0, 0);
        let first = found.partition_point(|found| found.primary.start < edge.span.start);
        let inside = |found: &&&Diagnostic| found.primary.start <= edge.span.end;
        for found in found.get(first..).unwrap_or_default().iter().take_while(inside) {
            count(&mut counted, found.severity);
        }
        GraphEdge {
            index: Some(edge.index as u64).into(),
            written: Some(WrittenEnds { from: text(edge.from.as_ref()), to: text(edge.to.as_ref()) }).into(),
            condition: owned(edge.condition.as_ref()),
            transform: owned(edge.transform.as_ref()),
            error: connected.is_some_and(|edge| matches!(edge.origin, EdgeSource::Error(..))),
            cast: connected.map_or(Cast::None, cast),
            broken: connected.is_none().then(|| self.fault(edge)).into(),
            errors: counted.0,
            warnings: counted.1,
            ..unwritten_edge(id, EdgeKind::Data, ends, self.places.trimmed(edge.span))
        }
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
}

/// A field of the request, with what the ports it feeds say about it.
pub(super) struct RequestField<'f> {
    pub(super) name: &'f str,
    pub(super) span: Span,
    pub(super) required: bool,
    pub(super) port_type: Option<PortType>,
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
            port_type: fed.iter().find_map(|port| port.port_type).map(|kind| kind.value),
            schema: fed.iter().find_map(|port| port.schema.as_ref()).map(stave_flow::yaml::Tree::to_value),
            description: fed.iter().find_map(|port| port.description.as_ref()).map(Text::as_str),
            sensitivity: label.map(|(_, label)| label.value),
        }
    });
    fields.collect()
}

fn border(
    id: &str,
    kind: NodeKind,
    title: &str,
    (inputs, outputs): (Vec<graph_types::Port>, Vec<graph_types::Port>),
    layout: Point,
    range: Option<Range>,
) -> GraphNode {
    GraphNode {
        id: id.to_owned(),
        kind,
        op: Nullable(None),
        title: title.to_owned(),
        subtitle: String::new(),
        inputs,
        outputs,
        error: Nullable(None),
        position: Nullable(None),
        layout,
        range: range.into(),
        state: Nullable(None),
        effects: false,
        tool_only: false,
        model: Nullable(None),
        errors: 0,
        warnings: 0,
    }
}

/// An edge that the flow does not list among its edges: a call of a tool or of a loop.
fn unwritten_edge(id: String, kind: EdgeKind, (from, to): Ends, range: Range) -> GraphEdge {
    let end = |(node, port): End| EdgeEnd { node, port: port.into() };
    GraphEdge {
        id,
        kind,
        index: Nullable(None),
        from: end(from),
        to: end(to),
        written: Nullable(None),
        condition: Nullable(None),
        transform: Nullable(None),
        error: false,
        cast: Cast::None,
        broken: Nullable(None),
        range: Some(range).into(),
        errors: 0,
        warnings: 0,
    }
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

/// What happens to a value on an edge.
fn cast(connected: &Connected<'_>) -> Cast {
    if connected.edge.transform.is_read() {
        return Cast::None;
    }
    let from = connected.origin.port().and_then(|port| port.port_type);
    let to = connected.destination.port().and_then(|port| port.port_type);
    let pair = from.zip(to).and_then(|(from, to)| connection(from.value, to.value));
    pair.map_or(Cast::None, Cast::of)
}

/// The calls between nodes: a model's tools, and what a loop runs.
fn calls(flow: &Flow) -> Vec<(&str, &str, EdgeKind, &str, Span)> {
    let mut calls = Vec::new();
    for node in flow.nodes.values() {
        for tool in node.prompt.iter().flat_map(|prompt| &prompt.tools) {
            let target = tool.maps_to.as_ref().filter(|target| flow.nodes.contains_key(target.as_str()));
            let name = tool.name.as_ref().map_or("", Text::as_str);
            if let Some(target) = target {
                calls.push((node.id.as_str(), target.as_str(), EdgeKind::Tool, name, tool.span));
            }
        }
    }
    for node in flow.nodes.values() {
        if let Some(target) = node.each().and_then(|each| flow.nodes.get(each.node.as_str())) {
            calls.push((node.id.as_str(), target.id.as_str(), EdgeKind::Each, "", node.id.span));
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

fn count((errors, warnings): &mut (u64, u64), severity: Severity) {
    match severity {
        Severity::Error => *errors += 1,
        Severity::Warning => *warnings += 1,
        Severity::Note => {}
    }
}
