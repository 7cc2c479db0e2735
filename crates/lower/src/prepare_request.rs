//! A client's body made ready for its provider in one call: read, governed, rewritten where a policy asks for
//! it, cache-planned, spliced.
//!
//! Invariant: policy fails closed and planning fails open. A body that cannot be read, or that the gate
//! refuses, is never given back as one to send; whatever goes wrong with the plan, the governed body is sent.

use stave_block::{
    CachePlan, Destination, GateRecord, GateVerdict, PlanRequest, Planner, Scope, SensitivityPolicy, Surface,
    WirePrompt,
};
use thiserror::Error;

use crate::{RequestFault, RewritePolicy, Spliced, govern_body, read_wire, rewrite_body, splice_plan};

/// Where a request comes from and where it goes.
#[derive(Debug, Clone, Copy)]
pub struct Outbound<'o> {
    /// The interface of the body; found out from it when absent.
    pub surface: Option<Surface>,
    /// What the client calls the conversation, when it says.
    pub session: Option<&'o str>,
    /// Seconds since any fixed time.
    pub now: f64,
    pub policy: &'o SensitivityPolicy,
    /// The scope that the content belongs to.
    pub origin: &'o Scope,
    pub destination: Destination<'o>,
    /// Changes that the model sees. None by default.
    pub rewrites: RewritePolicy,
}

/// A request that may be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedRequest {
    pub body: String,
    /// Another destination that the policy sends it to.
    pub route: Option<String>,
    /// What the gate decided, refusals excepted.
    pub records: Vec<GateRecord>,
    /// What was asked of the cache, for [`Planner::learn`] with the counters of the response; `None` when
    /// nothing was.
    pub plan: Option<CachePlan>,
    /// What the body is made of, as it is sent but for marks and key.
    pub wire: WirePrompt,
}

/// Why a request must not be sent.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Unsendable {
    /// Nobody knows what it says, so no rule can be applied to it.
    #[error("the request cannot be judged: {0}")]
    Unreadable(#[from] RequestFault),
    /// The policy keeps it back. The records say why, without the content.
    #[error("the policy keeps the request back: {}", reasons(.0))]
    Refused(Vec<GateRecord>),
}

/// Makes a body ready to be sent.
pub fn prepare_request(
    body: &str,
    planner: &mut Planner,
    outbound: &Outbound<'_>,
) -> Result<PreparedRequest, Unsendable> {
    let mut wire = read_wire(body, outbound.surface)?;
    let surface = wire.surface;
    let governed = govern_body(body, &wire, outbound.policy, outbound.origin, outbound.destination);
    let route = match governed.verdict {
        GateVerdict::Send => None,
        GateVerdict::Route(to) => Some(to),
        GateVerdict::Refuse => return Err(Unsendable::Refused(governed.records)),
    };
    let mut body = governed.spliced.body;
    if !governed.spliced.splices.is_empty() {
        // What was redacted is read again: positions have moved, and the cache is asked for what is sent.
        wire = read_wire(&body, Some(surface))?;
    }
    if outbound.rewrites != RewritePolicy::default() {
        let rewritten = rewrite_body(&body, &wire, outbound.rewrites).body;
        // A rewrite serves the cache only; one that cannot be read is not used.
        if let Ok(again) = read_wire(&rewritten, Some(surface)) {
            (body, wire) = (rewritten, again);
        }
    }
    // A request that goes elsewhere fills another cache.
    let plan = route.is_none().then(|| {
        let request = PlanRequest { wire: &wire, body: &body, session: outbound.session, now: outbound.now };
        planner.plan(&request)
    });
    let planned = plan.as_ref().map(|plan| splice_plan(&body, &wire, plan));
    debug_assert!(planned.as_ref().is_none_or(|planned| is_same_request(planned, &wire)));
    Ok(PreparedRequest {
        body: planned.map_or(body, |planned| planned.body),
        route,
        records: governed.records,
        plan,
        wire,
    })
}

/// Whether a planned body still says the same.
fn is_same_request(planned: &Spliced, wire: &WirePrompt) -> bool {
    planned.splices.is_empty()
        || read_wire(&planned.body, Some(wire.surface)).is_ok_and(|again| {
            again.positions.last().map(|position| position.prefix)
                == wire.positions.last().map(|position| position.prefix)
        })
}

fn reasons(records: &[GateRecord]) -> String {
    let reasons = records.iter().map(|record| {
        format!("{} ({}) in block {} to {}", record.rule, record.label, record.block, record.destination)
    });
    reasons.collect::<Vec<_>>().join(", ")
}
