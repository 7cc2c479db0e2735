//! One request from its arrival to the head of its answer: who asks, whether they may, who is asked, and what
//! is done when that fails.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use stave_block::Surface;
use stave_llm::codec::Envelope;
use stave_llm::prices::Cost;
use stave_llm::{Usage, retry_after, tokens};

use super::answer::{Answered, Kind, reply, silent};
use super::cost_bound::CostBound;
use super::entry::Entry;
use super::gateway::Core;
use super::headers::{REQUEST_ID, outgoing_headers};
use super::heavy_work::on_body;
use super::interface::{Endpoint, Fault};
use super::judge::{Denied, Judge};
use super::origin;
use super::prepare::{Prepared, prepare};
use super::queue::{FairQueue, NoTurn};
use super::received::{Received, read_body};
use super::reply::Reply;
use super::setup::{Candidate, Candidates, Setup};
use super::upstream::{Attempt, CREDENTIALS, Outgoing, UpstreamBody};
use crate::config::FaultClass;
use crate::keys::{Admission, Estimate, Refusal, VirtualKey};
use crate::records::{Digest, Outcome};

/// The most of an error's body that is passed on.
const LONGEST_ERROR: usize = 1 << 20;

/// What the last upstream that was asked answered, when it was no success.
enum Failure {
    /// In its own words.
    Told { head: hyper::http::response::Parts, body: Bytes, surface: Surface },
    /// Nothing.
    Silent(FaultClass),
}

pub(crate) async fn answer(core: &Arc<Core>, endpoint: Endpoint, parts: Parts, body: Incoming) -> Reply {
    // It moves from the request to the reply and on to the file.
    let mut entry = Box::new(Entry::begin(core, core.setup(), endpoint, &parts.headers));
    let id = HeaderValue::from_str(&entry.record.id).ok();
    let mut reply = match run(core, &mut entry, parts, body).await {
        Ok(Answered { head, kind }) => reply(entry, head, kind).await,
        Err(fault) => {
            entry.record.status = fault.status.as_u16();
            if entry.record.outcome == Outcome::Cancelled {
                entry.record.outcome = Outcome::Refused;
            }
            fault.into_reply(endpoint.surface())
        }
    };
    if let Some(id) = id {
        reply.headers_mut().insert(REQUEST_ID, id);
    }
    reply
}

async fn run(core: &Arc<Core>, entry: &mut Entry, parts: Parts, body: Incoming) -> Result<Answered, Fault> {
    let setup = Arc::clone(&entry.setup);
    let key = presented(core, &parts.headers)?;
    if let Some(key) = &key {
        entry.record.key = Some(Arc::clone(&key.id));
        entry.record.tenant = Arc::clone(&key.tenant);
    }
    if !core.sink.has_room() {
        let message = "what happens cannot be written down fast enough";
        let fault = Fault::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
        return Err(fault.after(Some(Duration::from_secs(1))));
    }
    let body = read_body(&parts.headers, body, &setup.config.limits).await?;
    let began = core.clock.elapsed();
    entry.record.request_bytes = body.len() as u64;
    let query = parts.uri.query().map(str::to_owned);
    let tenant = key.as_deref().map(|key| &*key.tenant);
    let turn_of = key.as_deref().map_or(0, |key| number(&key.id));
    let endpoint = entry.endpoint;
    let read = || (Digest::of(&body), Received::read(endpoint, parts.headers, query, &body, tenant));
    let ((hash, received), waited) = on_body(core, turn_of, body.len(), read).await?;
    entry.record.request_hash = Some(hash);
    entry.record.durations.waited += waited;
    let began = began + waited;
    let received = received?;
    entry.record.model_asked.clone_from(&received.model);
    entry.record.streamed = received.is_stream;
    entry.record.session = received.session.as_deref().map(session_name);
    entry.bound = received.bound;
    let draw = draw(core, &received);
    let candidates = setup.candidates(&received.model, received.surface(), draw);
    if candidates.list.is_empty() {
        let message = format!("there is no model `{}` here", received.model);
        return Err(Fault::new(StatusCode::NOT_FOUND, "model_not_found", message));
    }
    if let Some(key) = &key {
        let estimate = estimate(&setup, entry.endpoint, &received.bound, &candidates);
        let admitted = core.keys.admit(key, &received.model, estimate, core.clock.now());
        let mut admission = admitted.map_err(refused)?;
        hold(&setup, &mut admission).await?;
        entry.admission = Some(admission);
    }
    entry.record.durations.own = core.clock.elapsed().saturating_sub(began);
    take_turn(core, entry, &setup.queue, turn_of).await?;
    ask(core, entry, &received, candidates, turn_of).await
}

