//! What the receivers outside a flow may be given.

use std::collections::{BTreeMap, BTreeSet};

use stave_script::address::{HostPort, written_host};

use crate::model::Sensitivity;

/// How sensitive data may be for each receiver that the project names. One that is not named takes private
/// data at most: restricted data goes only where someone said so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes {
    /// By provider name.
    pub providers: BTreeMap<String, Sensitivity>,
    /// By host, with or without a port, of HTTP requests and of models' endpoints.
    pub hosts: BTreeMap<String, Sensitivity>,
    /// By `server/tool` of tools that answer outside the flow.
    pub tools: BTreeMap<String, Sensitivity>,
    /// By the kind of store that the project has: [`FEATURES`], [`STATE`] or the name of a state backend, [`CACHE`].
    pub stores: BTreeMap<String, Sensitivity>,
    /// The state stores that are servers: [`STATE`] when the project's own is one, and names of backends. The others
    /// are beside the journal, which holds every value already.
    pub servers: BTreeSet<String>,
    /// By context field, the least that the project says about it. A flow can say more, not less.
    pub fields: BTreeMap<String, Sensitivity>,
    /// The outputs whose labels may be lower than what their nodes read, as `FLOW/NODE.OUTPUT`, with the project's
    /// reason.
    pub declassify: BTreeMap<String, String>,
    /// The provider and endpoint of prompts that name no model.
    pub default_model: Option<(String, Option<String>)>,
}

/// The feature store, in `stores`.
pub(super) const FEATURES: &str = "features";
/// The project's own state store.
pub(super) const STATE: &str = "state";
/// The results that later runs take over.
pub(super) const CACHE: &str = "cache";

/// What a receiver takes that nobody named.
const UNNAMED: Sensitivity = Sensitivity::Private;

impl Scopes {
    /// An endpoint's own host decides before the provider whose protocol it speaks.
    #[must_use]
    pub fn model(&self, provider: &str, endpoint: Option<&str>) -> Sensitivity {
        let host = endpoint.and_then(written_host).and_then(|host| host.find(&self.hosts));
        host.or_else(|| self.providers.get(provider)).copied().unwrap_or(UNNAMED)
    }

    #[must_use]
    pub fn host(&self, host: Option<&HostPort>) -> Sensitivity {
        host.and_then(|host| host.find(&self.hosts)).copied().unwrap_or(UNNAMED)
    }

    #[must_use]
    pub fn tool(&self, name: &str) -> Sensitivity {
        self.tools.get(name).copied().unwrap_or(UNNAMED)
    }

    /// Whether the project lets a node label this output lower than what it reads.
    #[must_use]
    pub fn declassifies(&self, flow: Option<&str>, node: &str, output: &str) -> bool {
        flow.is_some_and(|flow| self.declassify.contains_key(&format!("{flow}/{node}.{output}")))
    }

    /// What a state store takes; `backend` is the one that a node names.
    #[must_use]
    pub fn state(&self, backend: Option<&str>) -> Sensitivity {
        let named = backend.and_then(|name| self.stores.get(name)).or_else(|| self.stores.get(STATE));
        let is_server = self.servers.contains(backend.unwrap_or(STATE)) || self.servers.contains(STATE);
        let unnamed = if is_server { UNNAMED } else { Sensitivity::Restricted };
        named.copied().unwrap_or(unnamed)
    }

    /// What the cache of results takes. It is beside the journal.
    #[must_use]
    pub fn cache(&self) -> Sensitivity {
        self.stores.get(CACHE).copied().unwrap_or(Sensitivity::Restricted)
    }

    #[must_use]
    pub fn store(&self, name: &str) -> Sensitivity {
        self.stores.get(name).copied().unwrap_or(UNNAMED)
    }
}
