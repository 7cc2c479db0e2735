//! Asks one upstream after another until one answers, and the same one again within its retries.
//!
//! Which failures may pass and how long to wait is decided by [`stave_llm::RetryPolicy`], as for the model steps of
//! flows. The retry budget and the breaker only keep attempts from being made.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::Response;
use stave_block::Surface;
use stave_llm::codec::Envelope;
use stave_llm::{AttemptFailure, FaultClass, Jitter, Usage, retry_after, tokens};

use super::answer::{Answered, Kind, silent};
use super::entry::Entry;
use super::exchange::{hold, stable_number, take_turn};
use super::gateway::Core;
use super::headers::outgoing_headers;
use super::heavy_work::on_body;
use super::interface::{Endpoint, Fault};
use super::prepare::Prepared;
use super::received::Received;
use super::setup::{Candidate, Candidates};
use super::upstream::{Attempt, Outgoing, UpstreamBody};
use super::upstream_request::{Ready, note, ready};
use crate::keys::Estimate;
use crate::records::RequestOutcome;

/// The most of an error's body that is passed on.
const LONGEST_ERROR: usize = 1 << 20;

/// What the last upstream that was asked answered, when it was no success.
enum Failure {
    /// In its own words.
    Told { head: hyper::http::response::Parts, body: Bytes, surface: Surface },
    /// Nothing.
    Silent(FaultClass),
}

/// Asks one upstream after the other, until one answers or nobody is left.
pub(super) async fn ask(
    core: &Arc<Core>,
    entry: &mut Entry,
    received: &Received,
    candidates: Candidates,
    turn_of: u64,
) -> Result<Answered, Fault> {
    let setup = Arc::clone(&entry.setup);
    let policy = setup.config.retries.policy();
    // Requests that fail together are not sent again together.
    let mut jitter = Jitter::seeded(stable_number(&entry.record.id));
    let mut failure: Option<Failure> = None;
    let count = candidates.list.len();
    for (index, candidate) in candidates.list.into_iter().enumerate() {
        let is_last = index + 1 == count;
        let bytes = received.body.len();
        let (made, waited) =
            on_body(core, turn_of, bytes, || ready(core, entry, received, candidate)).await?;
        entry.record.durations.waited += waited;
        let Ready { candidate, prepared, content, sent_hash } = match made {
            Ok(ready) => ready,
            // What this upstream may not have, an earlier one could have.
            Err(_) if failure.is_some() => break,
            Err(fault) => return Err(fault),
        };
        let upstream = &candidate.upstream;
        if entry.endpoint == Endpoint::CountTokens && prepared.surface != Surface::AnthropicMessages {
            let (counted, _) = on_body(core, turn_of, bytes, || count_tokens(&candidate, &prepared)).await?;
            return Ok(Answered { head: None, kind: Kind::Counted(counted) });
        }
        let mut outgoing = Outgoing {
            surface: prepared.surface,
            counts_tokens: entry.endpoint == Endpoint::CountTokens,
            query: received.query.clone().filter(|_| prepared.surface == received.surface()),
            headers: outgoing_headers(received, prepared.surface, core.keys.count() > 0),
            body: prepared.body.clone(),
        };
        note(entry, sent_hash, &candidate, prepared);
        // The turn at an upstream that failed is somebody else's.
        entry.turns.truncate(1);
        if let Some(queue) = &upstream.queue {
            take_turn(core, entry, queue, turn_of).await?;
        }
        upstream.retry_budget.deposit();
        let breaker = upstream.breakers.of(&entry.record.tenant, &candidate.model);
        let mut number = 0_u32;
        loop {
            if !breaker.admits(core.clock.elapsed()) {
                failure = failure.or(Some(Failure::Silent(FaultClass::Overloaded)));
                break;
            }
            if entry.unanswered > 0 && !reserve_again(core, entry, &candidate).await {
                break;
            }
            let attempt = Attempt::begin(&breaker);
            entry.record.attempts += 1;
            let count = entry.record.attempts;
            entry.traced.attempt(received, &candidate, count, content.as_ref(), &mut outgoing.headers);
            entry.is_asking = true;
            let asked = upstream.ask(&outgoing, &candidate.model).await;
            entry.is_asking = false;
            let (class, wait) = match asked {
                Ok(answer) => match FaultClass::of_status(answer.status().as_u16()) {
                    None => {
                        entry.is_answered = true;
                        attempt.succeeded();
                        core.metrics.attempt(&upstream.config.name, "answered");
                        return Ok(success(core, entry, received, &candidate, answer, outgoing.surface));
                    }
                    Some(class) => {
                        let (told, wait) = Box::pin(tell(core, &candidate, answer, outgoing.surface)).await;
                        failure = Some(told);
                        (class, wait)
                    }
                },
                Err((class, was_sent)) => {
                    // An upstream that received the request and did not answer may have worked on it.
                    entry.unanswered += u64::from(was_sent);
                    failure = Some(Failure::Silent(class));
                    (class, None)
                }
            };
            attempt.failed(class, core.clock.elapsed());
            entry.traced.failed(class.word());
            core.metrics.attempt(&upstream.config.name, class.word());
            number += 1;
            let asks_next = !is_last && candidates.fallback_on.contains(&class);
            let failed = AttemptFailure { may_pass: class.may_pass(), retry_after: wait };
            // Asking the next upstream uses no retry of this one.
            let wait = policy.wait(number, failed, jitter.draw()).filter(|_| !asks_next);
            let Some(wait) = wait.filter(|_| upstream.retry_budget.withdraw()) else { break };
            tokio::time::sleep(wait).await;
        }
        let class = failure.as_ref().map(Failure::class);
        if !class.is_some_and(|class| candidates.fallback_on.contains(&class)) {
            break;
        }
    }
    entry.record.outcome = RequestOutcome::Failed;
    match failure {
        Some(Failure::Told { head, body, surface }) => {
            Ok(Answered { head: Some(head), kind: Kind::Error { body, from: surface } })
        }
        Some(Failure::Silent(class)) => Err(silent(class)),
        None => Err(silent(FaultClass::Overloaded)),
    }
}