/// Who asks. Without any keys everyone may, which the command line allows on this machine only.
pub(crate) fn presented(core: &Core, headers: &HeaderMap) -> Result<Option<Arc<VirtualKey>>, Fault> {
    let has_keys = core.keys.count() > 0;
    origin::check(headers, has_keys)?;
    if !has_keys {
        return Ok(None);
    }
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(&header::AUTHORIZATION).and_then(|value| match value.split_at_checked(7) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer ") => Some(key.trim()),
        _ => None,
    });
    let found = bearer
        .into_iter()
        .chain(CREDENTIALS[1..].iter().filter_map(text))
        .find_map(|presented| core.keys.authenticate(presented));
    found.map(Some).ok_or_else(|| {
        let message = "a key of this gateway is needed";
        Fault::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message)
    })
}

/// Asks one upstream after the other, until one answers or nobody is left.
async fn ask(
    core: &Arc<Core>,
    entry: &mut Entry,
    received: &Received,
    candidates: Candidates,
    turn_of: u64,
) -> Result<Answered, Fault> {
    let setup = Arc::clone(&entry.setup);
    let retries = setup.config.retries;
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
        let mut number = 0;
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
                    // Whoever got a request and did not answer may have worked on it.
                    entry.unanswered += u64::from(was_sent);
                    failure = Some(Failure::Silent(class));
                    (class, None)
                }
            };
            attempt.failed(class, core.clock.elapsed());
            entry.traced.failed(class.word());
            core.metrics.attempt(&upstream.config.name, class.word());
            let goes_on = !is_last && candidates.fallback_on.contains(&class);
            let wait = wait.unwrap_or(retries.backoff.saturating_mul(2_u32.saturating_pow(number)));
            let may_retry = class.may_pass()
                && number < retries.attempts
                && wait <= retries.longest
                && upstream.retry_budget.withdraw();
            if goes_on || !may_retry {
                break;
            }
            number += 1;
            tokio::time::sleep(wait).await;
        }
        let class = failure.as_ref().map(Failure::class);
        if !class.is_some_and(|class| candidates.fallback_on.contains(&class)) {
            break;
        }
    }
    entry.record.outcome = Outcome::Failed;
    match failure {
        Some(Failure::Told { head, body, surface }) => {
            Ok(Answered { head: Some(head), kind: Kind::Error { body, from: surface } })
        }
        Some(Failure::Silent(class)) => Err(silent(class)),
        None => Err(silent(FaultClass::Overloaded)),
    }
}

/// A request made ready for an upstream, with everything that is to be known about its bytes.
struct Ready {
    candidate: Candidate,
    prepared: Prepared,
    content: Option<stave_llm::Request>,
    sent_hash: Option<Digest>,
}

/// The request as an upstream gets it; another upstream, when the policy sends it there.
fn ready(core: &Core, entry: &mut Entry, received: &Received, candidate: Candidate) -> Result<Ready, Fault> {
    let began = core.clock.elapsed();
    let setup = Arc::clone(&entry.setup);
    let tenant = Arc::clone(&entry.record.tenant);
    let judge = Judge {
        policy: &setup.config.policy,
        clean: &setup.clean,
        tenant: &tenant,
        ids: &*core.ids,
        clock: &*core.clock,
        began,
    };
    let now = core.seconds();
    let prepared = |candidate: &Candidate| {
        prepare(received, &candidate.upstream, &candidate.model, &judge, &setup.config.planning, now)
    };
    let mut candidate = candidate;
    let mut made = prepared(&candidate);
    if let Ok(Prepared { route: Some(route), decisions, .. }) = &made {
        let refused = || {
            let message = format!("the request may only go to `{route}`, which cannot take it");
            Denied {
                fault: Fault::new(StatusCode::FORBIDDEN, "content_refused", message),
                decisions: decisions.clone(),
            }
        };
        made = match setup.named(route) {
            Some(upstream) => {
                candidate = Candidate { upstream: Arc::clone(upstream), model: candidate.model };
                match prepared(&candidate) {
                    Ok(again) if again.route.is_some() => Err(refused()),
                    other => other,
                }
            }
            None => Err(refused()),
        };
    }
    entry.record.durations.own += core.clock.elapsed().saturating_sub(began);
    match made {
        Ok(prepared) => {
            let content = entry.traced.content(prepared.surface, &prepared.body, &candidate);
            // The same bytes have the same hash, and what edits make of a body that has one needs no other.
            let is_unchanged = prepared.body.as_ptr() == received.body.as_ptr();
            let sent_hash = match &prepared.edits {
                Some(_) => None,
                None if is_unchanged => entry.record.request_hash,
                None => Some(Digest::of(&prepared.body)),
            };
            Ok(Ready { candidate, prepared, content, sent_hash })
        }
        Err(Denied { fault, decisions }) => {
            entry.record.gates = decisions;
            Err(fault)
        }
    }
}

