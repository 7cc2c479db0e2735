//! The intent of a flow: what it is for, and the tests that it is accepted by.

use stave_canon::{Object, Value};
use stave_flow::model::{Flow, Text};
use stave_system::model::OperationalContract;
use stave_system::{
    BlankPart, NodeKind, SystemDocument, SystemNode, acceptance_contract_id, stable_node_id, strip,
};

use super::{Lowering, SystemFlow, rows};

/// How the criteria of a flow are evaluated.
const EVALUATED_BY: &str = "tests";

impl<'f> Lowering<'f> {
    pub(super) fn intent(&self, flow: &SystemFlow<'f>, name: &str) -> Result<SystemNode, BlankPart> {
        let criteria = tests(flow.flow);
        let mut properties: Object = [
            ("intent_id".to_owned(), Value::from(name)),
            ("spec_version".to_owned(), 1_i64.into()),
            (
                "active_success_criteria".to_owned(),
                criteria.iter().map(|id| criterion(id)).collect::<Vec<_>>().into(),
            ),
        ]
        .into_iter()
        .collect();
        if let Some(description) = &flow.flow.metadata.description {
            properties.insert("goal_statement".into(), description.as_str().into());
        }
        let context =
            |fields: &[Text]| -> Value { fields.iter().map(Text::as_str).collect::<Vec<_>>().into() };
        properties.insert("requires".into(), context(&flow.flow.context.requires));
        properties.insert("optional".into(), context(&flow.flow.context.optional));
        Ok(SystemNode {
            properties,
            provenance: rows(self.provenance(flow, flow.flow.metadata.span)),
            contract: Some(OperationalContract::acceptance(
                acceptance_contract_id(self.tenant_id, name)?,
                criteria.iter().map(|id| (id.as_str(), EVALUATED_BY)),
            )),
            ..SystemNode::new(
                stable_node_id("intent", &format!("intent:{name}"))?,
                self.tenant_id,
                NodeKind::Intent,
                name,
            )
        })
    }
}

/// The names of the flow's own tests.
fn tests(flow: &Flow) -> Vec<String> {
    let mut names: Vec<String> = flow
        .tests
        .iter()
        .enumerate()
        .map(|(index, test)| {
            let name = test.name.as_ref().map(|name| name.as_str().to_owned());
            name.unwrap_or_else(|| format!("test_{}", index + 1))
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

fn criterion(id: &str) -> Value {
    Value::from_iter([("success_criterion_id", id), ("evaluation_mode", EVALUATED_BY)])
}

/// One intent over all of a document's intent nodes.
pub(super) fn spec(document: &SystemDocument) -> Value {
    let intents: Vec<&SystemNode> =
        document.nodes.iter().filter(|node| node.kind == NodeKind::Intent).collect();
    let id = match intents.as_slice() {
        [only] => only.name.as_str(),
        _ => document.repo_id.as_str(),
    };
    // A flow without a description is for what its name says. An intent without a goal is invalid to other readers.
    let goal_of = |node: &&'_ SystemNode| -> String {
        let stated = node.properties.get("goal_statement").and_then(Value::as_str);
        stated.filter(|goal| !strip(goal).is_empty()).unwrap_or(&node.name).to_owned()
    };
    let goals: Vec<String> = intents.iter().map(goal_of).collect();
    let goal: Value = if goals.is_empty() { id.into() } else { goals.join("\n").into() };
    let criteria: Vec<Value> = intents
        .iter()
        .filter_map(|node| node.properties.get("active_success_criteria").and_then(Value::as_array))
        .flatten()
        .cloned()
        .collect();
    let network =
        document.nodes.iter().any(|node| node.effects.as_ref().is_some_and(|effects| effects.network));
    let bounds = Value::from_iter([("allow_network", network)]);
    Value::from_iter([
        ("intent_id", Value::from(id)),
        ("tenant_id", document.tenant_id.as_str().into()),
        ("repo_id", document.repo_id.as_str().into()),
        ("spec_version", 1_i64.into()),
        ("goal_statement", goal),
        ("success_criteria", criteria.into()),
        ("operating_bounds", bounds),
        ("policies", Value::Array(Vec::new())),
    ])
}
