//! What the lowering of a workflow asks about each step, found in one pass: the lines of its file, the steps before it,
//! and the parts of its result that others use.
//!
//! Invariant: building the index and asking it about every step grows with the size of the workflow, not with its square.

use std::collections::{BTreeSet, HashMap};

use stave_exec::DocumentNode;
use stave_exec::dataflow::Origin;

use super::SystemWorkflow;
use super::workflow::INNER;
use crate::step_effects::each_text;

/// What names the result of a step. A switch names its value in a form of its own.
const NAMES: [&str; 2] = ["$step.", "$.vars."];

#[derive(Debug)]
pub(super) struct WorkflowIndex<'w> {
    source_text: &'w str,
    /// Where each line of the file begins, and where the last one ends.
    line_ends: Vec<usize>,
    /// The first line of each step, and of each section of the file, ascending.
    starts: Vec<usize>,
    /// The first step's.
    first: Option<usize>,
    /// The number of lines that are not blank at the end.
    count: usize,
    /// By step: the steps with an edge to it, in order of their ids.
    before: HashMap<&'w str, Vec<&'w str>>,
    /// By step: the fields of its result that arguments and edges name.
    used: HashMap<String, BTreeSet<String>>,
}

impl<'w> WorkflowIndex<'w> {
    pub(super) fn new(workflow: &SystemWorkflow<'w>) -> WorkflowIndex<'w> {
        let nodes = || workflow.document.graph.nodes.iter();
        // What the compiler puts in has the place of the whole workflow.
        let steps = nodes().filter(|node| !INNER.contains(&node.kind.as_str()));
        let first = steps.filter_map(first_line).min();
        let mut starts: BTreeSet<usize> = nodes().filter_map(first_line).collect();
        let lines = workflow.source_text.lines().enumerate();
        let sections = lines.filter(|(_, line)| line.starts_with(|letter: char| !letter.is_whitespace()));
        starts.extend(sections.map(|(index, _)| index + 1));
        let line_ends = workflow.source_text.split_inclusive('\n').scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        WorkflowIndex {
            source_text: workflow.source_text,
            line_ends: std::iter::once(0).chain(line_ends).collect(),
            starts: starts.into_iter().collect(),
            first,
            count: workflow.source_text.trim_end().lines().count().max(1),
            before: before(workflow),
            used: used(workflow),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The text before the first step.
    pub(super) fn head(&self) -> (usize, usize) {
        let first = self.first.unwrap_or(self.count + 1);
        (1, first.saturating_sub(1).max(1))
    }

    /// Which lines of the file a step takes: from its own to the one before the next step or section.
    pub(super) fn lines_of(&self, node: &DocumentNode) -> Option<(usize, usize)> {
        let first = first_line(node)?;
        let next = self.starts.partition_point(|start| *start <= first);
        let next = self.starts.get(next).copied().unwrap_or(self.count + 1);
        Some((first, next.saturating_sub(1).max(first)))
    }

    /// The text of whole lines.
    pub(super) fn text(&self, first: usize, last: usize) -> &'w str {
        let end = |line: usize| self.line_ends.get(line).copied().unwrap_or(self.source_text.len());
        self.source_text.get(end(first.saturating_sub(1))..end(last)).unwrap_or_default()
    }

    /// The steps with an edge to a step, each once, in order of their ids.
    pub(super) fn before(&self, step: &str) -> &[&'w str] {
        self.before.get(step).map(Vec::as_slice).unwrap_or_default()
    }

    /// The parts of a step's result that the document uses, by name; each once, in order.
    pub(super) fn used_fields(&self, step: &str) -> Vec<String> {
        self.used.get(step).into_iter().flatten().cloned().collect()
    }
}

fn first_line(node: &DocumentNode) -> Option<usize> {
    usize::try_from(Origin::of(&node.extra)?.line).ok()
}

fn before<'w>(workflow: &SystemWorkflow<'w>) -> HashMap<&'w str, Vec<&'w str>> {
    let mut before: HashMap<&str, Vec<&str>> = HashMap::new();
    for edge in workflow.document.graph.edges.iter().filter(|edge| edge.from != edge.to) {
        before.entry(edge.to.as_str()).or_default().push(edge.from.as_str());
    }
    for steps in before.values_mut() {
        steps.sort_unstable();
        steps.dedup();
    }
    before
}

fn used(workflow: &SystemWorkflow<'_>) -> HashMap<String, BTreeSet<String>> {
    let graph = &workflow.document.graph;
    let ids: BTreeSet<&str> = graph.nodes.iter().map(|node| node.id.as_str()).collect();
    let longest = ids.iter().map(|id| id.len()).max().unwrap_or_default();
    let mut used: HashMap<String, BTreeSet<String>> = HashMap::new();
    let nodes = graph.nodes.iter().map(|node| &node.with);
    for part in nodes.chain(graph.edges.iter().map(|edge| &edge.extra)) {
        for value in part.values() {
            each_text(value, &mut |text| {
                for named in NAMES.iter().flat_map(|name| text.split(name).skip(1)) {
                    for (step, field) in steps_named(named, &ids, longest) {
                        used.entry(step.to_owned()).or_default().insert(field.to_owned());
                    }
                }
            });
        }
    }
    used
}

/// The steps and fields that a text begins with. Ids may hold dots, so one text can name several steps.
fn steps_named<'t>(
    text: &'t str,
    ids: &BTreeSet<&str>,
    longest: usize,
) -> impl Iterator<Item = (&'t str, &'t str)> {
    let dots = text.bytes().take(longest.saturating_add(1)).enumerate();
    let dots = dots.filter(|(_, byte)| *byte == b'.').map(|(at, _)| at);
    dots.filter_map(|at| {
        let step = text.get(..at).filter(|step| ids.contains(step))?;
        let rest = text.get(at + 1..)?;
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-');
        let field = rest.get(..end.unwrap_or(rest.len()))?;
        (!field.is_empty()).then_some((step, field))
    })
}
