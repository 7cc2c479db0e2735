//! Where a project keeps what it remembers, and where its features are.

use std::collections::BTreeMap;

use stave_canon::Value;
use stave_flow::SharedStores;
use stave_runtime::features::FeatureGroup;
use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

use super::Project;
use super::file::{SecretReference, secret_name};
use super::read::PASSWORD;

/// The store that keeps state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub enum StateBackend {
    Memory,
    Sqlite,
    Redis,
    Hopsworks,
}

/// The stores that a project sets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoreSettings {
    pub state: Option<StateBackend>,
    pub redis: Option<Address>,
    pub hopsworks: Option<Address>,
    /// How the rows of feature groups are keyed and timed.
    pub groups: BTreeMap<String, FeatureGroup>,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// The address itself, which holds no password.
    Literal(String),
    /// The secret that it is.
    Secret(String),
}

impl super::Settings {
    /// The stores on servers that the project names.
    pub fn shared_stores(&self) -> SharedStores {
        let stores = &self.stores;
        let is_shared =
            |backend: &StateBackend| matches!(backend, StateBackend::Redis | StateBackend::Hopsworks);
        SharedStores {
            state: stores.state.as_ref().is_some_and(is_shared),
            features: stores.hopsworks.is_some(),
        }
    }

    /// The variable that holds the address of a store's server; none when the project file has the address itself.
    pub fn store_variable(&self, backend: &str) -> Option<String> {
        let (address, usual) = match backend {
            "redis" => (&self.stores.redis, REDIS_URL),
            "hopsworks" => (&self.stores.hopsworks, HOPSWORKS_URL),
            _ => return None,
        };
        match address {
            Some(Address::Literal(_)) => None,
            Some(Address::Secret(name)) => Some(name.clone()),
            None => Some(usual.to_owned()),
        }
    }

    /// The server that keeps what flows remember, whatever backend they name.
    pub fn state_server(&self) -> Option<&'static str> {
        match self.stores.state? {
            StateBackend::Redis => Some("redis"),
            StateBackend::Hopsworks => Some("hopsworks"),
            StateBackend::Memory | StateBackend::Sqlite => None,
        }
    }
}

/// The variables that hold the addresses of stores when the project file names no other.
const REDIS_URL: &str = "REDIS_URL";
const HOPSWORKS_URL: &str = "HOPSWORKS_URL";

impl Project {
    /// The address of the Redis server: the project's, or that of `REDIS_URL`.
    pub(crate) fn redis_address(&self) -> Option<String> {
        self.address(self.settings.stores.redis.as_ref(), REDIS_URL)
    }

    /// The address of the online feature store: the project's, or that of `HOPSWORKS_URL`.
    pub(crate) fn hopsworks_address(&self) -> Option<String> {
        self.address(self.settings.stores.hopsworks.as_ref(), HOPSWORKS_URL)
    }

    fn address(&self, set: Option<&Address>, usual: &str) -> Option<String> {
        let name = match set {
            Some(Address::Literal(address)) => return Some(address.clone()),
            Some(Address::Secret(name)) => name,
            None => usual,
        };
        self.secret(name).map(|address| address.expose().to_owned())
    }
}

/// Where flows keep what they remember.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct StateTable {
    #[shape(unset = StateBackend::Sqlite)]
    backend: Option<StateBackend>,
    /// The address of Redis without a password, or "${secrets.NAME}"; the variable `REDIS_URL` when absent.
    url: Option<Address>,
}

/// The online feature store.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct HopsworksTable {
    /// The address of the store without a password, or "${secrets.NAME}"; the variable `HOPSWORKS_URL` when absent.
    url: Option<Address>,
}

/// A feature group.
#[derive(Debug, Shape)]
#[shape(not_null)]
pub(super) struct FeatureTable {
    /// The columns of the primary key; rows have their key under `key` when it is empty.
    #[shape(default)]
    key: Vec<String>,
    /// The column with a row's time.
    event_time: Option<String>,
}

impl StateTable {
    pub(super) fn settings(
        self,
        hopsworks: HopsworksTable,
        features: BTreeMap<String, FeatureTable>,
    ) -> StoreSettings {
        let group = |table: FeatureTable| FeatureGroup { key: table.key, event_time: table.event_time };
        StoreSettings {
            state: self.backend,
            redis: self.url,
            hopsworks: hopsworks.url,
            groups: features.into_iter().map(|(name, table)| (name, group(table))).collect(),
        }
    }
}

/// A reference to a secret, or an address without a password.
impl Shape for Address {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let text = String::read(node, at, reader)?;
        if let Some(name) = secret_name(&text) {
            return Some(Address::Secret(name.to_owned()));
        }
        let parsed = url::Url::parse(&text);
        let kind = if parsed.as_ref().is_ok_and(|url| url.password().is_some()) {
            FaultKind::rule(PASSWORD, "holds a password")
        } else if parsed.is_err() {
            FaultKind::rule("value", "must be an address, or \"${secrets.NAME}\"")
        } else {
            return Some(Address::Literal(text));
        };
        reader.fault(at, node.span(), kind);
        None
    }

    fn write(&self) -> Value {
        match self {
            Address::Literal(address) => address.as_str().into(),
            Address::Secret(name) => SecretReference(name.clone()).write(),
        }
    }

    fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", "string")])
    }
}
