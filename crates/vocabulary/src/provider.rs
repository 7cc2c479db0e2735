//! Who serves models.
//!
//! Everything that is known about a provider as such is here: its word, its address, whether it can be asked. How its
//! requests are written is the client's business.

use std::fmt;
use std::str::FromStr;

use stave_shape::Shape;

/// A provider of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Shape)]
#[shape(words)]
pub enum Provider {
    /// OpenAI's chat completions, and every server that speaks them.
    #[shape(rename = "openai")]
    OpenAi,
    /// OpenAI's responses interface.
    #[shape(rename = "openai-responses")]
    OpenAiResponses,
    Anthropic,
    /// OpenAI's chat completions as Azure serves them.
    Azure,
    Ollama,
    /// Named by the specification of flows; it has no client.
    Bedrock,
}

impl Provider {
    /// Whether its models can be asked.
    #[must_use]
    pub fn has_client(self) -> bool {
        self != Provider::Bedrock
    }

    /// Whether the provider's wire takes the schema of the reply itself, so that the prompt need not
    /// repeat it.
    #[must_use]
    pub fn has_native_schema(self) -> bool {
        matches!(self, Provider::OpenAi | Provider::OpenAiResponses | Provider::Azure | Provider::Ollama)
    }

    /// Whether each model has an address of its own.
    #[must_use]
    pub fn has_model_in_path(self) -> bool {
        self == Provider::Azure
    }

    /// Whether the provider's own address takes no request without a key.
    #[must_use]
    pub fn needs_key(self) -> bool {
        self != Provider::Ollama
    }

    /// The provider's public address.
    #[must_use]
    pub fn endpoint(self) -> Option<&'static str> {
        match self {
            Provider::OpenAi | Provider::OpenAiResponses => Some("https://api.openai.com/v1"),
            Provider::Anthropic => Some("https://api.anthropic.com"),
            Provider::Ollama => Some("http://127.0.0.1:11434"),
            Provider::Azure | Provider::Bedrock => None,
        }
    }
}

/// The word is not one of [`Provider::ALL`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProvider(pub String);

impl fmt::Display for UnknownProvider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "unknown provider `{}`", self.0)
    }
}

impl std::error::Error for UnknownProvider {}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Provider::from_word(text).ok_or_else(|| UnknownProvider(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_found_by_its_word_only() {
        for provider in Provider::ALL {
            assert_eq!(provider.word().parse(), Ok(provider));
        }
        assert_eq!("OpenAI".parse::<Provider>(), Err(UnknownProvider("OpenAI".to_owned())));
        assert_eq!(Provider::WORDS[1], "openai-responses");
    }
}
