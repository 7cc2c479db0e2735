//! What goes back to the client: a body of ours, the upstream's bytes as they come, or its events in the
//! client's words.
//!
//! Invariant: bytes that pass are passed as they are and at once. Held back is only what could be the beginning of the
//! upstream's key, and an event of a stream until it is whole. However the reply ends, what is known of it goes into its
//! record.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http_body_util::BodyStream;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::{Body, Frame, SizeHint};
use sha2::{Digest as _, Sha256};
use stave_block::Surface;
use stave_llm::codec::stream::frames;
use stave_llm::codec::{Envelope, Framing, Progress, StreamDecoder, StreamEncoder};
use stave_llm::{ErrorKind, StreamEvent};
use tokio::time::Sleep;

use super::echo::{EchoMask, upstream_key};
use super::entry::Entry;
use super::interface::{Fault, codec};
use super::tally::Tally;
use super::tap::Tap;
use super::upstream::{BrokenOff, UpstreamBody};
use crate::records::{Digest, RequestOutcome};

pub(crate) type Reply = Response<ReplyBody>;

#[derive(Debug)]
pub(crate) enum ReplyBody {
    Whole(Option<Bytes>),
    Passing(Box<Passing>),
    Translated(Box<Translated>),
}

/// The upstream's bytes on their way.
#[derive(Debug)]
pub(crate) struct Passing {
    body: UpstreamBody,
    tap: Tap,
    mask: EchoMask,
    idle: Idle,
    ending: Ending,
    /// What follows the bytes that were held back.
    next: Option<Frame<Bytes>>,
    /// When a reply that broke off is broken off towards the client too.
    break_off: Option<Pin<Box<Sleep>>>,
}

/// How long what came of a reply that broke off has to reach the client. The server drops what it has not
/// written yet once it learns that there is no more.
const LAST_BYTES: Duration = Duration::from_millis(100);

/// The upstream's events on their way, in the client's words.
pub(crate) struct Translated {
    frames: Pin<Box<dyn Stream<Item = Result<String, ErrorKind>> + Send>>,
    decoder: Box<dyn StreamDecoder>,
    encoder: Box<dyn StreamEncoder>,
    events: Vec<StreamEvent>,
    /// Reads the upstream's bytes as they come, also those that are no events.
    tap: Arc<Mutex<Tap>>,
    mask: EchoMask,
    is_over: bool,
    idle: Idle,
    ending: Ending,
}

/// What is written down at the end.
#[derive(Debug)]
struct Ending {
    entry: Option<Box<Entry>>,
    hash: Sha256,
    bytes: u64,
}

/// How long nothing may come.
#[derive(Debug)]
struct Idle {
    limit: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    /// Whether something came since the sleep was set.
    is_stale: bool,
}

