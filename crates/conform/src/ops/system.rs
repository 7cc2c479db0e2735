//! Ops of the system line. The header of [`super`] says how one is added.

use stave_canon::{Value, compact_utf8};
use stave_system::bundle::check::{BundleComparison, check};
use stave_system::bundle::{Bundle, BundleOptions, BundleSource, Intent};
use stave_system::policy::Check;
use stave_system::verify::{Concern, verify};
use stave_system::{PlanContext, SystemDocument, SystemNode, strip};

use super::{Outcome, Refusal, Table, member, output, text};

pub(super) const OPS: Table = &[
    ("system.acceptance_contract_id", acceptance_contract_id),
    ("system.bundle", bundle),
    ("system.consistency", consistency),
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
fn document(input: &Value) -> Result<SystemDocument, Refusal> {
    match input.get("document") {
        Some(document) => Ok(SystemDocument::from_value(document)?),
        None => Ok(SystemDocument::from_text(text(input, "text")?)?),
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
    let node = SystemNode::from_value(member(input, "node")?)?;
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
    let before = SystemDocument::from_value(member(input, "before")?)?;
    let after = SystemDocument::from_value(member(input, "after")?)?;
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

fn bundle(input: &Value) -> Outcome {
    let document = document(input)?;
    let part = |key: &str| input.get(key).filter(|value| !value.is_null());
    let copy = |key: &str| part(key).cloned().unwrap_or_default();
    let intent = part("intent_spec").map(|spec| Intent {
        spec: spec.clone(),
        reference: copy("intent_ref"),
        policy_projection: copy("intent_policy_projection"),
        has_success_criteria: part("intent_has_success_criteria").and_then(Value::as_bool) == Some(true),
    });
    let options = part("options").map_or_else(|| Ok(BundleOptions::default()), BundleOptions::from_value)?;
    let bundle = Bundle::emit(BundleSource {
        run_id: text(input, "run_id")?,
        document: &document,
        intent: intent.as_ref(),
        orchestration: &copy("orchestration"),
        coordination: &copy("coordination"),
        delivery_plan: part("delivery_plan"),
        options,
    })?;
    let bundle = bundle.value();
    let items = |key: &str| bundle.get(key).and_then(Value::as_array).unwrap_or_default();
    let ids = |key: &str, id: &str| -> Vec<Value> {
        items(key).iter().map(|item| item.get(id).cloned().unwrap_or_default()).collect()
    };
    let rows = items("deployment_intents").iter().map(|row| {
        let keys = ["node_id", "kind", "name", "effects", "contract_id"];
        Value::from_iter(keys.map(|key| (key, row.get(key).cloned().unwrap_or_default())))
    });
    let member = |key: &str| bundle.get(key).cloned().unwrap_or_default();
    Ok(output([
        ("schema_version", member("schema_version")),
        ("schema_id", member("schema_id")),
        ("system_ir_ref", member("system_ir_ref")),
        ("referenced_ir_node_ids", ids("referenced_ir_nodes", "id").into()),
        ("referenced_contract_ids", ids("referenced_contracts", "contract_id").into()),
        ("deployment_intents", Value::Array(rows.collect())),
    ]))
}

fn consistency(input: &Value) -> Outcome {
    let document = document(input)?;
    // A specification that is no JSON cannot be what the bundle hashed.
    let specification = |key: &str| stave_canon::parse(text(input, key)?).map_err(Refusal::from);
    let (Ok(orchestration), Ok(coordination)) =
        (specification("orchestration_text"), specification("coordination_text"))
    else {
        return Ok(output([("consistent", false.into()), ("aligned", true.into())]));
    };
    let issues = check(BundleComparison {
        document: &document,
        bundle: member(input, "bundle")?,
        orchestration: Some(&orchestration),
        coordination: Some(&coordination),
        expected_allow_network: input.get("expected_allow_network").and_then(Value::as_bool),
        derivation: None,
    });
    let fine = |of: &dyn Fn(Check) -> bool| !issues.iter().any(|issue| of(issue.check));
    Ok(output([
        ("consistent", fine(&|check| check != Check::IntentAlignment).into()),
        ("aligned", fine(&|check| check == Check::IntentAlignment).into()),
    ]))
}
