//! A request made ready for one upstream: in its interface, with its model's name, cache-planned, spliced.
//!
//! Invariant: planning fails open. Whatever goes wrong with it, the body that was judged is sent.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use hyper::StatusCode;
use stave_block::{CachePlan, Sensitivity, SensitivityPolicy, Surface, WirePrompt};
use stave_canon::Value;
use stave_lower::{BlockSpan, RequestBody, Splice, Spliced, block_spans, read_wire};
use stave_request::planning::PlanningFailed;
use stave_request::{BodyToPlan, plan_body};

use super::interface::{Fault, codec};
use super::judge::{Denied, Judge, Judged};
use super::received::Received;
use super::upstream::Upstream;
use crate::config::Planning;
use crate::records::{Breakpoint, Edits, GateDecision, Miss, RecordedBlock, RecordedBlocks};

/// What goes out, and what is to be remembered of it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) surface: Surface,
    pub(crate) body: Bytes,
    /// What was changed in the client's body, when the body is that one with a few edits.
    pub(crate) edits: Option<Edits>,
    pub(crate) plan: Option<CachePlan>,
    pub(crate) breakpoints: Vec<Breakpoint>,
    pub(crate) not_planned: Option<Cow<'static, str>>,
    pub(crate) failed_open: Option<Cow<'static, str>>,
    pub(crate) miss: Option<Miss>,
    /// What is sent, block by block; `None` when that could not be read.
    pub(crate) blocks: Option<RecordedBlocks>,
    pub(crate) decisions: Vec<GateDecision>,
    /// Whether the client marked the request for the cache itself.
    pub(crate) has_own_marks: bool,
    /// The upstream that it has to go to instead of this one.
    pub(crate) route: Option<String>,
}

/// A body on its way, with what it is made of.
struct Shaped<'b> {
    body: Cow<'b, str>,
    wire: Cow<'b, WirePrompt>,
}

/// What planning made of a body.
struct Planned {
    plan: Option<CachePlan>,
    not_planned: Option<&'static str>,
    miss: Option<Miss>,
    spans: Option<Vec<BlockSpan>>,
    /// Whether the positions are others than those that were judged.
    is_rewritten: bool,
    body: Bytes,
    edits: Option<Edits>,
}