impl ReplyBody {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        ReplyBody::Whole(Some(bytes))
    }

    pub(crate) fn passing(
        body: UpstreamBody,
        tap: Tap,
        is_stream: bool,
        idle: Duration,
        entry: Box<Entry>,
    ) -> Self {
        let key = upstream_key(&entry);
        let mut passing = Passing {
            body,
            tap,
            mask: if is_stream { EchoMask::of_events(key) } else { EchoMask::new(key) },
            idle: Idle::new(idle),
            ending: Ending::new(entry),
            next: None,
            break_off: None,
        };
        if passing.body.is_end_stream() {
            passing.finish(RequestOutcome::Answered);
        }
        ReplyBody::Passing(Box::new(passing))
    }

    pub(crate) fn translated(
        body: UpstreamBody,
        from: Surface,
        to: Surface,
        envelope: Envelope,
        idle: Duration,
        entry: Box<Entry>,
    ) -> Self {
        let tap = Arc::new(Mutex::new(Tap::stream(from)));
        let reader = Arc::clone(&tap);
        let chunks = BodyStream::new(body).filter_map(move |frame| {
            let chunk = match frame {
                Ok(frame) => frame.into_data().ok().map(Ok),
                Err(error) => Some(Err(ErrorKind::Transport(error.to_string()))),
            };
            if let Some(Ok(data)) = &chunk {
                locked(&reader).feed(data);
            }
            std::future::ready(chunk)
        });
        ReplyBody::Translated(Box::new(Translated {
            frames: Box::pin(frames(chunks, Framing::ServerSentEvents)),
            decoder: codec(from).stream_decoder(),
            encoder: codec(to).stream_encoder(envelope),
            events: Vec::new(),
            tap,
            mask: EchoMask::of_events(upstream_key(&entry)),
            is_over: false,
            idle: Idle::new(idle),
            ending: Ending::new(entry),
        }))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match self.get_mut() {
            ReplyBody::Whole(bytes) => {
                let bytes = bytes.take().filter(|bytes| !bytes.is_empty());
                Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
            ReplyBody::Passing(passing) => passing.poll(context),
            ReplyBody::Translated(translated) => translated.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            ReplyBody::Passing(passing) => passing.is_end_stream(),
            ReplyBody::Translated(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            ReplyBody::Passing(passing) => passing.body.size_hint(),
            ReplyBody::Translated(_) => SizeHint::default(),
        }
    }
}

impl Passing {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if let Some(break_off) = &mut self.break_off {
            return break_off.as_mut().poll(context).map(|()| Some(Err(BrokenOff)));
        }
        if let Some(next) = self.next.take() {
            return Poll::Ready(Some(Ok(next)));
        }
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.idle.is_stale = true;
                    let (data, other) = match frame.into_data() {
                        Ok(data) => (self.mask.pass(data), None),
                        // What follows the bytes ends them.
                        Err(other) => (self.mask.finish(), Some(other)),
                    };
                    let is_end = self.body.is_end_stream();
                    let data = if is_end { joined(data, self.mask.finish()) } else { data };
                    self.take_in(&data);
                    if is_end {
                        self.finish(RequestOutcome::Answered);
                    }
                    match (data.is_empty(), other) {
                        (false, other) => {
                            self.next = other;
                            return Poll::Ready(Some(Ok(Frame::data(data))));
                        }
                        (true, Some(other)) => return Poll::Ready(Some(Ok(other))),
                        (true, None) if is_end => return Poll::Ready(None),
                        (true, None) => {}
                    }
                }
                Poll::Ready(Some(Err(_))) => return self.break_off(context),
                Poll::Ready(None) => {
                    let rest = self.mask.finish();
                    self.take_in(&rest);
                    self.finish(RequestOutcome::Answered);
                    return Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest))));
                }
                Poll::Pending if self.idle.is_over(context) => return self.break_off(context),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn take_in(&mut self, data: &Bytes) {
        if !data.is_empty() {
            self.ending.take_in(data);
            self.tap.feed(data);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && self.next.is_none() && !self.mask.is_holding()
    }

    fn break_off(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let rest = self.mask.finish();
        self.take_in(&rest);
        self.finish(RequestOutcome::Failed);
        let break_off = self.break_off.insert(Box::pin(tokio::time::sleep(LAST_BYTES)));
        if !rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(rest))));
        }
        break_off.as_mut().poll(context).map(|()| Some(Err(BrokenOff)))
    }

    fn finish(&mut self, outcome: RequestOutcome) {
        if self.ending.entry.is_none() {
            return;
        }
        self.tap.finish();
        let is_good = !self.tap.has_failed() && self.tap.is_over();
        let outcome =
            if outcome == RequestOutcome::Answered && !is_good { RequestOutcome::Failed } else { outcome };
        self.ending.finish(outcome, self.tap.tally());
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.finish(RequestOutcome::Cancelled);
    }
}

