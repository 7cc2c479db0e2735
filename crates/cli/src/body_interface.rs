//! Whose interface the body of a model request is written for.

use clap::ValueEnum;
use stave_block::Surface;
use stave_canon::locate_key;
use stave_llm::Provider;

/// Whose interface a body is in, as commands take it. A body can be in an interface that Stave plans for and no client
/// here asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BodyProvider {
    #[value(name = Provider::Anthropic.word())]
    Anthropic,
    #[value(name = Provider::OpenAi.word())]
    OpenAi,
    Gemini,
}

impl BodyProvider {
    /// The interface of the provider that a body is written for. OpenAI has two.
    pub(crate) fn surface(self, body: &str) -> Surface {
        match self {
            BodyProvider::Anthropic => Surface::AnthropicMessages,
            BodyProvider::Gemini => Surface::GeminiGenerateContent,
            BodyProvider::OpenAi => {
                let is_responses = locate_key(body, "/messages").is_none()
                    && (locate_key(body, "/input").is_some() || locate_key(body, "/instructions").is_some());
                if is_responses { Surface::OpenAiResponses } else { Surface::OpenAiChat }
            }
        }
    }

    /// The members of a body that hold texts in another interface and none in this one: they are no part of its blocks.
    pub(crate) fn foreign_texts(self, body: &str) -> Vec<&'static str> {
        let own = self.surface(body);
        let is_foreign = |(name, surfaces): &&(&str, &[Surface])| {
            !surfaces.contains(&own) && locate_key(body, &format!("/{name}")).is_some()
        };
        TEXTS.iter().filter(is_foreign).map(|(name, _)| *name).collect()
    }
}

/// The members of bodies that hold texts, with the interfaces that know them.
const TEXTS: [(&str, &[Surface]); 7] = [
    ("system", &[Surface::AnthropicMessages]),
    ("messages", &[Surface::AnthropicMessages, Surface::OpenAiChat]),
    ("instructions", &[Surface::OpenAiResponses]),
    ("input", &[Surface::OpenAiResponses]),
    ("systemInstruction", &[Surface::GeminiGenerateContent]),
    ("system_instruction", &[Surface::GeminiGenerateContent]),
    ("contents", &[Surface::GeminiGenerateContent]),
];
