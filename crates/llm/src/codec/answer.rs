//! The side of an interface that answers: replies, streams and errors in the words a client expects.
//!
//! A gateway asks one provider and answers in another's words. What only the asked provider understands (its
//! `extra` fields and raw events) is left out here, because the client's library has no name for it.

use stave_canon::Value;

use super::{AnthropicMessages, Codec, OpenAiChat, OpenAiResponses};
use crate::{Provider, Response, StreamEvent};

/// An interface that clients speak to us.
pub trait AnswerCodec: Codec {
    /// A whole reply.
    fn encode_response(&self, response: &Response, envelope: &Envelope) -> Value;

    /// An encoder for one stream.
    fn stream_encoder(&self, envelope: Envelope) -> Box<dyn StreamEncoder>;

    /// The body of an answer with an error status.
    fn encode_error(&self, fault: &AnswerFault) -> Value;
}

/// Turns neutral events into the text of one stream of server-sent events.
///
/// Invariant: whatever order the events come in, what is written is a stream that the interface's own decoder
/// folds into the same answer.
pub trait StreamEncoder: Send + std::fmt::Debug {
    /// Writes what one event adds, which may be nothing yet.
    fn encode(&mut self, event: StreamEvent, out: &mut String);

    /// Writes what ends the stream.
    fn finish(&mut self, out: &mut String);

    /// Ends the stream with an error; nothing may follow.
    fn fail(&mut self, fault: &AnswerFault, out: &mut String);
}

/// What a client's interface wants to know of a reply and the asked provider may not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Used when the provider gave the reply no id.
    pub id: String,
    /// Used when the provider did not say which model answered.
    pub model: String,
    /// Seconds since 1970.
    pub created: i64,
    /// Whether the client asked for token counts at the end of a stream of chat completions.
    pub include_usage: bool,
}

/// Why a client gets no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerFault {
    /// The status of the answer, from which the interface's word for the kind of error follows.
    pub status: u16,
    pub message: String,
    /// A word for machines, where the interface has a place for it.
    pub code: Option<String>,
}

/// The codec that answers clients of a provider's interface; `None` where nobody speaks it to us.
#[must_use]
pub fn answer_codec_of(provider: Provider) -> Option<&'static dyn AnswerCodec> {
    match provider {
        Provider::OpenAi | Provider::Azure => Some(&OpenAiChat),
        Provider::OpenAiResponses => Some(&OpenAiResponses),
        Provider::Anthropic => Some(&AnthropicMessages),
        Provider::Ollama | Provider::Bedrock => None,
    }
}

impl Envelope {
    /// The reply's own id, or ours.
    pub(super) fn id_of<'a>(&'a self, id: Option<&'a str>) -> &'a str {
        id.filter(|id| !id.is_empty()).unwrap_or(&self.id)
    }

    /// The model that answered, or the one that was asked.
    pub(super) fn model_of<'a>(&'a self, model: Option<&'a str>) -> &'a str {
        model.filter(|model| !model.is_empty()).unwrap_or(&self.model)
    }
}

/// Writes one server-sent event. JSON text holds no line break, so one line of data is enough.
pub(super) fn write_event(name: Option<&str>, data: &Value, out: &mut String) {
    if let Some(name) = name {
        out.push_str("event: ");
        out.push_str(name);
        out.push('\n');
    }
    out.push_str("data: ");
    out.push_str(&data.to_string());
    out.push_str("\n\n");
}
