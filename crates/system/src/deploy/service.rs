//! A service to deploy, as the bundle's rows and nodes have it.

use std::collections::BTreeSet;

use stave_canon::{Number, Value};

use crate::bundle::Bundle;

/// One deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    pub flow: String,
    pub name: String,
    pub target: ServiceTarget,
    pub node_id: String,
    pub contract_id: Option<String>,
    pub run_id: String,
    /// The tag of the service's image: the run, and what else changes the image.
    pub image_tag: String,
    pub tenant_id: String,
    pub repo_id: String,
    pub ir_fingerprint: String,
    pub namespace: Option<String>,
    pub min_replicas: Option<u64>,
    pub max_replicas: Option<u64>,
    pub target_rps: Option<Number>,
    pub cpu: Option<String>,
    pub memory: Option<String>,
    pub gpu: Option<String>,
    /// Names of the secrets that the service needs.
    pub secrets: BTreeSet<String>,
    /// Names of the environment variables that fill its context.
    pub environment: BTreeSet<String>,
    pub session_state_backends: Vec<String>,
    /// Where the snapshot of what the project knows is kept.
    pub snapshot: Option<String>,
    /// The longest that a request may take, all of its steps in turn.
    pub max_seconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceTarget {
    Kserve,
    Lambda,
    /// The built-in server.
    Local,
}

/// The services of a bundle: its deployment intents of kind infrastructure.
#[must_use]
pub fn services(bundle: &Bundle) -> Vec<Service> {
    let items = |key: &str| bundle.value().get(key).and_then(Value::as_array).unwrap_or_default();
    let rows = items("deployment_intents").iter().filter(|row| text(row, "kind") == Some("infrastructure"));
    rows.filter_map(|row| {
        let id = text(row, "node_id")?;
        let node = items("referenced_ir_nodes").iter().find(|node| text(node, "id") == Some(id))?;
        service(bundle, row, node)
    })
    .collect()
}

fn service(bundle: &Bundle, row: &Value, node: &Value) -> Option<Service> {
    let properties = node.get("properties")?;
    let flow = text(properties, "flow")?;
    let target = match text(properties, "target")? {
        "kserve" => ServiceTarget::Kserve,
        "lambda" => ServiceTarget::Lambda,
        _ => ServiceTarget::Local,
    };
    let nothing = Value::Null;
    let kserve = properties.get("kserve").unwrap_or(&nothing);
    let resources = kserve.get("resources").unwrap_or(&nothing);
    let own = |value: &Value, key: &str| text(value, key).map(str::to_owned);
    let count =
        |key: &str| kserve.get(key).and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok());
    let strings = |value: Option<&Value>| -> Vec<String> {
        let items = value.and_then(Value::as_array).unwrap_or_default();
        items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let context = properties.get("context").and_then(Value::as_object);
    let environment = context.into_iter().flatten().filter_map(|(_, source)| own(source, "env"));
    let reference = bundle.value().get("system_ir_ref").unwrap_or(&nothing);
    Some(Service {
        flow: flow.to_owned(),
        name: own(properties, "service_name")?,
        target,
        node_id: own(row, "node_id")?,
        contract_id: own(row, "contract_id"),
        run_id: bundle.text("run_id").to_owned(),
        image_tag: bundle.text("run_id").to_owned(),
        tenant_id: bundle.text("tenant_id").to_owned(),
        repo_id: bundle.text("repo_id").to_owned(),
        ir_fingerprint: own(reference, "fingerprint").unwrap_or_default(),
        namespace: own(kserve, "namespace"),
        min_replicas: count("min_replicas"),
        max_replicas: count("max_replicas"),
        target_rps: kserve.get("target_rps").and_then(Value::as_number).cloned(),
        cpu: own(resources, "cpu"),
        memory: own(resources, "memory"),
        gpu: own(resources, "gpu"),
        secrets: strings(row.get("effects").and_then(|effects| effects.get("secrets"))).into_iter().collect(),
        environment: environment.collect(),
        session_state_backends: strings(properties.get("session_state_backends")),
        snapshot: bundle
            .value()
            .get("knowledge_layer_ref")
            .and_then(|reference| own(reference, "persisted_snapshot_relpath")),
        max_seconds: max_seconds(bundle, flow),
    })
}

/// The sum over the flow's steps: no path through the flow is longer.
fn max_seconds(bundle: &Bundle, flow: &str) -> u64 {
    let nodes = bundle.value().get("referenced_ir_nodes").and_then(Value::as_array).unwrap_or_default();
    let of_flow = nodes.iter().filter(|node| {
        text(node, "kind") == Some("workflow")
            && node.get("properties").and_then(|properties| text(properties, "plan_id")) == Some(flow)
    });
    let seconds = of_flow.filter_map(|node| {
        let seconds = node.pointer("/contract/runtime_budget/max_seconds")?.as_i64()?;
        u64::try_from(seconds).ok()
    });
    seconds.fold(0, u64::saturating_add)
}

impl Service {
    /// The image that runs the service.
    #[must_use]
    pub fn image(&self, options: &super::DeployOptions) -> String {
        if let Some(image) = &options.image {
            return image.clone();
        }
        let tag = format!("{}:{}", self.name, self.image_tag);
        match &options.registry {
            Some(registry) => format!("{}/{tag}", registry.trim_end_matches('/')),
            None => tag,
        }
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}
