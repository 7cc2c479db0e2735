//! The secrets of a run, resolved before it, and who may receive them.
//!
//! Invariants: a flow uses only secrets that the project lists, and each goes only to the hosts that the project lists
//! for it. A provider's key goes to the provider's own host and to hosts that the project names for models; a project
//! that lists the key decides with that list alone.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use stave_llm::recording::Redactor;
use stave_llm::{Provider, Secret, SecretSearch};
use stave_script::address::{HostPort, host_of};
use stave_script::allow_list::{SecretHosts, Unlisted, secret_refusal, unlisted_secret};

/// Named secrets. They are used in headers and addresses only.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    values: HashMap<String, Secret>,
    listed: Arc<SecretHosts>,
    /// The hosts that receive providers' keys besides the providers' own.
    key_hosts: Arc<BTreeSet<String>>,
    /// Made when somebody first answers.
    search: Arc<OnceLock<SecretSearch>>,
}

/// A secret of fewer bytes could be an ordinary word. It is looked for only in answers to a request that carried it.
const SHORTEST_SECRET: usize = 8;

impl Secrets {
    /// These values. `listed` has the secrets that flows may name; `key_hosts` the hosts besides the providers' own
    /// that receive providers' keys.
    #[must_use]
    pub fn new(
        values: impl IntoIterator<Item = (String, Secret)>,
        listed: SecretHosts,
        key_hosts: BTreeSet<String>,
    ) -> Secrets {
        let values = values.into_iter().collect();
        Secrets { values, listed: Arc::new(listed), key_hosts: Arc::new(key_hosts), search: Arc::default() }
    }

    /// Why flows may not use a secret, whatever would receive it.
    #[must_use]
    pub fn unlisted(&self, name: &str) -> Option<Unlisted> {
        unlisted_secret(&self.listed, name, None)
    }

    /// Why a secret may not be sent to a host.
    #[must_use]
    pub fn refusal(&self, name: &str, host: Option<&HostPort>) -> Option<Unlisted> {
        secret_refusal(&self.listed, name, host)
    }

    /// The value of a secret that the project lists.
    #[must_use]
    pub fn listed(&self, name: &str) -> Option<&Secret> {
        self.values.get(name).filter(|_| self.listed.contains_key(name))
    }

    /// The key of a provider for a request to an endpoint; without one, to the provider's own address.
    #[must_use]
    pub fn provider_key(&self, provider: Provider, endpoint: Option<&str>) -> Option<&Secret> {
        let name = Secrets::provider_key_name(provider.word());
        let own = provider.endpoint().and_then(host_of);
        let host = match endpoint {
            Some(endpoint) => Some(HostPort::of(endpoint)?),
            None => provider.endpoint().and_then(HostPort::of),
        };
        let may_receive = match (self.listed.get(&name), &host) {
            (Some(hosts), host) => host.as_ref().is_some_and(|host| host.is_in(hosts)),
            (None, Some(host)) => own.as_deref() == Some(host.name()) || host.is_in(&self.key_hosts),
            // A provider without an address of its own is asked at none.
            (None, None) => true,
        };
        self.values.get(&name).filter(|_| may_receive)
    }

    /// The name of a provider's key: `OPENAI_API_KEY` and the like. The interfaces of one provider share it.
    #[must_use]
    pub fn provider_key_name(provider: &str) -> String {
        let provider = provider.split('-').next().unwrap_or(provider);
        format!("{}_API_KEY", provider.to_ascii_uppercase())
    }

    /// The text with every secret in it replaced, for what the other side said: it may repeat what it was
    /// sent.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.redactor().text(text)
    }

    /// Removes every secret from what others receive.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.values.values().cloned())
    }

    /// What finds these secrets in the answer of a host, a tool or a model: it may repeat what it was sent, in this
    /// request or in another one. `carried` names the secrets that were part of the request.
    #[must_use]
    pub fn in_answers(&self, carried: &BTreeSet<String>) -> Cow<'_, SecretSearch> {
        let is_long = |secret: &Secret| secret.expose().len() >= SHORTEST_SECRET;
        let is_short = |name: &String| self.values.get(name).is_some_and(|secret| !is_long(secret));
        if carried.iter().any(is_short) {
            let wanted =
                self.values.iter().filter(|(name, secret)| is_long(secret) || carried.contains(*name));
            return Cow::Owned(SecretSearch::new(wanted.map(|(_, secret)| secret.clone())));
        }
        Cow::Borrowed(self.search.get_or_init(|| {
            SecretSearch::new(self.values.values().filter(|secret| is_long(secret)).cloned())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(listed: SecretHosts) -> Secrets {
        let key = ("OPENAI_API_KEY".to_owned(), Secret::new("key".to_owned()));
        Secrets::new([key], listed, BTreeSet::from(["models.example".to_owned()]))
    }

    #[test]
    fn a_providers_key_goes_to_hosts_that_the_project_names_for_models() {
        let secrets = secrets(SecretHosts::new());
        let has = |endpoint| secrets.provider_key(Provider::OpenAi, endpoint).is_some();
        assert!(
            has(None) && has(Some("https://api.openai.com/v1")) && has(Some("http://Models.example:8/v1"))
        );
        assert!(!has(Some("https://api.openai.com.evil.example/v1")) && !has(Some("http://127.0.0.1/v1")));
        assert!(!has(Some("models.example")), "an endpoint without a host receives nothing");
        assert!(secrets.listed("OPENAI_API_KEY").is_none(), "a flow cannot name the key");
    }

    #[test]
    fn a_key_that_the_project_lists_goes_to_the_hosts_of_the_list_only() {
        let hosts = BTreeSet::from(["api.openai.com".to_owned()]);
        let secrets = secrets(SecretHosts::from([("OPENAI_API_KEY".to_owned(), hosts)]));
        assert!(secrets.provider_key(Provider::OpenAi, None).is_some());
        assert!(secrets.provider_key(Provider::OpenAi, Some("http://models.example/v1")).is_none());
        assert!(secrets.listed("OPENAI_API_KEY").is_some());
    }
}
