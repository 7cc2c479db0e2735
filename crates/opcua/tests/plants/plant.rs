//! A plant on this machine: the protocol library's own server with a few values.

use std::path::Path;
use std::sync::Arc;

use opcua::crypto::SecurityPolicy;
use opcua::types::{DataTypeId, MessageSecurityMode, NodeId, Variant};
use opcua_server::address_space::{AccessLevel, VariableBuilder};
use opcua_server::diagnostics::NamespaceMetadata;
use opcua_server::node_manager::memory::{SimpleNodeManager, simple_node_manager};
use opcua_server::{ANONYMOUS_USER_TOKEN_ID, ServerBuilder, ServerHandle, ServerUserToken};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const NAMESPACE: &str = "urn:plant";
const OPERATOR: &str = "operator";

/// Runs until it is dropped.
pub(crate) struct Plant {
    pub(crate) address: String,
    pub(crate) namespace: u16,
    handle: ServerHandle,
    _running: JoinSet<()>,
}

impl Plant {
    /// Starts on a free port, with its keys in a folder.
    pub(crate) async fn start(pki: &Path, password: &str) -> Plant {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = format!("opc.tcp://127.0.0.1:{port}/");
        let anyone: &[&str] = &[ANONYMOUS_USER_TOKEN_ID];
        let operators: &[&str] = &[OPERATOR];
        let namespace = NamespaceMetadata { namespace_uri: NAMESPACE.to_owned(), ..Default::default() };
        let (server, handle) = ServerBuilder::new()
            .application_name("plant")
            .application_uri(NAMESPACE)
            .product_uri(NAMESPACE)
            .host("127.0.0.1")
            .port(port)
            .create_sample_keypair(true)
            .trust_client_certs(true)
            .pki_dir(pki)
            .discovery_urls(vec![address.clone()])
            .add_user_token(OPERATOR, ServerUserToken::user_pass(OPERATOR, password))
            .add_endpoint("none", ("/", SecurityPolicy::None, MessageSecurityMode::None, anyone))
            .add_endpoint(
                "protected",
                ("/", SecurityPolicy::Basic256Sha256, MessageSecurityMode::SignAndEncrypt, operators),
            )
            .with_node_manager(simple_node_manager(namespace, "plant"))
            .build()
            .unwrap();
        let mut running = JoinSet::new();
        running.spawn(async move { server.run_with(listener).await.unwrap() });
        let namespace = handle.get_namespace_index(NAMESPACE).unwrap();
        let plant = Plant { address, namespace, handle, _running: running };
        let both = AccessLevel::CURRENT_READ | AccessLevel::CURRENT_WRITE;
        plant.add("temperature", Variant::Double(80.5), DataTypeId::Double, both);
        plant.add("pump", Variant::Boolean(true), DataTypeId::Boolean, both);
        plant.add("speed", Variant::Int32(1500), DataTypeId::Int32, both);
        plant.add("sealed", Variant::Int32(1), DataTypeId::Int32, AccessLevel::CURRENT_READ);
        plant
    }

    pub(crate) fn node(&self, name: &str) -> String {
        format!("ns={};s={name}", self.namespace)
    }

    fn add(&self, name: &str, value: Variant, kind: DataTypeId, access: AccessLevel) {
        let manager: Arc<SimpleNodeManager> = self.handle.node_managers().get_of_type().unwrap();
        let id = NodeId::new(self.namespace, name);
        let variable = VariableBuilder::new(&id, name, name)
            .data_type(kind)
            .value(value)
            .access_level(access)
            .user_access_level(access)
            .build();
        manager.address_space().write().insert::<_, NodeId>(variable, None);
    }
}

impl Drop for Plant {
    fn drop(&mut self) {
        self.handle.cancel();
    }
}
