//! Whose interface the body of a model request is written for.

use clap::ValueEnum;
use stave_block::Surface;
use stave_canon::locate_key;

/// A provider, as commands take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderWord {
    Anthropic,
    #[value(name = "openai")]
    OpenAi,
    Gemini,
}

impl ProviderWord {
    /// The interface of the provider that a body is written for. OpenAI has two.
    pub(crate) fn surface(self, body: &str) -> Surface {
        match self {
            ProviderWord::Anthropic => Surface::AnthropicMessages,
            ProviderWord::Gemini => Surface::GeminiGenerateContent,
            ProviderWord::OpenAi => {
                let is_responses = locate_key(body, "/messages").is_none()
                    && (locate_key(body, "/input").is_some() || locate_key(body, "/instructions").is_some());
                if is_responses { Surface::OpenAiResponses } else { Surface::OpenAiChat }
            }
        }
    }
}
