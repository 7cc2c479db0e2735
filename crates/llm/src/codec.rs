//! The providers' wires: one codec per interface, from the neutral model to JSON and back.
//!
//! Decoding is tolerant. A field with a known name and an unexpected type is treated as unknown, so it stays
//! in `extra` and the provider judges it. Only a body that is no message list at all is an error.

mod answer;
mod anthropic_messages;
mod fields;
pub(crate) mod neutral;
mod ollama;
mod openai;
mod openai_chat;
mod openai_responses;
pub mod stream;
mod strict_schema;

pub use answer::{AnswerCodec, AnswerFault, Envelope, StreamEncoder, answer_codec_of};
pub use anthropic_messages::{AnthropicMessages, DEFAULT_MAX_TOKENS};
pub use ollama::Ollama;
pub use openai_chat::OpenAiChat;
pub use openai_responses::OpenAiResponses;
pub use strict_schema::{StrictFault, StrictMode, strict_copy};

use stave_canon::{Object, Value};

use crate::{ErrorKind, Provider, Request, Response, StreamEvent, Usage};

/// One provider interface.
pub trait Codec: Send + Sync + std::fmt::Debug {
    fn encode_request(&self, request: &Request) -> Encoded;

    fn decode_request(&self, body: Value) -> Result<Request, ErrorKind>;

    fn decode_response(&self, body: Value) -> Result<Response, ErrorKind>;

    /// The provider's words in the body of an answer with an error status, whatever its shape.
    fn decode_error(&self, body: &[u8]) -> ProviderError {
        ProviderError::from_body(body)
    }

    fn framing(&self) -> Framing;

    /// A decoder for one stream.
    fn stream_decoder(&self) -> Box<dyn StreamDecoder>;
}

/// Turns the frames of one stream into neutral events.
pub trait StreamDecoder: Send + std::fmt::Debug {
    /// Reads one frame: the data of one server-sent event, or one line. An error is the provider's own, or
    /// a frame that cannot be read.
    fn decode(&mut self, data: &str, events: &mut Vec<StreamEvent>) -> Result<(), ErrorKind>;

    /// Takes the counts of a provider's own object for them, for a reader that looks for nothing else in the reply.
    /// What the object does not count is as the stream told it before.
    fn counts(&mut self, usage: Value) -> Option<Usage>;

    fn progress(&self) -> Progress;
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Progress {
    #[default]
    Running,
    /// The model has stopped; counts may follow.
    Stopped,
    /// Nothing follows.
    Over,
}

/// How a stream is cut into frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    ServerSentEvents,
    Lines,
}

/// A request in a provider's words.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    pub body: Value,
    pub notes: Vec<Note>,
}

/// Something that the wire cannot carry as it was asked, and what was done instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The field of the neutral request.
    pub field: &'static str,
    pub message: String,
}

/// An error in a provider's own words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderError {
    pub message: String,
    pub code: Option<String>,
}

/// The codec that a provider's interface needs; `None` for a provider without a client.
#[must_use]
pub fn codec_of(provider: Provider) -> Option<&'static dyn Codec> {
    match provider {
        Provider::OpenAi | Provider::Azure => Some(&OpenAiChat),
        Provider::OpenAiResponses => Some(&OpenAiResponses),
        Provider::Anthropic => Some(&AnthropicMessages),
        Provider::Ollama => Some(&Ollama),
        Provider::Bedrock => None,
    }
}

/// How much of a provider's message is kept: enough to read, too little to flood a log.
const LONGEST_MESSAGE: usize = 1000;

impl ProviderError {
    fn from_body(body: &[u8]) -> Self {
        match stave_canon::parse_bytes(body) {
            Ok(value) => ProviderError::from_value(&value),
            Err(_) => ProviderError { message: shorten(String::from_utf8_lossy(body).trim()), code: None },
        }
    }

    /// Reads `{"error": {"message", "type", "code"}}` and the shapes that compatible servers use for it.
    pub(crate) fn from_value(value: &Value) -> Self {
        let error = value.get("error").unwrap_or(value);
        let message = error
            .as_str()
            .or_else(|| error.get("message").and_then(Value::as_str))
            .or_else(|| value.get("message").and_then(Value::as_str))
            .or_else(|| value.get("detail").and_then(Value::as_str))
            .map_or_else(|| value.to_string(), str::to_owned);
        let code = ["code", "type"].into_iter().find_map(|key| match error.get(key) {
            Some(Value::String(text)) => Some(shorten(text)),
            Some(Value::Number(number)) => Some(Value::Number(number.clone()).to_string()),
            _ => None,
        });
        ProviderError { message: shorten(&message), code }
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Encoded {
    /// Says each thing once, however often it was noted.
    fn new(body: Object, notes: Vec<Note>) -> Self {
        let mut once: Vec<Note> = Vec::new();
        for note in notes {
            if !once.contains(&note) {
                once.push(note);
            }
        }
        Encoded { body: Value::Object(body), notes: once }
    }
}

impl Note {
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Note { field, message: message.into() }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: {}", self.field, self.message)
    }
}