pub(crate) fn prepare(
    received: &Received,
    upstream: &Upstream,
    model: &str,
    judge: &Judge<'_>,
    planning: &Planning,
    now: f64,
) -> Result<Prepared, Denied> {
    let deny = |fault| Denied { fault, decisions: Vec::new() };
    let Some(surface) = upstream.surface_for(received.surface()) else {
        return Err(deny(Fault::new(StatusCode::BAD_GATEWAY, "no_upstream", "no upstream speaks this")));
    };
    let labelled = judge.judge_labels(upstream)?;
    if labelled.route.is_some() {
        let Judged { route, decisions, .. } = labelled;
        return Ok(Prepared { decisions, route, ..Prepared::empty(surface) });
    }
    let wire = match &received.wire {
        Ok(wire) => wire,
        Err(fault) if judge.policy.forward_unreadable && surface == received.surface() => {
            let unread = unreadable(received, surface, &fault.to_string());
            return Ok(Prepared { decisions: labelled.decisions, ..unread });
        }
        Err(fault) => return Err(deny(Fault::bad_request(format!("the body cannot be read: {fault}")))),
    };
    if surface == received.surface() {
        judge.judge_other_models(&received.other_models, upstream)?;
    }
    let judged = judge.judge(received.text(), wire, upstream, model)?;
    let Judged { splices, route, decisions, labels, is_unjudged } = judged;
    let decisions: Vec<GateDecision> = received.plugins.iter().cloned().chain(decisions).collect();
    let mut prepared = Prepared {
        decisions: labelled.decisions.into_iter().chain(decisions).collect(),
        has_own_marks: !wire.client_marks().is_empty() || wire.cache_key.is_some(),
        route,
        ..Prepared::empty(surface)
    };
    if prepared.route.is_some() {
        return Ok(prepared);
    }
    if is_unjudged {
        prepared.failed_open = Some(Cow::Borrowed("policy"));
    }
    let shaped = shape(received, wire, splices, surface, model)
        .map_err(|fault| Denied { fault, decisions: std::mem::take(&mut prepared.decisions) })?;
    if surface != received.surface() && !is_unjudged {
        judge.judge_translated(&shaped.body, &shaped.wire, upstream)?;
    }
    // A translated body has other positions than the one that was judged.
    let labels = if surface == received.surface() { labels } else { Vec::new() };
    let mut labels = Labels::new(&judge.policy.sensitivity, labels);
    let counts_only = received.endpoint == super::interface::Endpoint::CountTokens;
    // A body that could not be judged is sent as it came.
    if !planning.on || counts_only || is_unjudged {
        let reasons = [(is_unjudged, "not_judged"), (counts_only, "counts_tokens")];
        let reason = reasons.iter().find(|(holds, _)| *holds).map_or("off", |(_, reason)| reason);
        prepared.not_planned = Some(Cow::Borrowed(reason));
        prepared.unplanned(received, &shaped, model);
        prepared.blocks = spans(&shaped, upstream).map(|spans| labels.recorded(&spans));
        return Ok(prepared);
    }
    // Everything that planning does to a request is done in there, and counts only when all of it went well.
    let planned = catch_unwind(AssertUnwindSafe(|| plan(&shaped, upstream, received, model, planning, now)));
    match planned {
        Ok(Ok(planned)) => {
            prepared.breakpoints = planned.plan.as_ref().map_or_else(Vec::new, breakpoints);
            prepared.not_planned = planned.not_planned.map(Cow::Borrowed);
            prepared.miss = planned.miss;
            if planned.is_rewritten {
                labels.found.clear();
            }
            prepared.blocks = planned.spans.map(|spans| labels.recorded(&spans));
            prepared.plan = planned.plan;
            prepared.body = planned.body;
            prepared.edits = planned.edits;
        }
        Ok(Err(_)) | Err(_) if planning.fail_closed => {
            let fault = Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "planning_failed", "planning failed");
            return Err(Denied { fault, decisions: std::mem::take(&mut prepared.decisions) });
        }
        Ok(Err(_)) | Err(_) => {
            prepared.failed_open = Some(Cow::Borrowed("planning"));
            prepared.unplanned(received, &shaped, model);
            prepared.blocks = spans(&shaped, upstream).map(|spans| labels.recorded(&spans));
        }
    }
    Ok(prepared)
}

impl Prepared {
    /// Nothing yet.
    fn empty(surface: Surface) -> Prepared {
        Prepared {
            surface,
            body: Bytes::new(),
            edits: None,
            plan: None,
            breakpoints: Vec::new(),
            not_planned: None,
            failed_open: None,
            miss: None,
            blocks: None,
            decisions: Vec::new(),
            has_own_marks: false,
            route: None,
        }
    }

    /// Takes the body as it was judged, with nothing changed for a cache.
    fn unplanned(&mut self, received: &Received, shaped: &Shaped<'_>, model: &str) {
        (self.body, self.edits) = finished(received, shaped, Vec::new(), model);
    }
}

/// The bytes that go out, the client's own when nothing is changed, and what was changed in those.
fn finished(
    received: &Received,
    shaped: &Shaped<'_>,
    mut splices: Vec<Splice>,
    model: &str,
) -> (Bytes, Option<Edits>) {
    if *shaped.wire.model != *model {
        let range = RequestBody::read(&shaped.body).ok().and_then(|body| body.range("model"));
        splices.extend(range.map(|range| Splice { range, text: Value::from(model).to_string() }));
    }
    match (&shaped.body, splices.is_empty()) {
        (Cow::Borrowed(_), true) => (received.body.clone(), None),
        (Cow::Owned(body), true) => (Bytes::from(body.clone()), None),
        (Cow::Owned(body), false) => (Spliced::new(body, splices).body.into(), None),
        (Cow::Borrowed(body), false) => {
            let Spliced { body, splices } = Spliced::new(body, splices);
            (body.into(), Edits::of(splices))
        }
    }
}

