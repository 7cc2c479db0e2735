//! The canonical form of documents: one order for everything that is a set, nothing absent written.

use stave_canon::{Layout, Object, Sink, Value, compact_utf8, pretty_sorted_utf8, write};

use crate::model::{
    ContractTrigger, EffectAnnotation, IoContract, OperationalBudget, OperationalContract, ProvenancePointer,
    SCHEMA_KIND, StateMachineContract, StateTransition,
};
use crate::{Document, Node, strip};

/// Writes the canonical text node by node; neither the text nor a tree of it is held whole.
pub(crate) fn canonical(document: &Document, sink: &mut impl Sink) {
    let text = |value: &str| compact_utf8(&value.into());
    sink.put(&format!("{{\"format_version\":{},\"nodes\":[", text(document.version.format_version())));
    for (index, node) in sorted(document).into_iter().enumerate() {
        sink.put(if index == 0 { "" } else { "," });
        write(&node_value(node), &Layout::COMPACT_UTF8, sink);
    }
    sink.put(&format!(
        "],\"repo_id\":{},\"schema_kind\":{},\"schema_version\":{},\"tenant_id\":{}}}",
        text(strip(&document.repo_id)),
        text(SCHEMA_KIND),
        document.version.schema_version(),
        text(strip(&document.tenant_id)),
    ));
}

/// The file's text, node by node: one node's lines are those of the node alone, four columns further in.
pub(super) fn file_text(document: &Document) -> String {
    if document.nodes.is_empty() {
        return pretty_sorted_utf8(&document_value(document));
    }
    let text = |value: &str| compact_utf8(&value.into());
    let mut file =
        format!("{{\n  \"format_version\": {},\n  \"nodes\": [", text(document.version.format_version()));
    for (index, node) in sorted(document).into_iter().enumerate() {
        file.push_str(if index == 0 { "" } else { "," });
        for line in pretty_sorted_utf8(&node_value(node)).split('\n') {
            file.push_str("\n    ");
            file.push_str(line);
        }
    }
    file.push_str(&format!(
        "\n  ],\n  \"repo_id\": {},\n  \"schema_kind\": {},\n  \"schema_version\": {},\n  \"tenant_id\": {}\n}}",
        text(strip(&document.repo_id)),
        text(SCHEMA_KIND),
        document.version.schema_version(),
        text(strip(&document.tenant_id)),
    ));
    file
}

/// The nodes in order of their ids.
fn sorted(document: &Document) -> Vec<&Node> {
    let mut nodes: Vec<&Node> = document.nodes.iter().collect();
    nodes.sort_by_key(|node| strip(&node.id));
    nodes
}

pub(super) fn document_value(document: &Document) -> Value {
    let nodes = sorted(document);
    object([
        ("schema_kind", SCHEMA_KIND.into()),
        ("schema_version", document.version.schema_version().into()),
        ("format_version", document.version.format_version().into()),
        ("tenant_id", strip(&document.tenant_id).into()),
        ("repo_id", strip(&document.repo_id).into()),
        ("nodes", Value::Array(nodes.into_iter().map(node_value).collect())),
    ])
}

/// The canonical form of a node.
#[must_use]
pub fn node_value(node: &Node) -> Value {
    object([
        ("id", strip(&node.id).into()),
        ("tenant_id", strip(&node.tenant_id).into()),
        ("kind", node.kind.word().into()),
        ("name", strip(&node.name).into()),
        ("properties", node.properties.clone().into()),
        ("depends_on", depends_on(&node.depends_on)),
        ("effects", optional(node.effects.as_ref(), effects_value)),
        ("provenance", provenance_rows(&node.provenance)),
        ("contract", optional(node.contract.as_ref(), contract_value)),
    ])
}

