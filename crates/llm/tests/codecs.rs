//! The wires: golden bodies, laws of going there and back, and input that nobody sent on purpose.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod answers;
mod arbitrary;
mod replies;
mod requests;
mod round_trip;

use stave_canon::{Layout, Value};
use stave_llm::codec::{AnthropicMessages, Codec, Ollama, OpenAiChat, OpenAiResponses};

/// Every codec with the name its golden files carry.
const CODECS: [(&str, &dyn Codec); 4] = [
    ("openai_chat", &OpenAiChat),
    ("openai_responses", &OpenAiResponses),
    ("anthropic_messages", &AnthropicMessages),
    ("ollama", &Ollama),
];

fn json(text: &str) -> Value {
    stave_canon::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// JSON as people read it.
fn pretty(value: &Value) -> String {
    let mut text = String::new();
    stave_canon::write(value, &Layout::PRETTY_INSERTION_ASCII, &mut text);
    text
}
