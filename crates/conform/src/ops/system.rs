//! Ops of the system line. The header of [`super`] says how one is added.

use stave_canon::{Value, compact_utf8};
use stave_system::verify::{Concern, verify};
use stave_system::{Document, Node, PlanContext, strip};

use super::{Outcome, Refusal, Table, member, output, text};

pub(super) const OPS: Table = &[
    ("system.acceptance_contract_id", acceptance_contract_id),
    ("system.diff", diff),
    ("system.document_fingerprint", document_fingerprint),
    ("system.load", load),
    ("system.node_fingerprint", node_fingerprint),
    ("system.plan_to_ir", plan_to_ir),
    ("system.runtime_contract_id", runtime_contract_id),
    ("system.stable_json_fingerprint", stable_json_fingerprint),
    ("system.stable_node_id", stable_node_id),
    ("system.to_json", to_json),
    ("system.validate", validate),
    ("system.workflow_order", workflow_order),
];

/// The document in `document`, or the one whose file text is in `text`.
fn document(input: &Value) -> Result<Document, Refusal> {
    match input.get("document") {
        Some(document) => Ok(Document::from_value(document)?),
        None => Ok(Document::from_text(text(input, "text")?)?),
    }
}

fn load(input: &Value) -> Outcome {
    let document = document(input)?;
    Ok(output([("fingerprint", document.fingerprint().into()), ("json", document.to_value())]))
}

fn to_json(input: &Value) -> Outcome {
    let document = document(input)?;
    Ok(output([
        ("file_text", document.to_file_text().into()),
        ("fingerprint", document.fingerprint().into()),
    ]))
}

fn document_fingerprint(input: &Value) -> Outcome {
    let document = document(input)?;
    let nodes = document.nodes.iter().map(|node| (strip(&node.id), node.fingerprint()));
    Ok(output([
        ("fingerprint", document.fingerprint().into()),
        ("canonical_text", compact_utf8(&document.to_value()).into()),
        ("node_fingerprints", Value::from_iter(nodes)),
    ]))
}

fn node_fingerprint(input: &Value) -> Outcome {
    let node = Node::from_value(member(input, "node")?)?;
    Ok(output([
        ("fingerprint", node.fingerprint().into()),
        ("canonical_text", compact_utf8(&stave_system::node_value(&node)).into()),
    ]))
}

fn stable_json_fingerprint(input: &Value) -> Outcome {
    let object = member(input, "object")?;
    Ok(output([
        ("fingerprint", stave_system::stable_json_fingerprint(object).into()),
        ("canonical_text", compact_utf8(object).into()),
    ]))
}

fn stable_node_id(input: &Value) -> Outcome {
    Ok(stave_system::stable_node_id(text(input, "kind")?, text(input, "name")?)?.into())
}

fn runtime_contract_id(input: &Value) -> Outcome {
    Ok(stave_system::runtime_contract_id(text(input, "plan_id")?, text(input, "step_id")?)?.into())
}

fn acceptance_contract_id(input: &Value) -> Outcome {
    Ok(stave_system::acceptance_contract_id(text(input, "tenant_id")?, text(input, "intent_id")?)?.into())
}

fn validate(input: &Value) -> Outcome {
    let findings = verify(&document(input)?);
    let fine = |concern| !findings.iter().any(|finding| finding.rule.concern() == concern);
    Ok(output([("contracts_ok", fine(Concern::Contracts).into()), ("graph_ok", fine(Concern::Graph).into())]))
}

fn diff(input: &Value) -> Outcome {
    let before = Document::from_value(member(input, "before")?)?;
    let after = Document::from_value(member(input, "after")?)?;
    let difference = stave_system::diff(&before, &after)?;
    Ok(output([
        ("added", difference.added.into()),
        ("removed", difference.removed.into()),
        ("changed", difference.changed.into()),
    ]))
}

fn workflow_order(input: &Value) -> Outcome {
    let document = document(input)?;
    let order: Vec<Value> =
        stave_system::workflow_order(&document).into_iter().map(|node| strip(&node.id).into()).collect();
    Ok(output([("order", Value::Array(order))]))
}

fn plan_to_ir(input: &Value) -> Outcome {
    let part = |key: &str| input.get(key).filter(|value| !value.is_null());
    let context = PlanContext {
        intent_node_properties: part("intent_node_properties"),
        intent_spec: part("intent_spec"),
    };
    let document = stave_system::plan_to_ir(member(input, "plan")?, context)?;
    Ok(output([("document", document.to_value()), ("fingerprint", document.fingerprint().into())]))
}
