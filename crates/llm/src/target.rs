//! Whom to ask: a provider, where it listens, and the key it wants.

use stave_vocabulary::Provider;
use url::Url;

use crate::{ErrorKind, Secret};

/// The version of Azure's interface that is asked for when the target names none.
pub const AZURE_API_VERSION: &str = "2024-10-21";

/// One model at one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub provider: Provider,
    /// Where the provider listens; its public address when absent.
    pub endpoint: Option<String>,
    pub api_key: Option<Secret>,
    /// The model, used when a request names none. For Azure it is the deployment.
    pub model: String,
    /// Azure's `api-version`; [`AZURE_API_VERSION`] when absent.
    pub api_version: Option<String>,
}

impl Target {
    #[must_use]
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        Target { provider, endpoint: None, api_key: None, model: model.into(), api_version: None }
    }

    #[must_use]
    pub fn with_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    #[must_use]
    pub fn with_key(mut self, api_key: Secret) -> Self {
        self.api_key = Some(api_key);
        self
    }

    /// The address that requests go to. `model` is the request's, for the wires that have it in the path.
    pub fn url(&self, model: &str) -> Result<Url, ErrorKind> {
        let endpoint = self.endpoint.as_deref().or_else(|| self.provider.endpoint());
        let endpoint = endpoint.ok_or_else(|| match self.provider {
            Provider::Azure => ErrorKind::Target(
                "provider azure needs an endpoint such as https://NAME.openai.azure.com".to_owned(),
            ),
            _ => ErrorKind::Target(format!("provider {} has no client", self.provider.word())),
        })?;
        let mut url = parse_endpoint(endpoint)?;
        let path = url.path().trim_end_matches('/').to_owned();
        match self.provider {
            Provider::OpenAi => url.set_path(&versioned(&path, "chat/completions")),
            Provider::OpenAiResponses => url.set_path(&versioned(&path, "responses")),
            Provider::Anthropic if path.ends_with("/v1") => url.set_path(&format!("{path}/messages")),
            Provider::Anthropic => url.set_path(&format!("{path}/v1/messages")),
            Provider::Ollama => {
                let path = path.strip_suffix("/api").unwrap_or(&path);
                url.set_path(&format!("{path}/api/chat"));
            }
            Provider::Azure => {
                let deployment = if self.model.is_empty() { model } else { &self.model };
                // Such a segment would name another path, at which the key means something else.
                if matches!(deployment, "" | "." | "..") {
                    return Err(ErrorKind::Target(format!("no deployment is called `{deployment}`")));
                }
                let mut segments = url
                    .path_segments_mut()
                    .map_err(|()| ErrorKind::Target("the endpoint cannot have a path".to_owned()))?;
                segments.pop_if_empty().extend(["openai", "deployments", deployment, "chat", "completions"]);
                drop(segments);
                if !url.query_pairs().any(|(key, _)| key == "api-version") {
                    let version = self.api_version.as_deref().unwrap_or(AZURE_API_VERSION);
                    url.query_pairs_mut().append_pair("api-version", version);
                }
            }
            Provider::Bedrock => {
                return Err(ErrorKind::Target(
                    "provider bedrock has no client here: put a server that speaks chat completions in front \
                     of it and use provider openai with its endpoint"
                        .to_owned(),
                ));
            }
        }
        Ok(url)
    }

    /// Refuses a target that would be turned away for want of a key, before anything is sent. A custom
    /// endpoint may need none.
    pub fn check_key(&self) -> Result<(), ErrorKind> {
        let needed = self.endpoint.is_none() && self.provider.needs_key();
        if needed && self.api_key.is_none() {
            return Err(ErrorKind::Target(format!("provider {} needs an API key", self.provider.word())));
        }
        Ok(())
    }
}

/// A path of its own is kept; an endpoint without one gets the version that every compatible server has.
fn versioned(path: &str, last: &str) -> String {
    if path.is_empty() { format!("/v1/{last}") } else { format!("{path}/{last}") }
}

