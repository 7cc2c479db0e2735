//! The headers by which a provider knows who asks, and which version of its interface is spoken.
//!
//! Invariant: the value of a credential is marked sensitive, so that nothing prints it.

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use crate::{ErrorKind, Provider, Secret};

/// The header that names the version of Anthropic's interface.
pub const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// The header in which Anthropic takes a key.
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The header in which Azure takes a key.
const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// The version of Anthropic's interface that the codec speaks.
const SPOKEN_ANTHROPIC_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// Every header that can carry a key of some provider.
pub const CREDENTIALS: [HeaderName; 3] = [AUTHORIZATION, X_API_KEY, API_KEY];

/// The header that carries a provider's key.
pub fn credential(provider: Provider, key: &Secret) -> Result<(HeaderName, HeaderValue), ErrorKind> {
    let (name, value) = match provider {
        Provider::Anthropic => (X_API_KEY, HeaderValue::from_str(key.expose())),
        Provider::Azure => (API_KEY, HeaderValue::from_str(key.expose())),
        Provider::OpenAi | Provider::OpenAiResponses | Provider::Ollama | Provider::Bedrock => {
            (AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {}", key.expose())))
        }
    };
    let mut value = value
        .map_err(|_| ErrorKind::Target("the API key has characters that no header may have".to_owned()))?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// The header that says which version of a provider's interface is spoken, when the provider wants one.
#[must_use]
pub fn version(provider: Provider) -> Option<(HeaderName, HeaderValue)> {
    (provider == Provider::Anthropic).then_some((ANTHROPIC_VERSION, SPOKEN_ANTHROPIC_VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_provider_takes_its_key_in_a_header_of_the_list_and_nothing_prints_it() {
        let key = Secret::new("hunter2");
        for provider in Provider::ALL {
            let (name, value) = credential(provider, &key).unwrap();
            assert!(CREDENTIALS.contains(&name), "{name}");
            assert!(value.is_sensitive() && !format!("{value:?}").contains("hunter2"));
        }
        let (name, value) = credential(Provider::OpenAi, &key).unwrap();
        assert_eq!((name.as_str(), value.as_bytes()), ("authorization", b"Bearer hunter2".as_slice()));
        let refused = credential(Provider::Azure, &Secret::new("hunter2\n")).unwrap_err();
        assert!(!refused.to_string().contains("hunter2"));
    }

    #[test]
    fn only_anthropic_is_told_a_version() {
        let told = Provider::ALL.into_iter().filter(|provider| version(*provider).is_some());
        assert_eq!(told.collect::<Vec<_>>(), [Provider::Anthropic]);
    }
}
