//! One mistake is one error: what could not be read is not missed a second time.
//!
//! A node whose `inputs` are no list has been reported. That edges, templates and code then find no inputs
//! is the same mistake, and saying so would bury it.

use std::collections::HashSet;

use stave_diag::codes::{flow as codes, script};
use stave_diag::{Code, Diagnostic, Span};

use crate::model::{Edge, Endpoint, Flow, INPUT, Node};
use crate::yaml::Tree;

/// Takes out the findings that only follow from a part of the text that could not be read.
pub(crate) fn prune(tree: &Tree, flow: &Flow, diagnostics: &mut Vec<Diagnostic>) {
    let gaps = Gaps::of(tree, flow);
    if gaps.is_empty() {
        return;
    }
    let unfed = diagnostics.iter().filter(|found| found.code == codes::UNCONNECTED_INPUT).count();
    // An edge without a readable end was meant for one of the inputs that nothing feeds.
    let explained = gaps.edges || unfed <= gaps.open_edges;
    diagnostics.retain(|found| {
        let follows = if found.code == codes::UNCONNECTED_INPUT {
            explained
                || (gaps.callers && node_at(flow, found.primary).is_some_and(|node| !is_fed(flow, node)))
        } else {
            gaps.explain(flow, found)
        };
        !follows
    });
}

/// What stands in the text and not in the flow.
struct Gaps<'tree> {
    context: bool,
    /// Whether there are no nodes that could be read.
    all_nodes: bool,
    nodes: HashSet<&'tree str>,
    edges: bool,
    /// How many edges have no destination that could be read.
    open_edges: usize,
    /// Whether a prompt or a tool could not be read, which may have called a node.
    callers: bool,
    inputs: HashSet<&'tree str>,
    outputs: HashSet<&'tree str>,
    state: HashSet<&'tree str>,
}

impl<'tree> Gaps<'tree> {
    fn of(tree: &'tree Tree, flow: &Flow) -> Self {
        let count = |tree: Option<&Tree>| tree.and_then(Tree::items).map(<[Tree]>::len);
        let context = tree.get("context");
        let optional = context.and_then(|context| context.get("optional"));
        let nodes = tree.get("nodes").and_then(Tree::entries);
        let edges = tree.get("edges").and_then(Tree::items);
        let mut gaps = Gaps {
            context: count(context.and_then(|context| context.get("requires")))
                != Some(flow.context.requires.len())
                || optional.is_some() && count(optional).unwrap_or(0) != flow.context.optional.len(),
            all_nodes: nodes.is_none(),
            nodes: HashSet::new(),
            edges: edges.is_none(),
            open_edges: edges
                .map_or(0, <[Tree]>::len)
                .saturating_sub(flow.edges.iter().filter(|edge| edge.to.is_some()).count()),
            callers: false,
            inputs: HashSet::new(),
            outputs: HashSet::new(),
            state: HashSet::new(),
        };
        for entry in nodes.unwrap_or_default() {
            let id = entry.key.value.as_str();
            let Some(node) = flow.nodes.get(id) else {
                gaps.nodes.insert(id);
                gaps.callers = true;
                continue;
            };
            if count(entry.value.get("inputs")) != Some(node.inputs.len()) {
                gaps.inputs.insert(id);
            }
            let lost_error = entry.value.get("error").is_some() && node.error.is_none();
            if count(entry.value.get("outputs")) != Some(node.outputs.len()) || lost_error {
                gaps.outputs.insert(id);
            }
            if entry.value.get("state").is_some() && node.state.is_none() {
                gaps.state.insert(id);
            }
            gaps.callers |= lost_calls(&entry.value, node);
        }
        gaps
    }

    fn is_empty(&self) -> bool {
        !(self.context || self.all_nodes || self.edges || self.callers)
            && self.open_edges == 0
            && self.nodes.is_empty()
            && self.inputs.is_empty()
            && self.outputs.is_empty()
            && self.state.is_empty()
    }

    fn explain(&self, flow: &Flow, found: &Diagnostic) -> bool {
        let is = |listed: &[Code]| listed.contains(&found.code);
        if self.context && is(&[codes::UNDECLARED_CONTEXT, codes::SESSION_WITHOUT_ID]) {
            return true;
        }
        if self.all_nodes && is(&[codes::DANGLING_EDGE, codes::UNKNOWN_TOOL_TARGET]) {
            return true;
        }
        if is(&[codes::STATE_NOT_CONFIGURED]) {
            return node_at(flow, found.primary).is_some_and(|node| self.state.contains(node.id.as_str()));
        }
        if self.callers && is(&[codes::UNANSWERED_TOOL]) {
            return true;
        }
        if is(&[codes::UNKNOWN_TOOL_TARGET]) {
            let mut targets = flow.nodes.values().flat_map(Node::called);
            return targets
                .any(|target| target.span == found.primary && self.nodes.contains(target.as_str()));
        }
        if is(&[codes::TOOL_PARAMETER]) {
            let tools = flow.nodes.values().flat_map(|node| &node.prompt).flat_map(|prompt| &prompt.tools);
            let mut tools = tools.filter(|tool| holds(tool.span, found.primary));
            return tools
                .any(|tool| tool.maps_to.as_ref().is_some_and(|to| self.inputs.contains(to.as_str())));
        }
        let names = [codes::UNKNOWN_INPUT, script::UNKNOWN_TEMPLATE_VARIABLE, codes::UNKNOWN_ROOT];
        if is(&names) {
            let in_node =
                node_at(flow, found.primary).is_some_and(|node| self.inputs.contains(node.id.as_str()));
            return in_node || (self.context && is(&[codes::UNKNOWN_ROOT]));
        }
        if !is(&[codes::DANGLING_EDGE, codes::UNKNOWN_PORT, codes::AMBIGUOUS_PORT]) {
            return false;
        }
        let at = |end: &Option<Endpoint>| end.clone().filter(|end| holds(end.span, found.primary));
        flow.edges.iter().any(|Edge { from, to, .. }| {
            let hidden = |end: Option<Endpoint>, ports: &HashSet<&str>| {
                end.is_some_and(|end| {
                    let name = end.node.as_str();
                    self.nodes.contains(name) || ports.contains(name) || (self.context && name == INPUT)
                })
            };
            hidden(at(from), &self.outputs) || hidden(at(to), &self.inputs)
        })
    }
}

/// Whether a node has a prompt or a tool in the text that is not in the flow.
fn lost_calls(tree: &Tree, node: &Node) -> bool {
    let Some(written) = tree.get("prompt") else { return node.prompt.is_none() && node.transform.is_none() };
    let Some(prompt) = &node.prompt else { return true };
    let Some(tools) = written.get("tools") else { return false };
    let given = |tool: &Tree| tool.get("maps_to").is_some();
    let calls = tools.items().map_or(usize::MAX, |tools| tools.iter().filter(|tool| given(tool)).count());
    let broken_schema = |tool: &Tree| {
        let properties = tool.get("parameters").and_then(|parameters| parameters.get("properties"));
        properties.is_some_and(|properties| properties.entries().is_none())
    };
    calls != prompt.tools.iter().filter(|tool| tool.maps_to.is_some()).count()
        || tools
            .items()
            .is_some_and(|items| items.len() != prompt.tools.len() || items.iter().any(broken_schema))
}

fn is_fed(flow: &Flow, node: &Node) -> bool {
    flow.edges.iter().filter_map(|edge| edge.to.as_ref()).any(|end| end.node.value == node.id.value)
}

fn node_at(flow: &Flow, span: Span) -> Option<&Node> {
    flow.nodes.values().find(|node| holds(node.span, span))
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
