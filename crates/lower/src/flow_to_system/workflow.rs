//! Workflows, which have an exec document and no flow: an intent, a workflow node per exec node, and what
//! the steps reach, as far as the document says.

use std::collections::BTreeSet;

use stave_canon::{Object, Value, compact_utf8, sha256_hex};
use stave_exec::dataflow::Origin;
use stave_exec::{DocumentEdge, DocumentNode};
use stave_operations::step_kind;
use stave_system::model::{
    ContractCategory, ContractTrigger, EffectAnnotation, IoContract, OperationalBudget, OperationalContract,
    ProvenanceKind, ProvenancePointer,
};
use stave_system::{
    BlankPart, NodeKind, SystemNode, acceptance_contract_id, runtime_contract_id, stable_node_id,
};

use super::effects::secret_names;
use super::integration;
use super::{Lowering, Nodes, SystemWorkflow};
use crate::step_effects::each_text;

/// Steps that the compiler puts in; they touch nothing.
const INNER: [&str; 4] = ["switch", "dsl.emit", "finish", "dsl.finish"];

impl<'f> Lowering<'f> {
    pub(super) fn workflow(&self, workflow: &SystemWorkflow<'f>, nodes: &mut Nodes) -> Result<(), BlankPart> {
        let document = workflow.document;
        let name = document.flow.name.as_str();
        let id_of = |node: &str| stable_node_id("workflow", &format!("{name}:{node}"));
        let lines = Lines::new(workflow);
        let intent = nodes.add(self.workflow_intent(workflow, &lines)?);
        let policy = self.workflow_policy(workflow, nodes)?;
        for (index, node) in document.graph.nodes.iter().enumerate() {
            let edges = document.graph.edges.iter();
            let before: BTreeSet<&str> =
                edges.filter(|edge| is_before(edge, node)).map(|edge| edge.from.as_str()).collect();
            let mut depends_on = before.iter().map(|name| id_of(name)).collect::<Result<Vec<_>, _>>()?;
            if depends_on.is_empty() {
                depends_on.push(intent.clone());
            }
            if node.kind.starts_with("policy.") {
                depends_on.extend(policy.clone());
            }
            let provenance = lines.of(node).map(|lines| self.place(workflow, lines));
            depends_on.extend(self.reached(node, provenance.clone(), nodes)?);
            let properties = [
                ("plan_id", Value::from(name)),
                ("step_id", node.id.as_str().into()),
                ("step_kind", node.kind.as_str().into()),
                ("order_idx", index.into()),
                ("timeout_ms", node.timeout_ms.into()),
                ("retries", node.retry.max.into()),
            ];
            let whole = || self.place(workflow, (1, lines.count()));
            nodes.add(SystemNode {
                properties: properties.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                depends_on,
                effects: Some(effects(node)),
                provenance: vec![provenance.unwrap_or_else(whole)],
                contract: Some(contract(workflow, node, &before)?),
                ..SystemNode::new(id_of(&node.id)?, self.tenant_id, NodeKind::Workflow, node.id.as_str())
            });
        }
        Ok(())
    }

    /// A workflow has no tests; what it is accepted by is that it ends within its time.
    fn workflow_intent(&self, workflow: &SystemWorkflow<'f>, lines: &Lines) -> Result<SystemNode, BlankPart> {
        let document = workflow.document;
        let name = document.flow.name.as_str();
        let contract_id = acceptance_contract_id(self.tenant_id, name)?;
        let mut contract = OperationalContract::acceptance(contract_id, []);
        if document.flow.timeout_ms > 0 {
            let seconds = document.flow.timeout_ms.div_ceil(1000);
            contract.runtime_budget = Some(OperationalBudget {
                max_seconds: Some(u64::from(seconds).into()),
                ..OperationalBudget::default()
            });
        }
        let inputs: Vec<&str> = document.inputs_schema.keys().map(String::as_str).collect();
        let properties: [(&str, Value); 5] = [
            ("intent_id", name.into()),
            ("spec_version", 1_i64.into()),
            ("active_success_criteria", Value::Array(Vec::new())),
            ("requires", inputs.into()),
            ("optional", Value::Array(Vec::new())),
        ];
        Ok(SystemNode {
            properties: properties.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            provenance: vec![self.place(workflow, lines.head())],
            contract: Some(contract),
            ..SystemNode::new(
                stable_node_id("intent", &format!("intent:{name}"))?,
                self.tenant_id,
                NodeKind::Intent,
                name,
            )
        })
    }

