//! What a flow node reaches: model providers, hosts, tool servers and entries of the feature store, a node each; and what it
//! remembers, an entity for each store.

use stave_canon::Value;
use stave_flow::model::{Backend, Node as FlowNode, NodeStateScope, State, Text};
use stave_operations::Receiver;
use stave_system::model::{EffectAnnotation, ProvenancePointer};
use stave_system::{BlankPart, NodeKind, SystemNode, stable_node_id};

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
        let receiver = node.descriptor().map(|operation| operation.receiver);
        let found = receiver.and_then(|receiver| reached(receiver, &|name| argument(node, name)));
        let tools = node.prompt.iter().flat_map(|prompt| &prompt.tools);
        let servers = tools.filter_map(|tool| Some(Reached::server(tool.mcp.as_ref()?.as_str())));
        for reached in found.into_iter().chain(servers) {
            let integration = self.reached_node(&reached, rows(self.provenance(flow, node.span)))?;
            ids.push(nodes.add(integration));
        }
        Ok(ids)
    }

    /// The integration of somebody whom a step reaches.
    pub(super) fn reached_node(
        &self,
        reached: &Reached,
        provenance: Vec<ProvenancePointer>,
    ) -> Result<SystemNode, BlankPart> {
        let Reached { kind, name } = reached;
        let mut integration = self.integration(&format!("{kind}:{name}"), Vec::new())?;
        integration.properties.insert((*kind).to_owned(), name.as_str().into());
        integration.provenance = provenance;
        Ok(integration)
    }

    fn integration(&self, name: &str, secrets: Vec<String>) -> Result<SystemNode, BlankPart> {
        let id = stable_node_id("integration", name)?;
        let effects = EffectAnnotation { network: true, secrets, ..EffectAnnotation::default() };
        Ok(SystemNode {
            effects: Some(effects),
            ..SystemNode::new(id, self.tenant_id, NodeKind::Integration, name)
        })
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
            Some(NodeStateScope::Session) => "session",
            _ => "request",
        };
        let key = state.key_template();
        let name = format!("state:{flow_name}:{scope}:{key}");
        let mut entity = SystemNode::new(
            stable_node_id("entity", &name)?,
            self.tenant_id,
            NodeKind::Entity,
            name.as_str(),
        );
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

/// Somebody whom a step reaches.
pub(super) struct Reached {
    kind: &'static str,
    /// `*` when only the run decides.
    name: String,
}

impl Reached {
    /// The server of a tool that is written as `server/tool`.
    fn server(tool: &str) -> Reached {
        let server = tool.split_once('/').map_or(tool, |(server, _)| server);
        Reached { kind: MCP_SERVER, name: server.to_owned() }
    }
}

const MCP_SERVER: &str = "mcp_server";

/// Whom an operation reaches, by what is written for its arguments.
pub(super) fn reached<'t>(receiver: Receiver, text: &dyn Fn(&str) -> Option<&'t str>) -> Option<Reached> {
    let written = |name: &str| text(name).filter(|text| !text.contains("${")).map(str::to_owned);
    let anyone = || "*".to_owned();
    Some(match receiver {
        Receiver::Host { address } => {
            Reached { kind: "host", name: text(address).and_then(host).unwrap_or_else(anyone) }
        }
        Receiver::Tool { server, .. } => {
            Reached { kind: MCP_SERVER, name: written(server).unwrap_or_else(anyone) }
        }
        Receiver::FeatureStore { entries } => {
            let entry = entries.iter().find(|entry| text(entry.argument).is_some()).or(entries.first())?;
            Reached { kind: entry.kind, name: text(entry.argument).map_or_else(anyone, str::to_owned) }
        }
        Receiver::Nobody | Receiver::Model => return None,
    })
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
fn host(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    (!host.is_empty() && !host.contains("${")).then(|| host.to_ascii_lowercase())
}
