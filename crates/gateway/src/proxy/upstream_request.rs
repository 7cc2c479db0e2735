//! The request as one upstream gets it: judged, planned, and written down before it is sent.

use std::sync::Arc;

use hyper::StatusCode;
use stave_block::Surface;

use super::entry::Entry;
use super::gateway::Core;
use super::interface::Fault;
use super::judge::{Denied, Judge};
use super::prepare::{Prepared, prepare};
use super::received::Received;
use super::setup::Candidate;
use crate::records::{Digest, GateDecision};

/// A request made ready for an upstream, with everything that is to be known about its bytes.
pub(super) struct Ready {
    pub(super) candidate: Candidate,
    pub(super) prepared: Prepared,
    pub(super) content: Option<stave_llm::Request>,
    pub(super) sent_hash: Option<Digest>,
}

/// The request as an upstream gets it; another upstream, when the policy sends it there.
pub(super) fn ready(
    core: &Core,
    entry: &mut Entry,
    received: &Received,
    candidate: Candidate,
) -> Result<Ready, Fault> {
    let began = core.clock.elapsed();
    let setup = Arc::clone(&entry.setup);
    let tenant = Arc::clone(&entry.record.tenant);
    let labels = std::mem::take(&mut entry.labels);
    let judge = Judge {
        labels: &labels,
        policy: &setup.config.policy,
        clean: &setup.clean,
        tenant: &tenant,
        ids: &*core.ids,
        clock: &*core.clock,
        began: core.clock.computed(),
    };
    let now = core.seconds();
    let prepared = |candidate: &Candidate| {
        prepare(received, &candidate.upstream, &candidate.model, &judge, &setup.config.planning, now)
    };
    let mut candidate = candidate;
    let mut made = prepared(&candidate);
    if let Ok(Prepared { route: Some(route), decisions, .. }) = &mut made {
        // The destination judges again, and what sent the request there belongs to the record as well.
        let (route, decided) = (std::mem::take(route), std::mem::take(decisions));
        let refused = || {
            let message = format!("the request may only go to `{route}`, which cannot take it");
            Denied {
                fault: Fault::new(StatusCode::FORBIDDEN, "content_refused", message),
                decisions: Vec::new(),
            }
        };
        made = match setup.named(&route) {
            Some(upstream) => {
                candidate = Candidate { upstream: Arc::clone(upstream), model: candidate.model };
                match prepared(&candidate) {
                    Ok(again) if again.route.is_some() => Err(refused()),
                    other => other,
                }
            }
            None => Err(refused()),
        };
        match &mut made {
            Ok(prepared) => prepared.decisions = joined(decided, std::mem::take(&mut prepared.decisions)),
            Err(denied) => denied.decisions = joined(decided, std::mem::take(&mut denied.decisions)),
        }
    }
    entry.record.durations.own += core.clock.elapsed().saturating_sub(began);
    // Another upstream may be asked next.
    entry.labels.clone_from(&labels);
    match made {
        Ok(mut prepared) => {
            if received.is_changed {
                // Edits make what was sent of the client's body, which plugins changed before.
                prepared.edits = None;
            }
            let content = entry.traced.content(prepared.surface, &prepared.body, &candidate);
            // The same bytes have the same hash, and what edits make of a body that has one needs no other.
            let is_unchanged = prepared.body.as_ptr() == received.body.as_ptr();
            let sent_hash = match &prepared.edits {
                Some(_) => None,
                None if is_unchanged && !received.is_changed => entry.record.request_hash,
                None => Some(Digest::of(&prepared.body)),
            };
            Ok(Ready { candidate, prepared, content, sent_hash })
        }
        Err(Denied { fault, decisions }) => {
            entry.record.gates = joined(received.plugins.clone(), decisions);
            Err(fault)
        }
    }
}

/// All decisions, each once: judging for a second upstream finds again what it found for the first.
fn joined(mut decisions: Vec<GateDecision>, more: Vec<GateDecision>) -> Vec<GateDecision> {
    for decision in more {
        if !decisions.contains(&decision) {
            decisions.push(decision);
        }
    }
    decisions
}

/// Writes down what is about to be sent.
pub(super) fn note(entry: &mut Entry, sent_hash: Option<Digest>, candidate: &Candidate, prepared: Prepared) {
    let record = &mut entry.record;
    record.upstream = Some(candidate.upstream.config.name.as_str().into());
    record.model_used = Some(Arc::clone(&candidate.model));
    record.sent_hash = sent_hash;
    record.edits = prepared.edits;
    record.breakpoints = prepared.breakpoints;
    record.not_planned = prepared.not_planned;
    record.failed_open = prepared.failed_open;
    record.miss = prepared.miss;
    record.blocks = prepared.blocks;
    record.gates = prepared.decisions;
    entry.is_as_sent = prepared.has_own_marks || prepared.surface != Surface::AnthropicMessages;
    entry.planned = prepared.plan.map(|plan| (Arc::clone(&candidate.upstream), plan));
}