/// Without blank entries, each once, sorted.
fn depends_on(ids: &[String]) -> Value {
    let mut ids: Vec<&str> = ids.iter().map(|id| strip(id)).filter(|id| !id.is_empty()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into()
}

fn effects_value(effects: &EffectAnnotation) -> Value {
    object([
        ("network", effects.network.into()),
        ("fs_read", strings(&effects.fs_read)),
        ("fs_write", strings(&effects.fs_write)),
        ("secrets", strings(&effects.secrets)),
        ("tools", strings(&effects.tools)),
    ])
}

/// Sorted by kind, source and locator; rows that agree in all three by their canonical text, so that the
/// order in which they came never shows.
fn provenance_rows(rows: &[ProvenancePointer]) -> Value {
    let mut rows: Vec<(&ProvenancePointer, Value)> =
        rows.iter().map(|row| (row, provenance_value(row))).collect();
    rows.sort_by_cached_key(|(row, value)| {
        (
            row.kind.word(),
            strip(&row.source_id).to_owned(),
            row.locator.as_deref().map(strip).unwrap_or_default().to_owned(),
            compact_utf8(value),
        )
    });
    Value::Array(rows.into_iter().map(|(_, value)| value).collect())
}

fn provenance_value(row: &ProvenancePointer) -> Value {
    let metadata = Some(&row.metadata).filter(|metadata| !metadata.is_empty());
    object([
        ("tenant_id", strip(&row.tenant_id).into()),
        ("kind", row.kind.word().into()),
        ("source_id", strip(&row.source_id).into()),
        ("locator", row.locator.as_deref().map(strip).into()),
        ("sha256", row.sha256.clone().into()),
        ("metadata", metadata.cloned().into()),
    ])
}

/// The canonical form of a contract.
#[must_use]
pub fn contract_value(contract: &OperationalContract) -> Value {
    let mut triggers: Vec<&ContractTrigger> = contract.triggers.iter().collect();
    triggers.sort_by_key(|trigger| strip(&trigger.trigger_id));
    object([
        ("contract_id", strip(&contract.contract_id).into()),
        ("contract_category", contract.contract_category.word().into()),
        ("triggers", Value::Array(triggers.into_iter().map(trigger_value).collect())),
        ("io_contract", io_value(&contract.io_contract)),
        ("state_machine", optional(contract.state_machine.as_ref(), machine_value)),
        ("runtime_budget", optional(contract.runtime_budget.as_ref(), budget_value)),
        ("acceptance", contract.acceptance.clone().into()),
    ])
}

fn trigger_value(trigger: &ContractTrigger) -> Value {
    object([
        ("trigger_id", strip(&trigger.trigger_id).into()),
        ("source", strip(&trigger.source).into()),
        ("details", trigger.details.clone().into()),
    ])
}

fn io_value(io: &IoContract) -> Value {
    object([
        ("input_keys", stripped(&io.input_keys)),
        ("output_keys", stripped(&io.output_keys)),
        ("schema", io.schema.clone().into()),
    ])
}

fn machine_value(machine: &StateMachineContract) -> Value {
    let mut transitions: Vec<&StateTransition> = machine.transitions.iter().collect();
    transitions.sort_by_key(|transition| strip(&transition.transition_id));
    object([
        ("initial_state", strip(&machine.initial_state).into()),
        ("transitions", Value::Array(transitions.into_iter().map(transition_value).collect())),
    ])
}

fn transition_value(transition: &StateTransition) -> Value {
    object([
        ("transition_id", strip(&transition.transition_id).into()),
        ("from_state", strip(&transition.from_state).into()),
        ("to_state", strip(&transition.to_state).into()),
        ("trigger_id", transition.trigger_id.as_deref().map(strip).into()),
        ("guard", transition.guard.clone().into()),
    ])
}

fn budget_value(budget: &OperationalBudget) -> Value {
    object([
        ("max_seconds", budget.max_seconds.clone().into()),
        ("max_steps", budget.max_steps.clone().into()),
        ("max_tokens", budget.max_tokens.clone().into()),
    ])
}

fn strings(items: &[String]) -> Value {
    items.iter().map(String::as_str).collect::<Vec<_>>().into()
}

fn stripped(items: &[String]) -> Value {
    items.iter().map(|item| strip(item)).collect::<Vec<_>>().into()
}

fn optional<T>(part: Option<&T>, write: impl Fn(&T) -> Value) -> Value {
    part.map_or(Value::Null, write)
}

/// An object of the members that are not null. Free-form values stay out of this: a null inside them is
/// their own.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let present = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(present.map(|(key, value)| (key.to_owned(), value)).collect::<Object>())
}