    /// The policy that is baked into the document; `None` for a workflow that applies none.
    fn workflow_policy(
        &self,
        workflow: &SystemWorkflow<'f>,
        nodes: &mut Nodes,
    ) -> Result<Option<String>, BlankPart> {
        let constants = &workflow.document.constants;
        if constants.policy.is_empty() {
            return Ok(None);
        }
        let id = stable_node_id("policy", &constants.policy_ref)?;
        let mut node = SystemNode::new(id, self.tenant_id, NodeKind::Policy, constants.policy_ref.as_str());
        node.properties.insert("policy_set".into(), constants.policy_ref.as_str().into());
        let text = compact_utf8(&constants.policy.clone().into());
        node.properties.insert("sha256".into(), sha256_hex(text).into());
        Ok(Some(nodes.add(node)))
    }

    /// Whom a step reaches, as the id of an integration.
    fn reached(
        &self,
        node: &DocumentNode,
        provenance: Option<ProvenancePointer>,
        nodes: &mut Nodes,
    ) -> Result<Option<String>, BlankPart> {
        let text = |name: &str| node.with.get(name).and_then(Value::as_str).map(unquoted);
        let found = step_kind(&node.kind).and_then(|kind| integration::reached(kind.receiver, &text));
        let Some(found) = found else { return Ok(None) };
        Ok(Some(nodes.add(self.reached_node(&found, provenance.into_iter().collect())?)))
    }

    /// Whole lines of the workflow's file.
    fn place(&self, workflow: &SystemWorkflow<'_>, (first, last): (usize, usize)) -> ProvenancePointer {
        let lines = workflow.source_text.split_inclusive('\n');
        let text: String = lines.skip(first.saturating_sub(1)).take(last.saturating_sub(first) + 1).collect();
        ProvenancePointer {
            tenant_id: self.tenant_id.to_owned(),
            kind: ProvenanceKind::File,
            source_id: workflow.source_file.to_owned(),
            locator: Some(format!("L{first}-L{last}")),
            sha256: Some(sha256_hex(text)),
            metadata: Object::new(),
        }
    }
}

fn is_before(edge: &DocumentEdge, node: &DocumentNode) -> bool {
    edge.to == node.id && edge.from != node.id
}

/// Which lines of the file each step takes: from its own to the one before the next step or section.
struct Lines {
    /// The first line of each step, and of each section of the file, ascending.
    starts: Vec<usize>,
    /// The first step's.
    first: Option<usize>,
    /// The number of lines that are not blank at the end.
    count: usize,
}

impl Lines {
    fn new(workflow: &SystemWorkflow<'_>) -> Lines {
        let nodes = workflow.document.graph.nodes.iter();
        // What the compiler puts in has the place of the whole workflow.
        let steps = nodes.filter(|node| !INNER.contains(&node.kind.as_str()));
        let first = steps.filter_map(first_line).min();
        let mut starts: BTreeSet<usize> =
            workflow.document.graph.nodes.iter().filter_map(first_line).collect();
        let lines = workflow.source_text.lines().enumerate();
        let sections = lines.filter(|(_, line)| line.starts_with(|letter: char| !letter.is_whitespace()));
        starts.extend(sections.map(|(index, _)| index + 1));
        let count = workflow.source_text.trim_end().lines().count().max(1);
        Lines { starts: starts.into_iter().collect(), first, count }
    }

    fn count(&self) -> usize {
        self.count
    }

    /// What stands before the first step.
    fn head(&self) -> (usize, usize) {
        let first = self.first.unwrap_or(self.count + 1);
        (1, first.saturating_sub(1).max(1))
    }

    fn of(&self, node: &DocumentNode) -> Option<(usize, usize)> {
        let first = first_line(node)?;
        let next = self.starts.iter().copied().find(|start| *start > first).unwrap_or(self.count + 1);
        Some((first, next.saturating_sub(1).max(first)))
    }
}

