//! Labels from where they are declared to everywhere they reach.

use std::collections::{BTreeMap, HashMap, HashSet};

use stave_diag::Span;
use stave_script::Read;

use super::path::{Label, join, join_all};
use super::reads;
use crate::check::state_keys::RecordPattern;
use crate::check::subject::{Subject, tools};
use crate::graph::{Connected, EdgeSource};
use crate::model::{Node, Port, Sensitivity, Spanned, Text};

/// The labels of everything in a flow that has one.
#[derive(Debug, Default)]
pub(super) struct Labels<'flow> {
    pub(super) fields: BTreeMap<&'flow str, Label>,
    /// By node and port.
    pub(super) inputs: HashMap<(&'flow str, &'flow str), Label>,
    pub(super) outputs: HashMap<(&'flow str, &'flow str), Label>,
    /// What comes out of a node's error port.
    errors: HashMap<&'flow str, Label>,
    /// What the failure of a node may quote: everything that it is given, read or not, since its inputs are checked
    /// before it runs.
    pub(super) failed: HashMap<&'flow str, Label>,
    /// What a node's model sees, and so what it may answer.
    pub(super) asked: HashMap<&'flow str, Label>,
    /// What a node writes into its state.
    pub(super) written: HashMap<&'flow str, Label>,
    /// By node, what may be found in its state.
    pub(super) kept: HashMap<&'flow str, Label>,
    /// The most sensitive of what a node reads.
    pub(super) made: HashMap<&'flow str, Label>,
}

/// A flow settles in a few rounds, since levels only rise and there are three; this many are never needed.
const MOST_ROUNDS: usize = 64;

pub(super) fn travel<'flow>(subject: &Subject<'flow>) -> Labels<'flow> {
    let mut labels = Labels::default();
    for (name, level) in &subject.flow.context.sensitivity {
        if let Some(label) = declared(Some(*level), || format!("the context field `{}`", name.value)) {
            labels.fields.insert(name.as_str(), label);
        }
    }
    for (name, level) in &subject.options.scopes.fields {
        let span = subject.flow.context.span;
        let floor = Spanned { value: *level, span };
        let label = declared(Some(floor), || format!("the context field `{name}`, as the project says,"));
        if labels.fields.get(name.as_str()).is_none_or(|own| own.level < *level)
            && let Some(label) = label
        {
            labels.fields.insert(name.as_str(), label);
        }
    }
    let incoming = incoming(subject);
    let order = order(subject);
    let records = aliases(subject);
    for _ in 0..MOST_ROUNDS {
        let mut changed = false;
        for node in &order {
            changed |= visit(subject, &mut labels, node, &incoming, &records);
        }
        if !changed {
            break;
        }
    }
    labels
}

/// The output of `transform.each` that has the failures of its items.
const EACH_ERRORS: &str = "errors";

type Incoming<'edges, 'flow> = HashMap<(&'flow str, &'flow str), Vec<&'edges Connected<'flow>>>;

fn incoming<'edges, 'flow>(subject: &'edges Subject<'flow>) -> Incoming<'edges, 'flow> {
    let mut incoming: Incoming<'edges, 'flow> = HashMap::new();
    for connected in &subject.edges {
        if let (Some(node), Some(port)) = (connected.destination.node(), connected.destination.port()) {
            incoming.entry((node.id.as_str(), port.name.as_str())).or_default().push(connected);
        }
    }
    incoming
}

/// By node with state, the nodes whose records may be the same as its own; itself among them.
type Aliases<'flow> = HashMap<&'flow str, Vec<&'flow str>>;

