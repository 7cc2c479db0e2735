//! Which hosts models are asked at.
//!
//! Invariant: a prompt, and the key that goes with it, leaves for the provider's own address or for a host that the
//! project names. An address that only a flow or a request names is not asked: it could be anyone's, or inside.

use std::collections::BTreeSet;
use std::sync::Arc;

use stave_llm::Provider;
use stave_script::address::{HostPort, host_of};
use stave_script::allow_list::{Unlisted, model_host_refusal};

/// The hosts that a project names for models.
#[derive(Debug, Clone, Default)]
pub struct ModelHosts(Named);

#[derive(Debug, Clone)]
enum Named {
    These(Arc<BTreeSet<String>>),
    Everywhere,
}

impl Default for Named {
    fn default() -> Self {
        Named::These(Arc::default())
    }
}

impl ModelHosts {
    /// These hosts, besides the providers' own, written as `stave_script::address::listed_host` writes them.
    #[must_use]
    pub fn these(hosts: impl IntoIterator<Item = String>) -> ModelHosts {
        ModelHosts(Named::These(Arc::new(hosts.into_iter().collect())))
    }

    /// Any host, for models that nobody is asked for over a network.
    #[must_use]
    pub fn everywhere() -> ModelHosts {
        ModelHosts(Named::Everywhere)
    }

    /// Why a provider's model may not be asked at an address, or `None` when it may.
    #[must_use]
    pub fn refusal(&self, provider: Provider, endpoint: &str) -> Option<Unlisted> {
        let Named::These(hosts) = &self.0 else { return None };
        let Some(host) = HostPort::of(endpoint) else {
            return Some(Unlisted {
                message: "the model's endpoint is not an address with a host".to_owned(),
                help: "write it as `https://HOST/PATH`".to_owned(),
            });
        };
        let own = provider.endpoint().and_then(host_of);
        model_host_refusal(hosts, own.as_deref(), &host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_providers_own_host_and_named_ones_are_asked() {
        let hosts =
            ModelHosts::these(["models.example".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()]);
        for endpoint in [
            "https://api.openai.com/v1",
            "https://API.OPENAI.COM./v1",
            "https://models.example/v1",
            "http://127.0.0.1:8000/v1",
            "http://[::1]:8000",
        ] {
            assert_eq!(hosts.refusal(Provider::OpenAi, endpoint), None, "{endpoint}");
        }
        for endpoint in [
            "https://api.openai.com.evil.example/v1",
            "https://api.openai.com@evil.example/v1",
            "https://api.anthropic.com",
            "https://other.models.example/v1",
            "http://169.254.169.254/latest",
            "http://2130706434/v1",
            "http://localhost:8000",
            "file:///etc/passwd",
            "models.example",
            "",
        ] {
            assert!(hosts.refusal(Provider::OpenAi, endpoint).is_some(), "{endpoint}");
        }
        assert_eq!(ModelHosts::everywhere().refusal(Provider::Azure, "http://inside"), None);
        assert!(ModelHosts::default().refusal(Provider::Ollama, "http://127.0.0.1:11434").is_none());
    }
}
