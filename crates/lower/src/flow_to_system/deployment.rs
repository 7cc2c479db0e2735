//! The infrastructure node: where a flow is served, under a deployment contract.

use std::collections::BTreeSet;

use stave_canon::{Object, Value};
use stave_flow::model::{Deployment, DeploymentTarget, Kserve, NodeStateScope, Text};
use stave_system::model::{
    ContractCategory, ContractTrigger, EffectAnnotation, IoContract, OperationalContract,
};
use stave_system::{BlankPart, NodeKind, SystemNode, deployment_contract_id, stable_node_id};

use super::integration::backend_word;
use super::{Lowering, SystemFlow, effects, rows};
use crate::flow_to_exec::source_of;

impl<'f> Lowering<'f> {
    pub(super) fn infrastructure(
        &self,
        flow: &SystemFlow<'f>,
        name: &str,
    ) -> Result<Option<SystemNode>, BlankPart> {
        let Some(deployment) = flow.flow.deployment.as_ref() else { return Ok(None) };
        let target = match deployment.target.map(|target| target.value) {
            Some(DeploymentTarget::Kserve) => "kserve",
            Some(DeploymentTarget::Lambda) => "lambda",
            Some(DeploymentTarget::Local) | None => "local",
        };
        let node_name = format!("deployment:{name}");
        // What is served needs everything that its nodes touch.
        let mut effects = EffectAnnotation { network: true, ..EffectAnnotation::default() };
        for node in flow.flow.nodes.values() {
            effects::add(&mut effects, self.effects(node));
        }
        effects.tools.clear();
        Ok(Some(SystemNode {
            properties: properties(flow, name, target, deployment),
            effects: Some(effects),
            provenance: rows(self.provenance(flow, deployment.key.to(deployment.span))),
            contract: Some(contract(self.tenant_id, name)?),
            ..SystemNode::new(
                stable_node_id("infrastructure", &node_name)?,
                self.tenant_id,
                NodeKind::Infrastructure,
                node_name,
            )
        }))
    }
}

fn properties(flow: &SystemFlow<'_>, name: &str, target: &str, deployment: &Deployment) -> Object {
    let mut properties = Object::new();
    let mut put = |key: &str, value: Value| {
        properties.insert(key.to_owned(), value);
    };
    put("flow", name.into());
    put("source_file", flow.source_file.into());
    put("target", target.into());
    let kserve = deployment.kserve.as_ref();
    let service = kserve.and_then(|kserve| kserve.service_name.as_ref()).map_or(name, Text::as_str);
    put("service_name", stave_flow::check::service_label(service).into());
    if let Some(kserve) = kserve {
        put("kserve", settings(kserve).into());
    }
    if let Some(context) = deployment.context.as_ref() {
        let sources = context.fields.iter().map(|(field, source)| (field.as_str(), source_of(&source.value)));
        put("context", sources.collect());
    }
    let backends: BTreeSet<&str> = flow
        .flow
        .nodes
        .values()
        .filter_map(|node| node.state.as_ref())
        .filter(|state| state.scope.is_some_and(|scope| scope.value == NodeStateScope::Session))
        .map(|state| backend_word(state.backend()))
        .collect();
    put("session_state_backends", backends.into_iter().collect::<Vec<_>>().into());
    properties
}

fn settings(kserve: &Kserve) -> Object {
    let text = |text: &Option<Text>| text.as_ref().map(|text| Value::from(text.as_str()));
    let resources = kserve.resources.as_ref().map(|resources| {
        let members = [("cpu", &resources.cpu), ("memory", &resources.memory), ("gpu", &resources.gpu)];
        members.into_iter().filter_map(|(key, value)| Some((key, text(value)?))).collect::<Value>()
    });
    let members: [(&str, Option<Value>); 5] = [
        ("namespace", text(&kserve.namespace)),
        ("min_replicas", kserve.min_replicas.map(|count| count.value.into())),
        ("max_replicas", kserve.max_replicas.map(|count| count.value.into())),
        ("target_rps", kserve.target_rps.clone().map(|rate| rate.value.into())),
        ("resources", resources),
    ];
    members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn contract(tenant_id: &str, name: &str) -> Result<OperationalContract, BlankPart> {
    Ok(OperationalContract {
        contract_id: deployment_contract_id(tenant_id, name)?,
        contract_category: ContractCategory::Deployment,
        triggers: vec![ContractTrigger {
            trigger_id: "t_deploy".to_owned(),
            source: "compile.deployment.apply".to_owned(),
            details: Object::new(),
        }],
        io_contract: IoContract {
            input_keys: vec!["request".to_owned()],
            output_keys: vec!["response".to_owned()],
            schema: None,
        },
        state_machine: None,
        runtime_budget: None,
        acceptance: None,
    })
}
