//! OpenAI's responses interface.
//!
//! A conversation is a list of items here: a message, a call, a result or a piece of reasoning is an item
//! of its own. Items of the assistant that follow each other are one neutral message, until its next text.

mod answer;
mod decode;
mod encode;
mod reply;

use stave_canon::Value;

use self::reply::ResponsesStream;
use super::answer::{AnswerCodec, AnswerFault, Envelope, StreamEncoder};
use super::{Codec, Encoded, Framing, StreamDecoder, openai};
use crate::{ErrorKind, Request, Response};

/// The codec of `/responses`.
#[derive(Debug, Clone, Copy)]
pub struct OpenAiResponses;

impl Codec for OpenAiResponses {
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
        Box::new(ResponsesStream::default())
    }
}

impl AnswerCodec for OpenAiResponses {
    fn encode_response(&self, response: &Response, envelope: &Envelope) -> Value {
        answer::encode_response(response, envelope)
    }

    fn stream_encoder(&self, envelope: Envelope) -> Box<dyn StreamEncoder> {
        Box::new(answer::ResponseEvents::new(envelope))
    }

    fn encode_error(&self, fault: &AnswerFault) -> Value {
        openai::error_body(fault)
    }
}
