//! The flow under check, with what several rules want to know about it.

use std::collections::{HashMap, HashSet};

use stave_diag::{Diagnostic, Fix, Span, did_you_mean};
use stave_script::python::{TransformCheck, check_transform};
use stave_script::{ExpressionCheck, TemplateCheck, check_template, check_template_in_open_scope};

use super::reachability::Reachability;
use super::{CheckOptions, conditions};
use crate::graph::{self, Connected};
use crate::model::{Flow, Node, Readable, Text, ToolDeclaration, TransformSpec};

pub(super) struct Subject<'flow> {
    pub(super) flow: &'flow Flow,
    pub(super) options: &'flow CheckOptions,
    /// The edges whose two ends exist.
    pub(super) edges: Vec<Connected<'flow>>,
    /// What is known about the code of the nodes that have some, by node id.
    pub(super) code: HashMap<&'flow str, TransformCheck>,
    /// What is known about the system text and the template of each prompt, by node id.
    templates: HashMap<&'flow str, Templates<'flow>>,
    /// What is known about the condition and the transform of each edge that has one, by its index.
    pub(super) expressions: HashMap<usize, EdgeExpressions>,
    /// The node ids that each node's outputs and error port lead to, without repetition.
    pub(super) followers: HashMap<&'flow str, Vec<&'flow str>>,
    /// The node ids that lead to each node.
    pub(super) leaders: HashMap<&'flow str, Vec<&'flow str>>,
    /// The indices of the edges that enter each node, by its id.
    arrivals: HashMap<&'flow str, Vec<usize>>,
    /// Which nodes lead to which, along edges and calls.
    reachability: Reachability,
    /// The tools that lead to each node, with the node that has the tool, by node id.
    callers: HashMap<&'flow str, Vec<(&'flow Node, &'flow ToolDeclaration)>>,
    /// The nodes that run each node for every item of a list, by its id.
    runners: HashMap<&'flow str, Vec<&'flow Node>>,
    /// The names of the declared context fields.
    pub(super) declared: HashSet<&'flow str>,
    unreadable_calls: bool,
}

impl<'flow> Subject<'flow> {
    pub(super) fn new(flow: &'flow Flow, options: &'flow CheckOptions) -> Self {
        let edges = graph::connected(flow);
        let mut followers: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut leaders: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut seen: HashSet<(&str, &str)> = HashSet::new();
        for connected in &edges {
            if let (Some(from), Some(to)) = (connected.origin.node(), connected.destination.node())
                && seen.insert((from.id.as_str(), to.id.as_str()))
            {
                followers.entry(from.id.as_str()).or_default().push(to.id.as_str());
                leaders.entry(to.id.as_str()).or_default().push(from.id.as_str());
            }
        }
        let mut callers: HashMap<&str, Vec<(&Node, &ToolDeclaration)>> = HashMap::new();
        for (node, tool) in flow.nodes.values().flat_map(|node| tools(node).map(move |tool| (node, tool))) {
            if let Some(target) = tool.maps_to.as_ref() {
                callers.entry(target.as_str()).or_default().push((node, tool));
            }
        }
        let mut runners: HashMap<&str, Vec<&Node>> = HashMap::new();
        for (node, each) in flow.nodes.values().filter_map(|node| Some((node, node.each()?))) {
            runners.entry(each.node.as_str()).or_default().push(node);
        }
        let reachability = Reachability::new(flow, &edges);
        let mut arrivals: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, connected) in edges.iter().enumerate() {
            if let Some(node) = connected.destination.node() {
                arrivals.entry(node.id.as_str()).or_default().push(index);
            }
        }
        let declared = flow.context.fields().map(Text::as_str).collect();
        let code = flow.nodes.values().filter_map(|node| {
            let transform = node.transform.as_ref()?;
            Some((node.id.as_str(), check_transform(&transform.code()?.embedded, transform.key)))
        });
        let templates = flow.nodes.values().filter_map(|node| Some((node.id.as_str(), templates(node)?)));
        let (code, templates) = (code.collect(), templates.collect());
        let expressions = conditions::expressions(flow);
        Subject {
            flow,
            options,
            edges,
            code,
            templates,
            expressions,
            followers,
            leaders,
            arrivals,
            reachability,
            callers,
            runners,
            declared,
            unreadable_calls: !flow.nodes.is_complete() || flow.nodes.values().any(has_unreadable_calls),
        }
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &'flow Node> {
        self.flow.nodes.values()
    }

    /// The system text and the template of a node's prompt, each with what is known about it.
    pub(super) fn templates(&self, node: &Node) -> &[(&'flow Text, TemplateCheck)] {
        self.templates.get(node.id.as_str()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The edges that bring something to an input of a node.
    pub(super) fn arrivals(&self, id: &str, input: &str) -> impl Iterator<Item = &Connected<'flow>> {
        let indices = self.arrivals.get(id).into_iter().flatten();
        let edges = indices.filter_map(|index| self.edges.get(*index));
        edges.filter(move |edge| edge.destination.port().is_some_and(|port| port.name.as_str() == input))
    }

    /// The tools that lead to this node, each with the node whose prompt has it.
    pub(super) fn callers(&self, id: &str) -> &[(&'flow Node, &'flow ToolDeclaration)] {
        self.callers.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    /// The nodes that run this one for every item of a list.
    pub(super) fn runners(&self, id: &str) -> &[&'flow Node] {
        self.runners.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    /// How many edges have a destination that cannot be read, and so may feed any input.
    pub(super) fn unreadable_destinations(&self) -> usize {
        let edges = &self.flow.edges;
        edges.unreadable_items().saturating_add(edges.iter().filter(|edge| edge.to.is_none()).count())
    }

    /// Whether some node may call another one by a part that cannot be read.
    pub(super) fn has_unreadable_calls(&self) -> bool {
        self.unreadable_calls
    }

    /// Whether edges lead from one node to another, and calls of tools too if `calls` says so.
    pub(super) fn leads_to(&self, from: &str, to: &str, calls: bool) -> bool {
        let index = |id: &str| self.flow.nodes.get_index_of(id);
        matches!((index(from), index(to)), (Some(from), Some(to)) if self.reachability.lead(from, to, calls))
    }

    /// Whether each node is ordered with a given one, by edges and calls in the one direction or the other.
    pub(super) fn ordered_with(&self, id: &str) -> impl Fn(&str) -> bool + use<'flow> {
        let ordered = self
            .flow
            .nodes
            .get_index_of(id)
            .map(|index| self.reachability.ordered_with(index))
            .unwrap_or_default();
        let flow = self.flow;
        move |id| flow.nodes.get_index_of(id).and_then(|index| ordered.get(index).copied()).unwrap_or(false)
    }
}

type Templates<'flow> = Vec<(&'flow Text, TemplateCheck)>;

/// What is known about the expressions of an edge.
#[derive(Debug, Default)]
pub(super) struct EdgeExpressions {
    pub(super) condition: Option<ExpressionCheck>,
    pub(super) transform: Option<ExpressionCheck>,
}

impl EdgeExpressions {
    pub(super) fn each(&self) -> impl Iterator<Item = &ExpressionCheck> {
        self.condition.iter().chain(&self.transform)
    }
}

fn templates(node: &Node) -> Option<Templates<'_>> {
    let prompt = node.prompt.as_ref()?;
    let mut scope: Vec<&str> = node.inputs.iter().map(|port| port.name.as_str()).collect();
    scope.push("context");
    let texts = prompt.system.iter().chain(&prompt.template);
    // A name outside a scope of which a part is not known is no mistake.
    let check = if node.inputs.is_complete() { check_template } else { check_template_in_open_scope };
    Some(texts.map(|text| (text, check(&text.embedded, &scope))).collect())
}