fn aliases<'flow>(subject: &Subject<'flow>) -> Aliases<'flow> {
    let nodes = subject.nodes().filter(|node| node.state.is_read());
    let records: Vec<(&str, Option<RecordPattern>)> =
        nodes.map(|node| (node.id.as_str(), RecordPattern::of(subject, node))).collect();
    let same = |one: &Option<RecordPattern>, other: &Option<RecordPattern>| match (one, other) {
        (Some(one), Some(other)) => one.may_be(other),
        // A key that cannot be read could be any key.
        _ => true,
    };
    let with = |one: &Option<RecordPattern>| {
        records.iter().filter(|(_, other)| same(one, other)).map(|(id, _)| *id).collect()
    };
    records.iter().map(|(id, record)| (*id, with(record))).collect()
}

/// The nodes in an order in which each follows those that lead to it, as far as that is possible.
fn order<'flow>(subject: &Subject<'flow>) -> Vec<&'flow Node> {
    let mut order = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for start in subject.nodes() {
        let mut open = vec![(start, false)];
        while let Some((node, done)) = open.pop() {
            let id = node.id.as_str();
            if done {
                order.push(node);
            } else if seen.insert(id) {
                open.push((node, true));
                let leaders = subject.leaders.get(id).into_iter().flatten();
                let callers = subject.callers(id).iter().map(|(caller, _)| caller.id.as_str());
                let runners = subject.runners(id).iter().map(|runner| runner.id.as_str());
                let before = leaders
                    .copied()
                    .chain(callers)
                    .chain(runners)
                    .filter_map(|id| subject.flow.nodes.get(id));
                open.extend(before.map(|node| (node, false)));
            }
        }
    }
    order
}

fn declared(level: Option<Spanned<Sensitivity>>, what: impl FnOnce() -> String) -> Option<Label> {
    let level = level.filter(|level| level.value > Sensitivity::Public)?;
    Some(Label::declared(level.value, level.span, what()))
}

/// Brings the labels of one node up to date; whether anything rose.
fn visit<'flow>(
    subject: &Subject<'flow>,
    labels: &mut Labels<'flow>,
    node: &'flow Node,
    incoming: &Incoming<'_, 'flow>,
    records: &Aliases<'flow>,
) -> bool {
    let id = node.id.as_str();
    let mut changed = false;
    for port in &node.inputs {
        let name = port.name.as_str();
        let own = declared(port.sensitivity, || format!("the input `{id}.{name}`"));
        let edges = incoming.get(&(id, name)).into_iter().flatten();
        let fed = join_all(edges.map(|connected| labels.carried(subject, connected)));
        let called = join_all(subject.callers(id).iter().map(|(caller, tool)| {
            let asked = labels.asked.get(caller.id.as_str())?;
            let span = tool.maps_to.as_ref().map_or(tool.span, |target| target.span);
            Some(asked.on(span, format!("the model of `{}` may pass it to this tool", caller.id.value)))
        }));
        let given = join_all(subject.runners(id).iter().map(|runner| {
            let read = reads::of_transform(subject, runner);
            let label = join_all(read.iter().map(|read| labels.read(runner, read)))?;
            Some(label.on(runner.id.span, format!("node `{}` runs it for every item", runner.id.value)))
        }));
        changed |= raise(&mut labels.inputs, (id, name), join(join(own, given), join(fed, called)));
    }
    if node.prompt.is_read() {
        let seen = reads::of_prompt(subject, node).into_iter().map(|(read, span)| {
            let label = labels.read(node, &read)?;
            Some(label.on(span, format!("the model of `{id}` reads it here")))
        });
        let seen = join_all(seen);
        let told = join_all(tools(node).map(|tool| labels.told(subject, tool.maps_to.as_ref()?)));
        changed |= raise(&mut labels.asked, id, join(seen, told));
    }
    let read = join_all(reads::of_transform(subject, node).iter().map(|read| labels.read(node, read)));
    let (gets, sets) = reads::state_use(subject, node);
    let sharers = records.get(id);
    let own = node
        .state
        .as_ref()
        .and_then(|state| declared(state.sensitivity, || format!("the state of node `{id}`")));
    let recalled = match sharers {
        Some(_) if gets => {
            let kept = labels.kept.get(id);
            let span = node.state.as_ref().map_or(node.id.span, |state| state.key_span);
            join(own.clone(), kept.map(|label| label.on(span, format!("node `{id}` reads it back"))))
        }
        _ => None,
    };
    let answered = node.each().and_then(|each| labels.answered(subject, each.node));
    let made = join(join(read, answered), recalled);
    changed |= raise(&mut labels.made, id, made.clone());
    if let (Some(sharers), true) = (sharers, sets) {
        changed |= raise(&mut labels.written, id, made.clone());
        let span = node.state.as_ref().map_or(node.id.span, |state| state.key_span);
        let kept = made.as_ref().map(|label| label.on(span, format!("node `{id}` keeps it in its state")));
        let kept = join(own, kept);
        for sharer in sharers {
            changed |= raise(&mut labels.kept, sharer, kept.clone());
        }
    }
    let item_failed = node.each().and_then(|each| labels.failure(subject, each.node));
    for port in &node.outputs {
        let made = match port.name.as_str() {
            EACH_ERRORS => join(made.clone(), item_failed.clone()),
            _ => made.clone(),
        };
        let label = output(subject, port, node, made.as_ref(), "output");
        changed |= raise(&mut labels.outputs, (id, port.name.as_str()), label);
    }
    let asked = labels.asked.get(id).cloned();
    let given = labels.read(node, &Read::EveryInput);
    let keys = join_all(reads::of_keys(node).iter().map(|read| labels.read(node, read)));
    let kept = labels.kept.get(id).cloned();
    let edges = node.inputs.iter().flat_map(|port| incoming.get(&(id, port.name.as_str()))).flatten();
    let edges = join_all(edges.map(|connected| labels.evaluated(subject, connected)));
    let failed = join_all([made, asked, given, keys, kept, edges, item_failed]);
    changed |= raise(&mut labels.failed, id, failed.clone());
    if let Some(port) = node.error.as_ref() {
        let label = output(subject, port, node, failed.as_ref(), "error port");
        changed |= raise(&mut labels.errors, id, label);
    }
    changed
}

