//! OpenAI's chat completions, the interface that most servers speak.
//!
//! A tool result is a message of its own here, so a neutral message with several results becomes several.

mod answer;
mod decode;
mod encode;
mod reply;

use stave_canon::Value;

use self::reply::ChatStream;
use super::answer::{AnswerCodec, AnswerFault, Envelope, StreamEncoder};
use super::{Codec, Encoded, Framing, StreamDecoder, openai};

use crate::{ErrorKind, Request, Response};

/// The codec of `/chat/completions`.
#[derive(Debug, Clone, Copy)]
pub struct OpenAiChat;

impl Codec for OpenAiChat {
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
        Box::new(ChatStream::default())
    }
}

impl AnswerCodec for OpenAiChat {
    fn encode_response(&self, response: &Response, envelope: &Envelope) -> Value {
        answer::encode_response(response, envelope)
    }

    fn stream_encoder(&self, envelope: Envelope) -> Box<dyn StreamEncoder> {
        Box::new(answer::ChatChunks::new(envelope))
    }

    fn encode_error(&self, fault: &AnswerFault) -> Value {
        openai::error_body(fault)
    }
}