/// Whether a node may call another one by a prompt, a tool or an operation that cannot be read.
fn has_unreadable_calls(node: &Node) -> bool {
    let of_prompt = match &node.prompt {
        Readable::Read(prompt) => !prompt.tools.is_complete() || prompt.tools.iter().any(is_unreadable_call),
        Readable::Absent => node.transform.is_absent(),
        Readable::Unreadable => true,
    };
    let of_transform = match &node.transform {
        Readable::Read(transform) => match &transform.spec {
            Some(TransformSpec::Operation(operation)) => operation.op.is_none() || operation.args.is_none(),
            Some(TransformSpec::Code(_)) => false,
            None => true,
        },
        Readable::Absent => false,
        Readable::Unreadable => true,
    };
    of_prompt || of_transform
}

fn is_unreadable_call(tool: &ToolDeclaration) -> bool {
    let properties = tool.parameters.as_ref().and_then(|parameters| parameters.get("properties"));
    tool.maps_to.is_unreadable()
        || tool.parameters.is_none()
        || properties.is_some_and(|properties| properties.entries().is_none())
}

pub(super) fn tools(node: &Node) -> impl Iterator<Item = &ToolDeclaration> {
    node.prompt.iter().flat_map(|prompt| &prompt.tools)
}

/// "`a`, `b` and `c`", for lists of candidates.
pub(super) fn listed<'word>(words: impl IntoIterator<Item = &'word str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        None => "none".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Adds the nearest candidate as help and as a fix, or else the list of candidates.
pub(super) fn suggest(
    diagnostic: Diagnostic,
    word: &str,
    span: Span,
    candidates: &[&str],
    otherwise: impl FnOnce(&str) -> String,
) -> Diagnostic {
    match did_you_mean(word, candidates.iter().copied()) {
        Some(near) => {
            let diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            match unquoted(word, span) {
                Some(span) => diagnostic.fix(Fix::replace(format!("write `{near}`"), span, near)),
                None => diagnostic,
            }
        }
        None => diagnostic.help(otherwise(&listed(candidates.iter().copied()))),
    }
}

/// The place of a word within a span that may hold its quotes too. `None` for any other span, in which
/// the word cannot be replaced alone.
pub(super) fn unquoted(word: &str, span: Span) -> Option<Span> {
    let range = span.range();
    match range.len().checked_sub(word.len()) {
        Some(0) => Some(span),
        Some(2) => Some(Span::new(span.source, range.start + 1, range.end - 1)),
        _ => None,
    }
}
