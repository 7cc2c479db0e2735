//! What the receivers outside a flow may be given.

use std::collections::BTreeMap;

use stave_script::address::written_host;

use crate::model::Sensitivity;

/// How sensitive data may be for each receiver that the project names. One that is not named takes private
/// data at most: restricted data goes only where someone said so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes {
    /// By provider name.
    pub providers: BTreeMap<String, Sensitivity>,
    /// By host name, of HTTP requests and of models' endpoints.
    pub hosts: BTreeMap<String, Sensitivity>,
    /// By `server/tool` of tools that answer outside the flow.
    pub tools: BTreeMap<String, Sensitivity>,
    /// By the kind of store that the project has: [`FEATURES`].
    pub stores: BTreeMap<String, Sensitivity>,
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

/// What a receiver takes that nobody named.
const UNNAMED: Sensitivity = Sensitivity::Private;

impl Scopes {
    /// An endpoint's own host decides before the provider whose protocol it speaks.
    #[must_use]
    pub fn model(&self, provider: &str, endpoint: Option<&str>) -> Sensitivity {
        let host = endpoint.and_then(written_host).and_then(|host| self.hosts.get(&host));
        host.or_else(|| self.providers.get(provider)).copied().unwrap_or(UNNAMED)
    }

    #[must_use]
    pub fn host(&self, host: Option<&str>) -> Sensitivity {
        host.and_then(|host| self.hosts.get(host)).copied().unwrap_or(UNNAMED)
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

    #[must_use]
    pub fn store(&self, name: &str) -> Sensitivity {
        self.stores.get(name).copied().unwrap_or(UNNAMED)
    }
}
