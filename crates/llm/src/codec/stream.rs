//! Cutting a body into frames: server-sent events or lines.
//!
//! Both readers keep the same promises: a frame may arrive in any number of chunks, cut anywhere; a byte order
//! mark is skipped; the last frame counts although nothing ends it; a frame past the bound is an error rather
//! than memory.

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use sse_stream::{Sse, SseByteStream};
use stave_canon::Value;

use super::{Framing, ProviderError};
use crate::ErrorKind;

/// The longest frame a stream may have.
pub const LONGEST_FRAME: usize = 8 << 20;

/// The frames of `chunks`, without those that carry no data.
pub fn frames<S>(chunks: S, framing: Framing) -> impl Stream<Item = Result<String, ErrorKind>> + Send
where
    S: Stream<Item = Result<Bytes, ErrorKind>> + Send + 'static,
{
    match framing {
        Framing::ServerSentEvents => events(chunks).left_stream(),
        Framing::Lines => lines(chunks).right_stream(),
    }
}

fn events<S>(chunks: S) -> impl Stream<Item = Result<String, ErrorKind>> + Send
where
    S: Stream<Item = Result<Bytes, ErrorKind>> + Send + 'static,
{
    let mut meter = EventMeter::default();
    let measured = chunks.map(move |chunk| {
        let chunk = chunk?;
        meter.feed(&chunk)?;
        Ok(chunk)
    });
    // The reader drops an event that nothing ends. Two line ends after the last byte end every event, and
    // an empty event says nothing.
    let ended = measured.chain(stream::once(async { Ok(Bytes::from_static(b"\n\n")) }));
    SseByteStream::new(ended.map_err(Carried)).filter_map(|event| async {
        match event {
            Ok(Sse { data: Some(data), .. }) => Some(Ok(data)),
            Ok(_) => None,
            Err(error) => Some(Err(unwrap_fault(error))),
        }
    })
}

/// Carries a fault of ours through a reader that wants an error type.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Carried(ErrorKind);

fn unwrap_fault(error: sse_stream::Error) -> ErrorKind {
    match error {
        sse_stream::Error::Body(inner) => match inner.downcast::<Carried>() {
            Ok(carried) => carried.0,
            Err(other) => ErrorKind::Transport(other.to_string()),
        },
        other => ErrorKind::Decode(other.to_string()),
    }
}

/// Counts the bytes since the last empty line, which is at least the size of the event being read.
#[derive(Debug, Default)]
struct EventMeter {
    size: usize,
    line_is_empty: bool,
    after_carriage_return: bool,
}

impl EventMeter {
    fn feed(&mut self, chunk: &[u8]) -> Result<(), ErrorKind> {
        for byte in chunk {
            match byte {
                b'\n' if self.after_carriage_return => self.after_carriage_return = false,
                b'\n' | b'\r' => {
                    self.after_carriage_return = *byte == b'\r';
                    if self.line_is_empty {
                        self.size = 0;
                    }
                    self.line_is_empty = true;
                }
                _ => {
                    self.after_carriage_return = false;
                    self.line_is_empty = false;
                    self.size += 1;
                }
            }
            if self.size > LONGEST_FRAME {
                return Err(ErrorKind::TooLarge { limit: LONGEST_FRAME });
            }
        }
        Ok(())
    }
}

fn lines<S>(chunks: S) -> impl Stream<Item = Result<String, ErrorKind>> + Send
where
    S: Stream<Item = Result<Bytes, ErrorKind>> + Send + 'static,
{
    let mut cutter = LineCutter::default();
    let mut failed = false;
    let ended = chunks.map(Some).chain(stream::once(async { None }));
    ended
        .map(move |chunk| {
            let mut frames = Vec::new();
            let fault = match chunk {
                // Nothing follows a fault.
                _ if failed => None,
                Some(Ok(chunk)) => cutter.feed(&chunk, &mut frames).err(),
                Some(Err(kind)) => Some(kind),
                None => cutter.end(&mut frames).err(),
            };
            failed |= fault.is_some();
            stream::iter(frames.into_iter().map(Ok).chain(fault.map(Err)))
        })
        .flatten()
}

#[derive(Debug, Default)]
struct LineCutter {
    line: Vec<u8>,
    past_start: bool,
}

impl LineCutter {
    fn feed(&mut self, mut chunk: &[u8], frames: &mut Vec<String>) -> Result<(), ErrorKind> {
        while let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = chunk.split_at(end);
            self.grow(line)?;
            self.end(frames)?;
            chunk = rest.get(1..).unwrap_or_default();
        }
        self.grow(chunk)
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), ErrorKind> {
        if self.line.len() + bytes.len() > LONGEST_FRAME {
            return Err(ErrorKind::TooLarge { limit: LONGEST_FRAME });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end(&mut self, frames: &mut Vec<String>) -> Result<(), ErrorKind> {
        let line = std::mem::take(&mut self.line);
        let line =
            String::from_utf8(line).map_err(|_| ErrorKind::Decode("a line is not UTF-8".to_owned()))?;
        let line = if self.past_start { &line } else { line.trim_start_matches('\u{feff}') };
        self.past_start = true;
        let line = line.trim();
        if !line.is_empty() {
            frames.push(line.to_owned());
        }
        Ok(())
    }
}

pub(super) fn parse_frame(data: &str) -> Result<Value, ErrorKind> {
    stave_canon::parse(data).map_err(|error| ErrorKind::Decode(format!("an event of the stream: {error}")))
}

/// An error that a provider sends inside a reply whose status said that all was well.
pub(super) fn provider_fault(value: &Value) -> ErrorKind {
    let error = ProviderError::from_value(value);
    let stated = error.code.as_deref().and_then(|code| match code {
        "overloaded_error" => Some(529),
        "rate_limit_error" | "rate_limit_exceeded" => Some(429),
        "invalid_request_error" => Some(400),
        "authentication_error" => Some(401),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        "request_too_large" => Some(413),
        code => code.parse::<u16>().ok().filter(|status| (400..600).contains(status)),
    });
    // Without a better word it is a fault of the server, which may pass.
    let status = stated.unwrap_or(500);
    ErrorKind::Status { status, message: error.message, code: error.code, retry_after: None }
}
