//! OpenAI's chat completions, the interface that most servers speak.
//!
//! A tool result is a message of its own here, so a neutral message with several results becomes several.

mod decode;
mod encode;
mod reply;

use stave_canon::Value;

use self::reply::ChatStream;
use super::{Codec, Encoded, Framing, StreamDecoder};

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