fn first_line(node: &DocumentNode) -> Option<usize> {
    usize::try_from(Origin::of(&node.extra)?.line).ok()
}

fn effects(node: &DocumentNode) -> EffectAnnotation {
    if INNER.contains(&node.kind.as_str()) {
        return EffectAnnotation::default();
    }
    let mut secrets = BTreeSet::new();
    each_text(&node.with.clone().into(), &mut |text| secrets.extend(secret_names(text)));
    EffectAnnotation {
        // What a step of another runtime reaches is not known here.
        network: step_kind(&node.kind).is_none_or(|kind| kind.network),
        secrets: secrets.into_iter().collect(),
        tools: vec![node.kind.clone()],
        ..EffectAnnotation::default()
    }
}

fn contract(
    workflow: &SystemWorkflow<'_>,
    node: &DocumentNode,
    before: &BTreeSet<&str>,
) -> Result<OperationalContract, BlankPart> {
    let attempts = u64::from(node.retry.max).saturating_add(1);
    let seconds = u64::from(node.timeout_ms).saturating_mul(attempts).div_ceil(1000);
    // The specification asks for at least one key on either side.
    let filled = |keys: Vec<String>, otherwise: &str| {
        if keys.is_empty() { vec![otherwise.to_owned()] } else { keys }
    };
    Ok(OperationalContract {
        contract_id: runtime_contract_id(&workflow.document.flow.name, &node.id)?,
        contract_category: ContractCategory::Runtime,
        triggers: triggers(workflow, before),
        io_contract: IoContract {
            input_keys: filled(node.with.keys().cloned().collect(), "input"),
            output_keys: filled(outputs(workflow, node), "output"),
            schema: None,
        },
        state_machine: None,
        // A document's timeout of 0 is none.
        runtime_budget: Some(OperationalBudget {
            max_seconds: (seconds > 0).then(|| seconds.into()),
            max_steps: Some(attempts.into()),
            max_tokens: None,
        }),
        acceptance: None,
    })
}

/// What sets a step off: the steps before it; for the first one a request, and what the workflow names.
fn triggers(workflow: &SystemWorkflow<'_>, before: &BTreeSet<&str>) -> Vec<ContractTrigger> {
    let trigger =
        |trigger_id: String, source: String, details: Object| ContractTrigger { trigger_id, source, details };
    if !before.is_empty() {
        let after: Vec<&str> = before.iter().copied().collect();
        let details = [("after".to_owned(), Value::from(after))].into_iter().collect();
        return vec![trigger("t_upstream".to_owned(), "exec.edge".to_owned(), details)];
    }
    let named = workflow.triggers.iter().enumerate().map(|(index, row)| {
        let kind = row.get("kind").and_then(Value::as_str).unwrap_or("event");
        let details = row.as_object().cloned().unwrap_or_default();
        trigger(format!("t_{kind}_{}", index + 1), format!("trigger.{kind}"), details)
    });
    let request = trigger("t_request".to_owned(), "exec.request".to_owned(), Object::new());
    std::iter::once(request).chain(named).collect()
}

/// The parts of a step's result that the document uses, by name; each once, in order.
fn outputs(workflow: &SystemWorkflow<'_>, node: &DocumentNode) -> Vec<String> {
    let mut fields: BTreeSet<String> = BTreeSet::new();
    // A switch names its value in a form of its own.
    let prefixes = [format!("$step.{}.", node.id), format!("$.vars.{}.", node.id)];
    let graph = &workflow.document.graph;
    let nodes = graph.nodes.iter().map(|node| &node.with);
    for part in nodes.chain(graph.edges.iter().map(|edge| &edge.extra)) {
        each_text(&part.clone().into(), &mut |text| {
            for used in prefixes.iter().flat_map(|prefix| text.split(prefix.as_str()).skip(1)) {
                let end =
                    used.find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-');
                let field = used.get(..end.unwrap_or(used.len())).unwrap_or_default();
                if !field.is_empty() {
                    fields.insert(field.to_owned());
                }
            }
        });
    }
    fields.into_iter().collect()
}

/// Workflows keep the quotes around their texts.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.or_else(|| text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''))).unwrap_or(text)
}