/// The body with what the gate takes out, in the interface of the upstream.
fn shape<'r>(
    received: &'r Received,
    wire: &'r WirePrompt,
    splices: Vec<Splice>,
    surface: Surface,
    model: &str,
) -> Result<Shaped<'r>, Fault> {
    let unreadable = |fault: String| Fault::bad_request(format!("the body cannot be read: {fault}"));
    let is_redacted = !splices.is_empty();
    let body = if is_redacted {
        Cow::Owned(Spliced::new(received.text(), splices).body)
    } else {
        Cow::Borrowed(received.text())
    };
    if surface != received.surface() {
        let value = stave_canon::parse(&body).map_err(|error| unreadable(error.to_string()))?;
        let mut request =
            codec(received.surface()).decode_request(value).map_err(|kind| unreadable(kind.to_string()))?;
        model.clone_into(&mut request.model);
        if let Some(name) =
            kept_elsewhere(&request).filter(|_| received.surface() == Surface::OpenAiResponses)
        {
            let message =
                format!("`{name}` names what only the provider keeps, and this model is somewhere else");
            return Err(Fault::new(StatusCode::BAD_REQUEST, "unsupported_parameter", message));
        }
        keep_known(&mut request, received.surface());
        let encoded = codec(surface).encode_request(&request);
        let body = encoded.body.to_string();
        let wire = read_wire(&body, Some(surface)).map_err(|fault| unreadable(fault.to_string()))?;
        return Ok(Shaped { body: Cow::Owned(body), wire: Cow::Owned(wire) });
    }
    if is_redacted {
        let wire = read_wire(&body, Some(surface)).map_err(|fault| unreadable(fault.to_string()))?;
        return Ok(Shaped { body, wire: Cow::Owned(wire) });
    }
    Ok(Shaped { body, wire: Cow::Borrowed(wire) })
}

/// The part of a request that says where at the provider the rest of the conversation is. Without it the model would
/// answer something else than it was asked.
fn kept_elsewhere(request: &stave_llm::Request) -> Option<&'static str> {
    let names = ["previous_response_id", "conversation", "prompt"];
    let named = names.into_iter().find(|name| request.extra.get(*name).is_some_and(|value| !value.is_null()));
    let in_background = request.extra.get("background").and_then(Value::as_bool) == Some(true);
    let mut parts = request.messages.iter().flat_map(|message| &message.content);
    let refers = parts.any(|part| match &part.kind {
        stave_llm::PartKind::Other(item) => {
            item.get("type").and_then(Value::as_str) == Some("item_reference")
        }
        _ => false,
    });
    named.or(in_background.then_some("background")).or(refers.then_some("item_reference"))
}

/// Fields that only the client's provider understands are not sent to another, which would refuse them.
fn keep_known(request: &mut stave_llm::Request, from: Surface) {
    request.extra.clear();
    for message in &mut request.messages {
        message.extra.clear();
        for part in &mut message.content {
            part.extra.clear();
        }
    }
    for tool in &mut request.tools {
        if let stave_llm::Tool::Function(function) = tool {
            function.extra.clear();
        }
    }
    // A tool that its provider runs itself cannot be run by another.
    request.tools.retain(|tool| matches!(tool, stave_llm::Tool::Function(_)));
    if from == Surface::AnthropicMessages {
        // There it says who the user is, here it would be stored with the request.
        request.metadata.clear();
    }
    // Reasoning of another provider carries a proof that this one cannot check.
    for message in &mut request.messages {
        message.content.retain(|part| {
            !matches!(part.kind, stave_llm::PartKind::Thinking(_) | stave_llm::PartKind::Other(_))
        });
    }
}

