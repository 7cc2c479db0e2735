//! One request from its arrival to the head of its answer: who asks, whether they may, and when it is their turn.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use stave_listen::without_blocking;
use stave_llm::Usage;
use stave_llm::prices::Cost;
use stave_llm::provider_headers::CREDENTIALS;

use super::answer::{Answered, reply};
use super::attempts::ask;
use super::cost_bound::CostBound;
use super::entry::Entry;
use super::gateway::Core;
use super::headers::{REQUEST_ID, attempts_header};
use super::heavy_work::on_body;
use super::interface::{Endpoint, Fault};
use super::judge::Denied;
use super::origin;
use super::plugins;
use super::queue::{FairQueue, NoTurn};
use super::received::{Received, read_body};
use super::reply::Reply;
use super::setup::{Candidates, Setup};
use crate::keys::{Admission, Estimate, Refusal, VirtualKey};
use crate::records::{Digest, RequestOutcome};

pub(crate) async fn answer(core: &Arc<Core>, endpoint: Endpoint, parts: Parts, body: Incoming) -> Reply {
    // It moves from the request to the reply and on to the file.
    let mut entry = Box::new(Entry::begin(core, core.setup(), endpoint, &parts.headers));
    let id = HeaderValue::from_str(&entry.record.id).ok();
    let mut reply = match run(core, &mut entry, parts, body).await {
        Ok(Answered { head, kind }) => reply(entry, head, kind).await,
        Err(fault) => {
            entry.record.status = fault.status.as_u16();
            if entry.record.outcome == RequestOutcome::Cancelled {
                entry.record.outcome = RequestOutcome::Refused;
            }
            let mut reply = fault.into_reply(endpoint.surface());
            attempts_header(&entry, reply.headers_mut());
            reply
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
    let name = key.as_deref().map(|key| key.name.as_str());
    entry.labels = setup.config.policy.labels.of(name, &parts.headers);
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
    let turn_of = key.as_deref().map_or(0, |key| stable_number(&key.id));
    let endpoint = entry.endpoint;
    let read = || (Digest::of(&body), Received::read(endpoint, parts.headers, query, &body, tenant));
    let ((hash, received), waited) = on_body(core, turn_of, body.len(), read).await?;
    entry.record.request_hash = Some(hash);
    entry.record.durations.waited += waited;
    let began = began + waited;
    let mut received = received?;
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
    if let Some(first) = candidates.list.first().filter(|_| plugins::apply_to(&setup, &received)) {
        take_turn(core, entry, &setup.plugin_queue, turn_of).await?;
        let began = core.clock.elapsed();
        let applied = without_blocking(|| plugins::apply(core, &setup, &mut received, first));
        entry.turns.truncate(1);
        entry.record.durations.own += core.clock.elapsed().saturating_sub(began);
        entry.bound = received.bound;
        if let Err(Denied { fault, decisions }) = applied {
            entry.record.gates = decisions;
            return Err(fault);
        }
    }
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

pub(super) async fn take_turn(
    core: &Core,
    entry: &mut Entry,
    queue: &Arc<FairQueue>,
    key: u64,
) -> Result<(), Fault> {
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

/// What decides between upstreams that share a model. A conversation stays where its cache is.
fn draw(core: &Core, received: &Received) -> u64 {
    match &received.session {
        Some(session) => stable_number(session),
        None => {
            let fresh = core.ids.fresh();
            (fresh >> 64) as u64 ^ fresh as u64
        }
    }
}

/// The most that the request may use with any of those that may be asked; counting answers nothing. A model
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
pub(super) async fn hold(setup: &Setup, admission: &mut Admission) -> Result<(), Fault> {
    match tokio::time::timeout(setup.config.limits.queue, admission.hold()).await {
        Ok(held) => held.map_err(refused),
        Err(_) => {
            let message = "what the request may cost cannot be written down";
            Err(Fault::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
                .after(Some(Duration::from_secs(1))))
        }
    }
}

fn refused(refusal: Refusal) -> Fault {
    let status = StatusCode::from_u16(refusal.kind.status()).unwrap_or(StatusCode::FORBIDDEN);
    Fault::new(status, refusal.kind.word(), refusal.to_string()).after(refusal.retry_after)
}

fn session_name(session: &str) -> String {
    let mut name = stave_canon::sha256_hex(session);
    name.truncate(16);
    name
}

pub(super) fn stable_number(text: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(text, &mut hasher);
    std::hash::Hasher::finish(&hasher)
}