fn parse_endpoint(endpoint: &str) -> Result<Url, ErrorKind> {
    // The text itself stays out of the messages, since it may hold a password.
    let refuse = |why: &str| ErrorKind::Target(format!("the endpoint {why}"));
    let mut url = Url::parse(endpoint).map_err(|error| refuse(&format!("is not a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(refuse("must be an http or https URL with a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("must not contain a user name or password; configure a key instead"));
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(provider: Provider, endpoint: Option<&str>) -> String {
        let target = Target { endpoint: endpoint.map(str::to_owned), ..Target::new(provider, "gpt 4o/mini") };
        target.url("ignored").map_or_else(|kind| format!("error: {kind}"), |url| url.to_string())
    }

    #[test]
    fn each_provider_has_its_own_path_rule() {
        let table = [
            (Provider::OpenAi, None, "https://api.openai.com/v1/chat/completions"),
            (
                Provider::OpenAi,
                Some("http://127.0.0.1:11434/v1"),
                "http://127.0.0.1:11434/v1/chat/completions",
            ),
            (
                Provider::OpenAi,
                Some("http://127.0.0.1:11434/v1/"),
                "http://127.0.0.1:11434/v1/chat/completions",
            ),
            (Provider::OpenAi, Some("http://127.0.0.1:8000"), "http://127.0.0.1:8000/v1/chat/completions"),
            (Provider::OpenAi, Some("https://h/x/openai?k=v#f"), "https://h/x/openai/chat/completions?k=v"),
            (Provider::OpenAiResponses, None, "https://api.openai.com/v1/responses"),
            (Provider::Anthropic, None, "https://api.anthropic.com/v1/messages"),
            (Provider::Anthropic, Some("http://h/v1"), "http://h/v1/messages"),
            (Provider::Anthropic, Some("http://h/proxy/"), "http://h/proxy/v1/messages"),
            (Provider::Ollama, None, "http://127.0.0.1:11434/api/chat"),
            (Provider::Ollama, Some("http://h:1/api"), "http://h:1/api/chat"),
            (
                Provider::Azure,
                Some("https://n.openai.azure.com"),
                "https://n.openai.azure.com/openai/deployments/gpt%204o%2Fmini/chat/completions?api-version=2024-10-21",
            ),
            (
                Provider::Azure,
                Some("https://h/?api-version=x"),
                "https://h/openai/deployments/gpt%204o%2Fmini/chat/completions?api-version=x",
            ),
        ];
        for (provider, endpoint, expected) in table {
            assert_eq!(url(provider, endpoint), expected);
        }
    }

    #[test]
    fn a_target_that_can_not_be_called_says_why_and_never_shows_the_endpoint() {
        for (provider, endpoint, says) in [
            (Provider::Bedrock, None, "bedrock has no client"),
            (Provider::Bedrock, Some("https://h"), "bedrock has no client"),
            (Provider::Azure, None, "needs an endpoint"),
            (Provider::OpenAi, Some("https://u:hunter2@h"), "must not contain a user name"),
            (Provider::OpenAi, Some("ftp://hunter2"), "http or https"),
            (Provider::OpenAi, Some("hunter2"), "is not a URL"),
        ] {
            let message = url(provider, endpoint);
            assert!(message.contains(says), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn a_deployment_is_one_segment_of_the_path() {
        let target = Target::new(Provider::Azure, "").with_endpoint("https://n.openai.azure.com");
        for name in ["", ".", ".."] {
            let refused = target.url(name).unwrap_err();
            assert!(refused.to_string().contains("no deployment"), "{name}: {refused}");
        }
        let url = target.url("../../a b?c#d").unwrap();
        let path = "/openai/deployments/..%2F..%2Fa%20b%3Fc%23d/chat/completions";
        assert_eq!(url.path(), path);
    }

    #[test]
    fn a_key_is_needed_for_public_addresses_only() {
        let custom = Target::new(Provider::OpenAi, "m").with_endpoint("http://127.0.0.1:1");
        assert!(custom.check_key().is_ok());
        assert!(Target::new(Provider::Ollama, "m").check_key().is_ok());
        assert!(Target::new(Provider::OpenAi, "m").check_key().is_err());
        assert!(Target::new(Provider::OpenAi, "m").with_key(Secret::new("k")).check_key().is_ok());
    }

    #[test]
    fn a_provider_has_a_client_when_its_wire_is_known() {
        for provider in Provider::ALL {
            assert_eq!(crate::codec::codec_of(provider).is_some(), provider.has_client(), "{provider}");
        }
    }
}