/// Writes down what is about to be sent.
fn note(entry: &mut Entry, sent_hash: Option<Digest>, candidate: &Candidate, prepared: Prepared) {
    let record = &mut entry.record;
    record.upstream = Some(candidate.upstream.config.name.as_str().into());
    record.model_used = Some(Arc::clone(&candidate.model));
    record.sent_hash = sent_hash;
    record.edits = prepared.edits;
    record.breakpoints = prepared.breakpoints;
    record.not_planned = prepared.not_planned;
    record.failed_open = prepared.failed_open;
    record.miss = prepared.miss;
    record.gates = prepared.decisions;
    entry.is_as_sent = prepared.has_own_marks || prepared.surface != Surface::AnthropicMessages;
    entry.planned = prepared.plan.map(|plan| (Arc::clone(&candidate.upstream), plan));
}

async fn take_turn(core: &Core, entry: &mut Entry, queue: &Arc<FairQueue>, key: u64) -> Result<(), Fault> {
    let began = core.clock.elapsed();
    let turn = queue.enter(key, entry.setup.config.limits.queue).await;
    entry.record.durations.waited += core.clock.elapsed().saturating_sub(began);
    match turn {
        Ok(turn) => {
            entry.turns.push(turn);
            Ok(())
        }
        Err(reason) => {
            let message = match reason {
                NoTurn::Full => "too many requests wait already",
                NoTurn::Late => "the request waited too long for its turn",
            };
            let fault = Fault::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
            Err(fault.after(Some(Duration::from_secs(1))))
        }
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

/// What decides between upstreams that share a model. A conversation stays where its cache is.
fn draw(core: &Core, received: &Received) -> u64 {
    match &received.session {
        Some(session) => number(session),
        None => {
            let fresh = core.ids.fresh();
            (fresh >> 64) as u64 ^ fresh as u64
        }
    }
}

/// The most that the request may come to with any of those that may be asked; counting answers nothing. A model
/// or a service tier without a price could cost anything.
fn estimate(setup: &Setup, endpoint: Endpoint, bound: &CostBound, candidates: &Candidates) -> Estimate {
    let counts_only = endpoint == Endpoint::CountTokens;
    let costs = candidates.list.iter().map(|candidate| {
        let output = if counts_only { 0 } else { bound.most_output(&candidate.model) };
        let usage = Usage { input: bound.input, output, ..Usage::default() };
        // Writing to a cache costs more than reading what was not in it.
        let price = setup.config.prices.of(&candidate.model)?;
        let written = Usage { cache_write: bound.input, cache_write_1h: bound.input, ..usage };
        Some(price.cost(&usage).max(price.cost(&written)))
    });
    let dearest = costs.collect::<Option<Vec<Cost>>>().and_then(|costs| costs.into_iter().max());
    let tools = if counts_only { Cost::default() } else { bound.tools.price * bound.tools.calls };
    let output = if counts_only { 0 } else { bound.usual_output() };
    Estimate {
        tokens: bound.likely_input.saturating_add(output),
        money: dearest
            .filter(|_| !bound.is_unpriced || counts_only)
            .map(|cost| if counts_only { Cost::default() } else { cost + tools }),
    }
}

/// Writes down what is set aside for a request before anything is sent for it, so that a process that ends meanwhile
/// does not forget it.
async fn hold(setup: &Setup, admission: &mut Admission) -> Result<(), Fault> {
    match tokio::time::timeout(setup.config.limits.queue, admission.hold()).await {
        Ok(held) => held.map_err(refused),
        Err(_) => {
            let message = "what the request may cost cannot be written down";
            Err(Fault::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
                .after(Some(Duration::from_secs(1))))
        }
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

fn refused(refusal: Refusal) -> Fault {
    let status = StatusCode::from_u16(refusal.kind.status()).unwrap_or(StatusCode::FORBIDDEN);
    Fault::new(status, refusal.kind.word(), refusal.to_string()).after(refusal.retry_after)
}

/// A count for a client whose upstream has no way to ask for one.
fn count_tokens(candidate: &Candidate, prepared: &Prepared) -> u64 {
    let text = String::from_utf8_lossy(&prepared.body);
    tokens::count_text(&candidate.model, &text).tokens
}

fn session_name(session: &str) -> String {
    let mut name = stave_canon::sha256_hex(session);
    name.truncate(16);
    name
}

fn number(text: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(text, &mut hasher);
    std::hash::Hasher::finish(&hasher)
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
