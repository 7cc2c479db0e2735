//! One attempt: a request out, a reply in, within its limits of time and size.

use std::error::Error as _;
use std::ops::ControlFlow;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, future};
use reqwest::Response as HttpResponse;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use tokio::time::timeout;
use url::Url;

use super::Client;
use crate::codec::stream::frames;
use crate::codec::{Codec, Framing, Progress};
use crate::{
    Accumulator, CallObserver, ErrorKind, Phase, Response, Secret, SecretSearch, StreamEvent, Timeouts,
    retry_after,
};

/// How much of an error's body is read.
const LONGEST_ERROR_BODY: usize = 64 << 10;

/// How long a finished stream may take to close, so that its connection can be used again.
const CLOSING: Duration = Duration::from_millis(50);

/// Everything one attempt needs; all attempts of a call are alike.
pub(super) struct Exchange<'c> {
    pub(super) client: &'c Client,
    pub(super) codec: &'static dyn Codec,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) api_key: Option<&'c Secret>,
    pub(super) streams: bool,
    pub(super) timeouts: Timeouts,
    pub(super) observer: &'c dyn CallObserver,
}

/// Why an attempt failed, and whether the observer has seen parts of its reply.
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) output_seen: bool,
}

impl Exchange<'_> {
    pub(super) async fn attempt(&self) -> Result<Response, Failure> {
        let mut output_seen = false;
        let limit = self.timeouts.attempt;
        // Dropping the inner future closes the connection, so a timeout ends the work and not only the wait.
        let outcome = match timeout(limit, self.run(&mut output_seen)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ErrorKind::Timeout { phase: Phase::Attempt, limit }),
        };
        outcome.map_err(|kind| Failure { kind: self.without_key(kind), output_seen })
    }

    async fn run(&self, output_seen: &mut bool) -> Result<Response, ErrorKind> {
        let request =
            self.client.http.post(self.url.clone()).headers(self.headers.clone()).body(self.body.clone());
        let limit = self.timeouts.first_byte;
        let reply = match timeout(limit, request.send()).await {
            Ok(sent) => sent.map_err(|error| self.transport_fault(error))?,
            Err(_) => return Err(ErrorKind::Timeout { phase: Phase::FirstByte, limit }),
        };
        if !reply.status().is_success() {
            return Err(self.status_fault(reply).await);
        }
        self.observer.begun();
        let is = |wanted: &str| {
            let content_type = reply.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
            content_type.is_some_and(|content_type| content_type.starts_with(wanted))
        };
        // Some servers answer whole although a stream was asked for, and the other way round.
        let comes_in_events = match self.codec.framing() {
            Framing::ServerSentEvents => is("text/event-stream") || (self.streams && !is("application/json")),
            Framing::Lines => self.streams,
        };
        if comes_in_events {
            self.stream(reply, output_seen).await
        } else {
            self.whole(reply, output_seen).await
        }
    }

    async fn whole(&self, reply: HttpResponse, output_seen: &mut bool) -> Result<Response, ErrorKind> {
        let limit = self.client.max_body;
        if reply.content_length().is_some_and(|length| length > limit as u64) {
            return Err(ErrorKind::TooLarge { limit });
        }
        let mut body = Vec::new();
        let mut chunks = pin!(self.chunks(reply));
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk?);
        }
        let value = stave_canon::parse_bytes(&body).map_err(|error| ErrorKind::Decode(error.to_string()))?;
        let response = self.codec.decode_response(value)?;
        if self.streams {
            for event in StreamEvent::of(&response) {
                self.show(&event, output_seen)?;
            }
        }
        Ok(response)
    }

    async fn stream(&self, reply: HttpResponse, output_seen: &mut bool) -> Result<Response, ErrorKind> {
        let mut decoder = self.codec.stream_decoder();
        let mut accumulator = Accumulator::new();
        let mut events = Vec::new();
        let mut frames = pin!(frames(self.chunks(reply), self.codec.framing()));
        while let Some(frame) = frames.next().await {
            if let Err(kind) = decoder.decode(&frame?, &mut events) {
                // A last frame that does not parse was cut off, which is no fault of the provider's words.
                let cut_off = matches!(kind, ErrorKind::Decode(_)) && frames.next().await.is_none();
                return Err(if cut_off { truncated() } else { kind });
            }
            for event in events.drain(..) {
                self.show(&event, output_seen)?;
                accumulator.add(event);
            }
            if decoder.progress() == Progress::Over {
                let closing = frames.for_each(|_| future::ready(()));
                let _ = timeout(CLOSING, closing).await;
                return Ok(accumulator.finish());
            }
        }
        match decoder.progress() {
            Progress::Running => Err(truncated()),
            Progress::Stopped | Progress::Over => Ok(accumulator.finish()),
        }
    }

    fn show(&self, event: &StreamEvent, output_seen: &mut bool) -> Result<(), ErrorKind> {
        *output_seen |= event.is_output();
        match self.observer.event(event) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ErrorKind::Cancelled),
        }
    }

    /// The body in pieces, ended by an error when it grows past the bound.
    fn chunks(&self, reply: HttpResponse) -> impl Stream<Item = Result<Bytes, ErrorKind>> + Send + use<> {
        let limit = self.client.max_body;
        let mut size = 0_usize;
        reply.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(|error| ErrorKind::Transport(chain(error)))?;
            size = size.saturating_add(chunk.len());
            if size > limit { Err(ErrorKind::TooLarge { limit }) } else { Ok(chunk) }
        })
    }

    async fn status_fault(&self, reply: HttpResponse) -> ErrorKind {
        let status = reply.status().as_u16();
        let retry_after = retry_after(reply.headers(), &*self.client.clock);
        let mut body = Vec::new();
        let mut chunks = pin!(reply.bytes_stream());
        // The status is what counts; a body that breaks off says less, not something else.
        while let Some(Ok(chunk)) = chunks.next().await {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_ERROR_BODY {
                body.truncate(LONGEST_ERROR_BODY);
                break;
            }
        }
        let error = self.codec.decode_error(&body);
        ErrorKind::Status { status, message: error.message, code: error.code, retry_after }
    }

    fn transport_fault(&self, error: reqwest::Error) -> ErrorKind {
        if error.is_connect() && error.is_timeout() {
            return ErrorKind::Timeout { phase: Phase::Connect, limit: self.client.connect_timeout };
        }
        ErrorKind::Transport(chain(error))
    }

    /// A provider may repeat the key that it refuses.
    fn without_key(&self, kind: ErrorKind) -> ErrorKind {
        let Some(key) = self.api_key else { return kind };
        let search = SecretSearch::new([key.clone()]);
        let hide = |text: String| search.hide(&text).into_owned();
        match kind {
            ErrorKind::Status { status, message, code, retry_after } => {
                ErrorKind::Status { status, message: hide(message), code: code.map(hide), retry_after }
            }
            ErrorKind::Transport(text) => ErrorKind::Transport(hide(text)),
            ErrorKind::Decode(text) => ErrorKind::Decode(hide(text)),
            other => other,
        }
    }
}

fn truncated() -> ErrorKind {
    ErrorKind::Transport("the stream ended before the reply was complete".to_owned())
}

/// The error and its causes in one line, without the address, whose query may hold a secret.
fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