fn success(
    core: &Core,
    entry: &mut Entry,
    received: &Received,
    candidate: &Candidate,
    answer: Response<UpstreamBody>,
    from: Surface,
) -> Answered {
    entry.record.durations.first_byte = Some(entry.elapsed());
    entry.record.status = answer.status().as_u16();
    if let Some((upstream, plan)) = &entry.planned {
        let now = core.seconds();
        let _ = upstream.planner.ask(now, |planner| {
            planner.begun(plan, now);
            Ok(())
        });
    }
    let idle = candidate.upstream.timeouts.idle;
    let (head, body) = answer.into_parts();
    if from == received.surface() {
        return Answered { head: Some(head), kind: Kind::Pass(body, idle) };
    }
    let envelope = Envelope {
        id: entry.record.id.clone(),
        model: received.model.clone(),
        created: core.clock.now().as_second(),
        include_usage: received.include_usage,
    };
    let kind = Kind::Translate { body, from, idle, envelope, is_stream: received.is_stream };
    Answered { head: Some(head), kind }
}

/// An answer that is no success, and how long the upstream asks to wait.
async fn tell(
    core: &Core,
    candidate: &Candidate,
    answer: Response<UpstreamBody>,
    surface: Surface,
) -> (Failure, Option<Duration>) {
    let wait = retry_after(answer.headers(), &*core.clock);
    let (head, body) = answer.into_parts();
    let reading = Limited::new(body, LONGEST_ERROR).collect();
    let body = match tokio::time::timeout(candidate.upstream.timeouts.idle, reading).await {
        Ok(Ok(body)) => body.to_bytes(),
        // The status is what counts; a body that breaks off says less, not something else.
        _ => Bytes::new(),
    };
    let body = without_key(body, candidate);
    (Failure::Told { head, body, surface }, wait)
}

/// A provider may repeat the key that it refuses.
fn without_key(body: Bytes, candidate: &Candidate) -> Bytes {
    let text = String::from_utf8_lossy(&body);
    match candidate.upstream.key_echo.search.hide(&text) {
        Cow::Borrowed(_) => body,
        Cow::Owned(hidden) => hidden.into(),
    }
}

/// Sets aside once more what an attempt that nobody answered is charged for, before the request is sent again.
async fn reserve_again(core: &Core, entry: &mut Entry, candidate: &Candidate) -> bool {
    let setup = Arc::clone(&entry.setup);
    let usage = Usage { input: entry.bound.input, ..entry.bound.unanswered(&candidate.model) };
    let money = setup.config.prices.cost(&candidate.model, &usage);
    let Some(admission) = &mut entry.admission else { return true };
    let tokens = entry.bound.likely_input.saturating_add(usage.output);
    let more = Estimate { tokens, money };
    admission.add(more, core.clock.now()).is_ok() && hold(&setup, admission).await.is_ok()
}

/// A count for a client whose upstream has no way to ask for one.
fn count_tokens(candidate: &Candidate, prepared: &Prepared) -> u64 {
    let text = String::from_utf8_lossy(&prepared.body);
    tokens::count_content(&candidate.model, &text).tokens
}

impl Failure {
    fn class(&self) -> FaultClass {
        match self {
            Failure::Told { head, .. } => {
                FaultClass::of_status(head.status.as_u16()).unwrap_or(FaultClass::ServerError)
            }
            Failure::Silent(class) => *class,
        }
    }
}