/// An output is as sensitive as what went into it. A label of its own raises that, and lowers it only where the
/// project says so.
fn output(
    subject: &Subject<'_>,
    port: &Port,
    node: &Node,
    made: Option<&Label>,
    what: &str,
) -> Option<Label> {
    let (id, name) = (node.id.as_str(), port.name.as_str());
    let own = declared(port.sensitivity, || format!("the {what} `{id}.{name}`"));
    let flow = subject.flow.metadata.name.as_ref().map(Text::as_str);
    if port.sensitivity.is_some() && subject.options.scopes.declassifies(flow, id, name) {
        return own;
    }
    let made = made.map(|label| label.on(node.id.span, format!("node `{id}` makes `{name}` of it")));
    join(own, made)
}

fn raise<K: std::hash::Hash + Eq>(labels: &mut HashMap<K, Label>, key: K, label: Option<Label>) -> bool {
    let Some(label) = label else { return false };
    if labels.get(&key).is_some_and(|known| known.level >= label.level) {
        return false;
    }
    labels.insert(key, label);
    true
}

impl<'flow> Labels<'flow> {
    /// The label of something that a node reads.
    pub(super) fn read(&self, node: &Node, read: &Read) -> Option<Label> {
        match read {
            Read::Input(name) => self.inputs.get(&(node.id.as_str(), name.as_str())).cloned(),
            Read::EveryInput => {
                let ports = node.inputs.iter().map(|port| (node.id.as_str(), port.name.as_str()));
                join_all(ports.map(|port| self.inputs.get(&port).cloned()))
            }
            Read::Context(name) => self.fields.get(name.as_str()).cloned(),
            Read::EveryContextField => join_all(self.fields.values().cloned().map(Some)),
            Read::Reply => self.asked.get(node.id.as_str()).cloned(),
        }
    }

