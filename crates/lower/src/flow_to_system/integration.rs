//! What a flow node reaches: model providers, hosts and feature groups, a node each; and what it
//! remembers, an entity for each store.

use stave_canon::Value;
use stave_flow::model::{Backend, Node as FlowNode, Scope, State, Text};
use stave_system::model::EffectAnnotation;
use stave_system::{BlankPart, Node, NodeKind, stable_node_id};

use super::effects::key_name;
use super::{Lowering, Nodes, SystemFlow, rows};

impl<'f> Lowering<'f> {
    /// The integrations of a node, as ids that it depends on.
    pub(super) fn integrations(
        &self,
        flow: &SystemFlow<'f>,
        node: &FlowNode,
        nodes: &mut Nodes,
    ) -> Result<Vec<String>, BlankPart> {
        let mut ids = Vec::new();
        for model in self.models(node) {
            let place = model.endpoint.as_deref().and_then(host);
            let name = match &place {
                Some(host) => format!("provider:{}@{host}", model.provider),
                None => format!("provider:{}", model.provider),
            };
            let secrets = key_name(&model).into_iter().collect();
            let mut integration = self.integration(&name, secrets)?;
            integration.properties.insert("provider".into(), model.provider.as_str().into());
            integration.properties.insert("models".into(), vec![model.name].into());
            if let Some(host) = place {
                integration.properties.insert("host".into(), host.into());
            }
            integration.provenance = rows(self.provenance(flow, node.span));
            ids.push(nodes.add(integration));
        }
        let op = node.op().unwrap_or_default();
        let found = if op.starts_with("http.") {
            let host = argument(node, "url").and_then(host).unwrap_or_else(|| "*".to_owned());
            Some((format!("host:{host}"), "host", host))
        } else if op.starts_with("hopsworks.") {
            let group = argument(node, "feature_group").or_else(|| argument(node, "name")).unwrap_or("*");
            Some((format!("feature_group:{group}"), "feature_group", group.to_owned()))
        } else {
            None
        };
        if let Some((name, key, value)) = found {
            let mut integration = self.integration(&name, Vec::new())?;
            integration.properties.insert(key.to_owned(), value.into());
            integration.provenance = rows(self.provenance(flow, node.span));
            ids.push(nodes.add(integration));
        }
        Ok(ids)
    }

    pub(super) fn integration(&self, name: &str, secrets: Vec<String>) -> Result<Node, BlankPart> {
        let id = stable_node_id("integration", name)?;
        let effects = EffectAnnotation { network: true, secrets, ..EffectAnnotation::default() };
        Ok(Node { effects: Some(effects), ..Node::new(id, self.tenant_id, NodeKind::Integration, name) })
    }

    /// The store that a node remembers in.
    pub(super) fn store(
        &self,
        flow: &SystemFlow<'f>,
        flow_name: &str,
        state: &State,
        nodes: &mut Nodes,
    ) -> Result<String, BlankPart> {
        let scope = match state.scope.map(|scope| scope.value) {
            Some(Scope::Session) => "session",
            _ => "request",
        };
        let key = state.key_template();
        let name = format!("state:{flow_name}:{scope}:{key}");
        let mut entity =
            Node::new(stable_node_id("entity", &name)?, self.tenant_id, NodeKind::Entity, name.as_str());
        let properties: [(&str, Value); 4] = [
            ("scope", scope.into()),
            ("key", key.into()),
            ("backend", backend_word(state.backend()).into()),
            ("flow", flow_name.into()),
        ];
        entity.properties.extend(properties.map(|(key, value)| (key.to_owned(), value)));
        if let Some(ttl) = state.ttl_seconds {
            entity.properties.insert("ttl_seconds".into(), ttl.value.into());
        }
        entity.provenance = rows(self.provenance(flow, state.span));
        Ok(nodes.add(entity))
    }
}

pub(super) fn backend_word(backend: Backend) -> &'static str {
    match backend {
        Backend::Memory => "memory",
        Backend::Redis => "redis",
        Backend::Hopsworks => "hopsworks",
    }
}

/// A text argument of the node's operation.
fn argument<'n>(node: &'n FlowNode, name: &str) -> Option<&'n str> {
    let operation = node.transform.as_ref()?.operation()?;
    operation.args.as_ref()?.get(name)?.text().map(Text::as_str)
}

/// The host of an address whose host is written out; one that is put together at run time is unknown.
pub(super) fn host(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    (!host.is_empty() && !host.contains("${")).then(|| host.to_ascii_lowercase())
}