fn plan(
    shaped: &Shaped<'_>,
    upstream: &Upstream,
    received: &Received,
    model: &str,
    planning: &Planning,
    now: f64,
) -> Result<Planned, PlanningFailed> {
    let request = BodyToPlan {
        body: &shaped.body,
        wire: &shaped.wire,
        session: received.session.as_deref(),
        rewrites: planning.rewrites,
        now,
    };
    let planned = plan_body(&request, |request| upstream.planner.ask(now, |planner| planner.plan(request)))?;
    let rewritten =
        planned.rewritten.map(|(body, wire)| Shaped { body: Cow::Owned(body), wire: Cow::Owned(wire) });
    let is_rewritten = rewritten.is_some();
    let shaped = rewritten.as_ref().unwrap_or(shaped);
    let (body, edits) = finished(received, shaped, planned.splices, model);
    let spans = spans(shaped, upstream);
    let miss = planned.plan.as_ref().and_then(|_| miss(received, upstream, &shaped.wire, spans.as_deref()));
    let (plan, not_planned) = (planned.plan, planned.not_planned);
    Ok(Planned { plan, not_planned, miss, spans, is_rewritten, body, edits })
}

/// The blocks of what is sent. A record without them is better than a request that is not answered, so whatever goes
/// wrong here leaves them out.
fn spans(shaped: &Shaped<'_>, upstream: &Upstream) -> Option<Vec<BlockSpan>> {
    let read = || block_spans(&shaped.body, &shaped.wire, &mut &upstream.spans);
    catch_unwind(AssertUnwindSafe(read)).ok()?.ok()
}

/// What blocks are labelled with in a record.
struct Labels<'p> {
    policy: &'p SensitivityPolicy,
    /// By position, the strictest of what the gate acted on.
    found: HashMap<usize, Sensitivity>,
}

impl<'p> Labels<'p> {
    fn new(policy: &'p SensitivityPolicy, labels: Vec<(usize, Sensitivity)>) -> Labels<'p> {
        let mut found: HashMap<usize, Sensitivity> = HashMap::new();
        for (position, label) in labels {
            let known = found.entry(position).or_default();
            *known = known.join(label);
        }
        Labels { policy, found }
    }

    fn recorded(&self, spans: &[BlockSpan]) -> RecordedBlocks {
        RecordedBlocks::of(spans.iter().map(|span| {
            let by_origin = self.policy.label(Sensitivity::Public, span.provenance, &[]);
            let found = span.positions.iter().filter_map(|position| self.found.get(position));
            RecordedBlock {
                span: span.digests.span,
                role: span.role,
                content_type: span.content_type,
                provenance: span.provenance,
                sensitivity: found.copied().fold(by_origin, Sensitivity::join),
                length: span.length,
                schema: span.digests.schema,
            }
        }))
    }
}

/// A body that nobody can read, which the operator wants sent all the same.
fn unreadable(received: &Received, surface: Surface, fault: &str) -> Prepared {
    Prepared {
        body: received.body.clone(),
        not_planned: Some(Cow::Borrowed("unreadable")),
        failed_open: Some(Cow::Owned(format!("unreadable: {fault}"))),
        ..Prepared::empty(surface)
    }
}

fn breakpoints(plan: &CachePlan) -> Vec<Breakpoint> {
    let marks = plan.marks.iter();
    marks
        .map(|(position, ttl)| Breakpoint {
            position: u32::try_from(*position).unwrap_or(u32::MAX),
            long: *ttl == stave_block::Ttl::Long,
        })
        .collect()
}

/// Where the request parts from the one before it in its conversation.
fn miss(
    received: &Received,
    upstream: &Upstream,
    wire: &WirePrompt,
    spans: Option<&[BlockSpan]>,
) -> Option<Miss> {
    let session = received.session.as_deref()?;
    let parting = upstream.seen.compare(session, wire, spans)?;
    Some(Miss {
        place: Cow::Owned(parting.place),
        variable: None,
        common_tokens: parting.common / 4,
        lost_tokens: parting.lost / 4,
        block: parting.block,
        block_before: parting.block_before,
    })
}
