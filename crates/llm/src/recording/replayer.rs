//! A transport that answers from a recording, without a network and without waiting.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use super::difference::explain;
use super::{Answer, Exchange, ExchangeMatch, Recording, Redactor, request_hash, stable_request};
use crate::{
    Attempt, CallObserver, CallOptions, Error, ErrorKind, Reply, Request, Response, StreamEvent, Target,
    Transport,
};

/// Answers requests from a recording. Recorded requests come before patterns; equal ones answer in file order.
#[derive(Debug)]
pub struct Replayer {
    exchanges: Vec<Entry>,
    redactor: Redactor,
    used: Mutex<Vec<u32>>,
    log: Mutex<Log>,
}

/// What tests want to know afterwards, whatever the run made of it.
#[derive(Debug, Default)]
struct Log {
    /// Why requests had no reply, each reason once.
    unmatched: Vec<String>,
    unmetered: usize,
}

/// How many reasons are kept. A run that asks for more than this fails for the first ones.
const MOST_REASONS: usize = 20;

#[derive(Debug)]
struct Entry {
    exchange: Exchange,
    /// The hash of a recorded request.
    hash: Option<String>,
}

impl Replayer {
    #[must_use]
    pub fn new(recording: Recording) -> Self {
        Replayer::with_redactor(recording, Redactor::default())
    }

    /// A replayer that takes the same secrets out of requests as the recorder did, so that they match.
    #[must_use]
    pub fn with_redactor(recording: Recording, redactor: Redactor) -> Self {
        let exchanges: Vec<Entry> = recording
            .exchanges
            .into_iter()
            .map(|exchange| {
                let hash = match &exchange.when {
                    ExchangeMatch::Request(request) => Some(request_hash(request)),
                    ExchangeMatch::Pattern(_) => None,
                };
                Entry { exchange, hash }
            })
            .collect();
        let used = Mutex::new(vec![0; exchanges.len()]);
        Replayer { exchanges, redactor, used, log: Mutex::default() }
    }

    /// Why requests had no reply: what was asked and which exchanges there are. A run can handle the failure of a
    /// call, so its result does not say this.
    #[must_use]
    pub fn unmatched(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).unmatched.clone()
    }

    /// How many of the replies that were given say nothing about the tokens that they took.
    #[must_use]
    pub fn unmetered(&self) -> usize {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).unmetered
    }

    /// The places in the recording of exchanges that answered nothing.
    #[must_use]
    pub fn unused_exchanges(&self) -> Vec<usize> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = used.iter().enumerate().filter(|(_, count)| **count == 0);
        unused.map(|(index, _)| index).collect()
    }

    /// How many exchanges were never asked for, for a test that wants all of them used.
    #[must_use]
    pub fn unused(&self) -> usize {
        self.unused_exchanges().len()
    }

    fn answer(&self, request: &Request, hash: &str) -> Result<&Answer, ErrorKind> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded = |entry: &Entry| entry.hash.as_deref() == Some(hash);
        let fits = |entry: &Entry| match &entry.exchange.when {
            ExchangeMatch::Request(_) => false,
            ExchangeMatch::Pattern(pattern) => pattern.fits(request),
        };
        let mut spent = None;
        for matches in [&recorded as &dyn Fn(&Entry) -> bool, &fits] {
            for (entry, count) in self.exchanges.iter().zip(used.iter_mut()) {
                if !matches(entry) {
                    continue;
                }
                if entry.exchange.times.is_none_or(|times| *count < times) {
                    *count = count.saturating_add(1);
                    return Ok(&entry.exchange.answer);
                }
                spent = Some(spent.unwrap_or(0_u32).saturating_add(*count));
            }
        }
        Err(ErrorKind::Unmatched(match spent {
            Some(count) => format!(
                "the recording answers this request {count} times and all of them are used; record again, or raise \
                 `times`"
            ),
            None => explain(request, self.exchanges.iter().map(|entry| &entry.exchange)),
        }))
    }
}

#[async_trait]
impl Transport for Replayer {
    async fn send(
        &self,
        request: &Request,
        target: &Target,
        options: &CallOptions,
        observer: &dyn CallObserver,
    ) -> Result<Reply, Error> {
        let mut asked = self.redactor.request(&stable_request(request));
        if asked.model.is_empty() {
            asked.model.clone_from(&target.model);
        }
        let hash = request_hash(&asked);
        let mut attempts = Vec::new();
        loop {
            match self.answer(&asked, &hash) {
                Ok(Answer::Response(response)) => {
                    if request.stream && show(response, observer).is_break() {
                        return Err(Error { kind: ErrorKind::Cancelled, attempts });
                    }
                    attempts.push(Attempt { error: None, wait: None });
                    if !response.is_metered() {
                        self.log.lock().unwrap_or_else(PoisonError::into_inner).unmetered += 1;
                    }
                    let response = Response::clone(response);
                    return Ok(Reply { response, attempts, notes: Vec::new() });
                }
                Ok(Answer::Failure { status, message, retry_after }) => {
                    let kind = ErrorKind::Status {
                        status: *status,
                        message: message.clone(),
                        code: None,
                        retry_after: *retry_after,
                    };
                    // A replay retries as the client does, but it has nobody to wait for.
                    let made = u32::try_from(attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
                    let again = options.retry.wait(made, kind.attempt_failure(), 0).is_some();
                    let attempt =
                        Attempt { error: Some(kind.clone()), wait: again.then_some(Duration::ZERO) };
                    if !again {
                        attempts.push(attempt);
                        return Err(Error { kind, attempts });
                    }
                    observer.retry(&attempt);
                    attempts.push(attempt);
                    if !observer.permits_retry().await {
                        return Err(Error { kind, attempts });
                    }
                }
                Err(kind) => {
                    let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
                    let reason = kind.to_string();
                    if log.unmatched.len() < MOST_REASONS && !log.unmatched.contains(&reason) {
                        log.unmatched.push(reason);
                    }
                    return Err(Error { kind, attempts });
                }
            }
        }
    }
}

fn show(response: &Response, observer: &dyn CallObserver) -> ControlFlow<()> {
    StreamEvent::of(response).iter().try_for_each(|event| observer.event(event))
}
