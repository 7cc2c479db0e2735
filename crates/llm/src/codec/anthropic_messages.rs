//! Anthropic's messages.
//!
//! System text is outside the messages here, tool results are parts of a user's message, and marks show
//! the provider which prefix to keep.

mod answer;
mod decode;
mod encode;
mod reply;

use stave_canon::Value;

use self::reply::MessagesStream;
use super::answer::{AnswerCodec, AnswerFault, Envelope, StreamEncoder};
use super::{Codec, Encoded, Framing, StreamDecoder};
use crate::{ErrorKind, Request, Response};

/// The limit that is sent when a request has none, since this interface insists on one.
pub const DEFAULT_MAX_TOKENS: u64 = 4096;

/// The codec of `/v1/messages`.
#[derive(Debug, Clone, Copy)]
pub struct AnthropicMessages;

impl Codec for AnthropicMessages {
    fn encode_request(&self, request: &Request) -> Encoded {
        encode::encode_request(request)
    }

    fn decode_request(&self, body: Value) -> Result<Request, ErrorKind> {
        decode::decode_request(body)
    }

    fn decode_response(&self, body: Value) -> Result<Response, ErrorKind> {
        reply::decode_response(body)
    }

    fn framing(&self) -> Framing {
        Framing::ServerSentEvents
    }

    fn stream_decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(MessagesStream::default())
    }
}

impl AnswerCodec for AnthropicMessages {
    fn encode_response(&self, response: &Response, envelope: &Envelope) -> Value {
        answer::encode_response(response, envelope)
    }

    fn stream_encoder(&self, envelope: Envelope) -> Box<dyn StreamEncoder> {
        Box::new(answer::MessageEvents::new(envelope))
    }

    fn encode_error(&self, fault: &AnswerFault) -> Value {
        answer::error_body(fault)
    }
}
