//! Plans one body for a provider's cache: rewrites that the caller asked for, the plan, and the edits that carry it.
//!
//! Invariant: apart from the rewrites, the edits add or change cache marks and the cache key only.

use stave_block::{CachePlan, Counters, PlanRequest, Surface, WirePrompt};
use stave_llm::Usage;
use stave_lower::{RewritePolicy, Splice, Spliced, plan_splices, read_wire, rewrite_body};

use crate::planning::PlanningFailed;

/// Requests of more parts are not planned. A planner works on one request at a time, and one with more parts than it
/// remembers would make it forget everybody else's.
const MOST_POSITIONS: usize = 10_000;

/// A body that is ready to be sent, apart from its plan.
#[derive(Debug, Clone, Copy)]
pub struct BodyToPlan<'b> {
    pub body: &'b str,
    /// What `body` was read as.
    pub wire: &'b WirePrompt,
    /// What the conversation is called, when it has a name.
    pub session: Option<&'b str>,
    pub rewrites: RewritePolicy,
    /// Seconds since any fixed time.
    pub now: f64,
}

/// What planning made of a body.
#[derive(Debug)]
pub struct PlannedBody {
    /// The body that the splices apply to, when a rewrite changed it.
    pub rewritten: Option<(String, WirePrompt)>,
    /// The edits that carry the plan.
    pub splices: Vec<Splice>,
    /// Absent when the planner was not asked.
    pub plan: Option<CachePlan>,
    /// Why the plan asks nothing of the cache.
    pub not_planned: Option<&'static str>,
}

impl PlannedBody {
    /// The bytes to send for `body`, the body that was planned.
    #[must_use]
    pub fn text(&self, body: &str) -> String {
        let body = self.rewritten.as_ref().map_or(body, |(body, _)| body);
        Spliced::new(body, self.splices.clone()).body
    }
}

/// Plans a body. `plan` asks the planner of the upstream that the body goes to.
pub fn plan_body(
    request: &BodyToPlan<'_>,
    plan: impl FnOnce(&PlanRequest<'_>) -> Result<CachePlan, PlanningFailed>,
) -> Result<PlannedBody, PlanningFailed> {
    let BodyToPlan { body, wire, session, rewrites, now } = *request;
    if wire.positions.len() > MOST_POSITIONS {
        return Ok(PlannedBody {
            rewritten: None,
            splices: Vec::new(),
            plan: None,
            not_planned: Some("too_many_parts"),
        });
    }
    let mut rewritten = None;
    if rewrites != RewritePolicy::default() {
        let body = rewrite_body(body, wire, rewrites).body;
        // A rewrite serves the cache only; one that cannot be read is not used.
        rewritten = read_wire(&body, Some(wire.surface)).ok().map(|wire| (body, wire));
    }
    let (body, wire) = rewritten.as_ref().map_or((body, wire), |(body, wire)| (body.as_str(), wire));
    let mut plan = plan(&PlanRequest { wire, body, session, now })?;
    if is_short(wire) {
        // What is not cached needs no way to a warm machine.
        plan.cache_key = None;
    }
    let splices = plan_splices(body, wire, &plan);
    let not_planned = why_not(&plan, wire);
    Ok(PlannedBody { rewritten, splices, plan: Some(plan), not_planned })
}

/// What a planner learns from the usage of a reply.
#[must_use]
pub fn counters(usage: &Usage) -> Counters {
    Counters { input: usage.input, read: usage.cache_read, written: usage.cache_write }
}

/// Why a plan asks nothing of the cache.
fn why_not(plan: &CachePlan, wire: &WirePrompt) -> Option<&'static str> {
    if is_short(wire) {
        return Some("too_short");
    }
    if wire.surface != Surface::AnthropicMessages || !plan.marks.is_empty() {
        return None;
    }
    Some(if wire.last_markable().is_none() { "nothing_markable" } else { "would_not_pay" })
}

/// Whether a request has fewer tokens than any provider caches, about.
fn is_short(wire: &WirePrompt) -> bool {
    let bytes: u64 = wire.positions.iter().map(stave_block::Position::shown_bytes).sum();
    bytes < 4 * 512
}
