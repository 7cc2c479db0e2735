//! The plants of a project.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use opcua::types::{AttributeId, DataValue, NodeId, ReadValueId, TimestampsToReturn, Variant, WriteValue};
use stave_canon::{Timestamp, Value};
use stave_llm::Secret;
use stave_runtime::opcua::{Opcua, OpcuaFault, Reading};
use stave_script::address::plant_address;

use crate::connection::with_session;
use crate::value;

/// How long one call may take when the project says nothing.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// What a project says about its plants.
#[derive(Debug, Clone)]
pub struct OpcUaSettings {
    /// The addresses that may be reached; none when empty.
    pub allow: Vec<String>,
    /// The longest that one read or write may take, connecting included.
    pub timeout: Duration,
    /// None leaves connections unprotected.
    pub security: Option<Security>,
}

/// How connections are protected.
#[derive(Debug, Clone)]
pub struct Security {
    /// The protocol's name of the policy, such as `Basic256Sha256`.
    pub policy: String,
    /// Whether messages are encrypted besides being signed.
    pub is_encrypted: bool,
    /// The folder with this program's certificate, made when it is not there, and in `trusted` those of
    /// servers.
    pub pki: PathBuf,
    /// Who asks; nobody in particular when absent.
    pub user: Option<User>,
}

#[derive(Debug, Clone)]
pub struct User {
    pub name: String,
    pub password: Secret,
}

/// Reads and writes the plants that a project lists. Each call has a connection of its own.
#[derive(Debug)]
pub struct Plants {
    settings: OpcUaSettings,
    /// The listed addresses in the form in which they are compared.
    allowed: Vec<String>,
}

impl Plants {
    #[must_use]
    pub fn new(settings: OpcUaSettings) -> Plants {
        let allowed = settings.allow.iter().filter_map(|address| plant_address(address)).collect();
        Plants { settings, allowed }
    }

    /// The address that is connected to for an endpoint that a flow names.
    fn address(&self, endpoint: &str) -> Result<String, OpcuaFault> {
        let address = plant_address(endpoint).filter(|address| self.allowed.contains(address));
        address.ok_or_else(|| OpcuaFault::NotAllowed { endpoint: endpoint.to_owned() })
    }
}

#[async_trait]
impl Opcua for Plants {
    async fn read(&self, endpoint: &str, nodes: &[String]) -> Result<Vec<Reading>, OpcuaFault> {
        let address = self.address(endpoint)?;
        let asked = nodes.iter().map(|node| Ok(ReadValueId::new_value(node_id(node)?)));
        let asked = asked.collect::<Result<Vec<_>, OpcuaFault>>()?;
        let answers = with_session(&self.settings, &address, async |session| {
            session.read(&asked, TimestampsToReturn::Source, 0.0).await
        })
        .await?;
        if answers.len() != nodes.len() {
            let status = format!("{} values for {} nodes", answers.len(), nodes.len());
            return Err(refused(endpoint, nodes.first().map_or("", String::as_str), status));
        }
        nodes.iter().zip(answers).map(|(node, answer)| reading(endpoint, node, answer)).collect()
    }

    async fn write(
        &self,
        endpoint: &str,
        node: &str,
        value: &Value,
        kind: Option<&str>,
    ) -> Result<(), OpcuaFault> {
        let address = self.address(endpoint)?;
        let id = node_id(node)?;
        let named = kind.map(value::kind).transpose()?;
        with_session(&self.settings, &address, async |session| {
            let kind = match named {
                Some(kind) => kind,
                // Servers take a value in the very type of the node, and the node knows it best.
                None => {
                    let asked = [ReadValueId::new_value(id.clone())];
                    let answers = session.read(&asked, TimestampsToReturn::Neither, 0.0).await?;
                    let answer = answers.into_iter().next().unwrap_or_default();
                    match answer.value.as_ref().and_then(Variant::scalar_type_id) {
                        Some(kind) => kind,
                        None => {
                            let status = answer.status.unwrap_or_default();
                            let why = format!("its type is not known ({status}); name it with `type`");
                            return Ok(Err(refused(endpoint, node, why)));
                        }
                    }
                }
            };
            let variant = match value::variant(value, kind) {
                Ok(variant) => variant,
                Err(fault) => return Ok(Err(fault)),
            };
            let write = WriteValue {
                node_id: id.clone(),
                attribute_id: AttributeId::Value as u32,
                index_range: Default::default(),
                // A time of ours would be refused by servers that set it themselves.
                value: DataValue::value_only(variant),
            };
            let statuses = session.write(&[write]).await?;
            let status = statuses.into_iter().next().unwrap_or_default();
            Ok(if status.is_good() { Ok(()) } else { Err(refused(endpoint, node, status.to_string())) })
        })
        .await?
    }
}

fn reading(endpoint: &str, node: &str, answer: DataValue) -> Result<Reading, OpcuaFault> {
    let status = answer.status.unwrap_or_default();
    if status.is_bad() {
        return Err(refused(endpoint, node, status.to_string()));
    }
    let measured_at = answer.source_timestamp.and_then(|at| at.to_rfc3339().parse::<Timestamp>().ok());
    let value = value::plain(&answer.value.unwrap_or_default()).ok_or_else(|| {
        refused(endpoint, node, "its value has a type that flows have no word for".to_owned())
    })?;
    Ok(Reading { value, is_certain: status.is_good(), measured_at })
}

fn refused(endpoint: &str, node: &str, status: String) -> OpcuaFault {
    OpcuaFault::Refused { endpoint: endpoint.to_owned(), node: node.to_owned(), status }
}

fn node_id(text: &str) -> Result<NodeId, OpcuaFault> {
    text.parse::<NodeId>()
        .map_err(|_| OpcuaFault::BadArgument(format!("`{text}` is not a node id such as ns=2;i=5001")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_however_it_is_written() {
        let plants = Plants::new(OpcUaSettings {
            allow: vec!["opc.tcp://Plant:4840/".to_owned()],
            timeout: TIMEOUT,
            security: None,
        });
        for same in ["opc.tcp://plant", "opc.tcp://PLANT:4840", "opc.tcp://plant:4840/"] {
            assert_eq!(plants.address(same).as_deref(), Ok("opc.tcp://plant:4840/"), "{same}");
        }
        for other in [
            "opc.tcp://plant:4841",
            "opc.tcp://plant.evil",
            "http://plant:4840",
            "opc.tcp://plant/other",
            "plant",
        ] {
            assert!(matches!(plants.address(other), Err(OpcuaFault::NotAllowed { .. })), "{other}");
        }
    }
}