    /// What a node answers to a tool call: its outputs, or the words of its failure. Consent to lower an output does
    /// not lower a failure.
    pub(super) fn told(&self, subject: &Subject<'flow>, target: &Text) -> Option<Label> {
        join(self.answered(subject, target), self.failure(subject, target))
    }

    /// What the failure of a node reveals to its caller.
    fn failure(&self, subject: &Subject<'flow>, target: &Text) -> Option<Label> {
        let label = self.error(subject.flow.nodes.get(target.as_str())?)?;
        Some(label.on(target.span, format!("a failure of node `{}` may quote it", target.as_str())))
    }

    /// The label of a node's failure: what its error port has, where the node has one.
    pub(super) fn error(&self, node: &Node) -> Option<Label> {
        let id = node.id.as_str();
        if node.error.is_read() { self.errors.get(id).cloned() } else { self.failed.get(id).cloned() }
    }

    /// What a node makes for its caller.
    fn answered(&self, subject: &Subject<'flow>, target: &Text) -> Option<Label> {
        let node = subject.flow.nodes.get(target.as_str())?;
        let outputs =
            node.outputs.iter().map(|port| self.outputs.get(&(node.id.as_str(), port.name.as_str())));
        let label = join_all(outputs.map(Option::<&Label>::cloned))?;
        Some(label.on(target.span, format!("it is answered with what node `{}` makes", node.id.value)))
    }

    /// The label of what an edge brings.
    fn carried(&self, subject: &Subject<'flow>, connected: &Connected<'flow>) -> Option<Label> {
        let end = connected.edge.to.as_ref()?;
        let step = |label: Label, span: Span| label.on(span, format!("it travels to `{end}`"));
        if connected.edge.transform.is_absent() {
            return self.leaving(connected).map(|label| step(label, end.span));
        }
        // Only what the expression reads is passed on.
        let found = subject.expressions.get(&connected.edge.index)?.transform.as_ref()?;
        let used = found.reads.iter().map(|read| self.used(connected, read));
        join_all(used).map(|label| step(label, end.span))
    }

    /// The label of something that an expression of an edge reads.
    fn used(&self, connected: &Connected<'flow>, read: &Read) -> Option<Label> {
        match read {
            Read::Context(name) => self.fields.get(name.as_str()).cloned(),
            Read::EveryContextField => join_all(self.fields.values().cloned().map(Some)),
            Read::Input(name) if name == "outputs" => join(self.leaving(connected), self.given(connected)),
            Read::Input(_) | Read::EveryInput | Read::Reply => self.leaving(connected),
        }
    }

    /// What the failure of an edge may quote: what its condition and its transform read, and what it carries.
    pub(super) fn evaluated(&self, subject: &Subject<'flow>, connected: &Connected<'flow>) -> Option<Label> {
        let found = subject.expressions.get(&connected.edge.index)?;
        let reads = found.each().flat_map(|expression| &expression.reads);
        let used = join_all(reads.map(|read| self.used(connected, read)));
        join(used, self.leaving(connected))
    }

    /// The label of everything that the edge's source makes.
    fn given(&self, connected: &Connected<'flow>) -> Option<Label> {
        let node = connected.origin.node()?;
        let ports = node.outputs.iter().map(|port| (node.id.as_str(), port.name.as_str()));
        join_all(ports.map(|port| self.outputs.get(&port).cloned()))
    }

    fn leaving(&self, connected: &Connected<'flow>) -> Option<Label> {
        match connected.origin {
            EdgeSource::Request(field) => self.fields.get(field).cloned(),
            EdgeSource::Output(node, port) => {
                self.outputs.get(&(node.id.as_str(), port.name.as_str())).cloned()
            }
            EdgeSource::Error(node, _) => self.errors.get(node.id.as_str()).cloned(),
        }
    }
}