impl Translated {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        loop {
            let mut out = String::new();
            if self.is_over {
                return Poll::Ready(None);
            }
            match self.frames.as_mut().poll_next(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.idle.is_stale = true;
                    let before = out.len();
                    let framed = catch_unwind(AssertUnwindSafe(|| self.frame(&frame, &mut out)));
                    if framed.is_err() {
                        locked(&self.tap).blind();
                        // Half an event would be none.
                        out.truncate(before);
                        self.fail(&mut out);
                    }
                }
                Poll::Ready(Some(Err(_))) => self.fail(&mut out),
                Poll::Ready(None) => {
                    if self.decoder.progress() == Progress::Running {
                        self.fail(&mut out);
                    } else {
                        self.encoder.finish(&mut out);
                        self.end(RequestOutcome::Answered);
                    }
                }
                Poll::Pending if self.idle.is_over(context) => self.fail(&mut out),
                Poll::Pending => return Poll::Pending,
            }
            let mut bytes = self.mask.pass(out.into());
            if self.is_over {
                bytes = joined(bytes, self.mask.finish());
            }
            if !bytes.is_empty() {
                self.ending.take_in(&bytes);
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
        }
    }

    fn frame(&mut self, frame: &str, out: &mut String) {
        match self.decoder.decode(frame, &mut self.events) {
            Ok(()) => {}
            Err(ErrorKind::Status { status, message, .. }) => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
                let fault = Fault::new(status, "upstream_error", message);
                self.encoder.fail(&fault.answer(), out);
                self.end(RequestOutcome::Failed);
                return;
            }
            Err(_) => {
                self.fail(out);
                return;
            }
        }
        for event in self.events.drain(..) {
            self.encoder.encode(event, out);
        }
        // What keeps the connection alive on one side does so on the other.
        if out.is_empty() && frame.contains("\"ping\"") {
            out.push_str(": ping\n\n");
        }
        if self.decoder.progress() == Progress::Over {
            self.encoder.finish(out);
            self.end(RequestOutcome::Answered);
        }
    }

    fn fail(&mut self, out: &mut String) {
        let fault = Fault::new(StatusCode::BAD_GATEWAY, "upstream_broke_off", BrokenOff.to_string());
        self.encoder.fail(&fault.answer(), out);
        self.end(RequestOutcome::Failed);
    }

    fn end(&mut self, outcome: RequestOutcome) {
        self.is_over = true;
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: RequestOutcome) {
        if self.ending.entry.is_some() {
            let mut tap = locked(&self.tap);
            tap.finish();
            self.ending.finish(outcome, tap.tally());
        }
    }
}

impl Drop for Translated {
    fn drop(&mut self) {
        self.settle(RequestOutcome::Cancelled);
    }
}

impl std::fmt::Debug for Translated {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Translated").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

/// A reader guards itself against panics, so a lock is never left half done.
fn locked(tap: &Mutex<Tap>) -> MutexGuard<'_, Tap> {
    tap.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What can be passed on, and what was held back after it.
fn joined(data: Bytes, rest: Bytes) -> Bytes {
    match (data.is_empty(), rest.is_empty()) {
        (_, true) => data,
        (true, false) => rest,
        (false, false) => [data, rest].concat().into(),
    }
}

impl Ending {
    fn new(entry: Box<Entry>) -> Self {
        Ending { entry: Some(entry), hash: Sha256::new(), bytes: 0 }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        if let Some(entry) = &mut self.entry {
            entry.traced.take_in(bytes);
        }
    }

    fn finish(&mut self, outcome: RequestOutcome, tally: &Tally) {
        let Some(mut entry) = self.entry.take() else { return };
        entry.record.outcome = outcome;
        entry.record.response_bytes = self.bytes;
        entry.record.response_hash = Some(Digest(std::mem::take(&mut self.hash).finalize().into()));
        entry.charge(tally);
    }
}

impl Idle {
    fn new(limit: Duration) -> Self {
        Idle { limit, sleep: None, is_stale: false }
    }

    /// Whether nothing came for too long. Asked only while nothing is there, so a reply that comes at once
    /// sets no timer.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let is_stale = std::mem::take(&mut self.is_stale);
        match &mut self.sleep {
            None => self.sleep = Some(Box::pin(tokio::time::sleep(self.limit))),
            Some(sleep) if is_stale => sleep.set(tokio::time::sleep(self.limit)),
            Some(_) => {}
        }
        self.sleep.as_mut().is_some_and(|sleep| sleep.as_mut().poll(context).is_ready())
    }
}
