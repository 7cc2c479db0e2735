//! What is being found out about a request, until it is over.
//!
//! Invariant: every request leaves exactly one record, whatever becomes of it: it is written when this goes
//! away, and this goes away with the request.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderMap;
use stave_block::{CachePlan, Sensitivity};
use stave_llm::Usage;
use stave_llm::prices::{Cost, Price};
use stave_request::counters;

use super::cost_bound::CostBound;
use super::gateway::Core;
use super::interface::Endpoint;
use super::queue::Turn;
use super::setup::Setup;
use super::tally::{Charged, Tally};
use super::traced::Traced;
use super::upstream::Upstream;
use crate::keys::Admission;
use crate::records::{Money, RequestOutcome, RequestRecord};

#[derive(Debug)]
pub(crate) struct Entry {
    core: Arc<Core>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) endpoint: Endpoint,
    pub(crate) record: RequestRecord,
    started: Duration,
    pub(crate) admission: Option<Admission>,
    /// What the planner learns once the counters are known.
    pub(crate) planned: Option<(Arc<Upstream>, CachePlan)>,
    /// Whether the provider's cache would have been used the same way without us.
    pub(crate) is_as_sent: bool,
    /// The bound of what the request may use.
    pub(crate) bound: CostBound,
    /// What its answer was charged for.
    pub(crate) charged: Option<Charged>,
    /// Whether an upstream has the request and has not answered it.
    pub(crate) is_asking: bool,
    /// Whether an upstream answered with a success.
    pub(crate) is_answered: bool,
    /// How many upstreams got the request and did not answer.
    pub(crate) unanswered: u64,
    /// Held until the answer is over.
    pub(crate) turns: Vec<Turn>,
    pub(crate) traced: Traced,
    /// The labels of the request as a whole, each with what it comes from.
    pub(crate) labels: Vec<(&'static str, Sensitivity)>,
}

impl Entry {
    pub(crate) fn begin(
        core: &Arc<Core>,
        setup: Arc<Setup>,
        endpoint: Endpoint,
        headers: &HeaderMap,
    ) -> Entry {
        let id = format!("req_{:032x}", core.ids.fresh());
        let mut record = RequestRecord::new(core.clock.now(), id);
        record.surface = std::borrow::Cow::Borrowed(endpoint.surface().word());
        record.tenant = Arc::clone(&setup.tenant);
        // Until an answer has begun, going away is the client's doing.
        record.status = 499;
        record.outcome = RequestOutcome::Cancelled;
        core.metrics.begun();
        let rules = Arc::clone(&setup.config.policy.sensitivity.rules);
        let traced = Traced::begin(core.tracer.as_deref(), &record.id, endpoint, headers, rules);
        Entry {
            core: Arc::clone(core),
            setup,
            endpoint,
            record,
            started: core.clock.elapsed(),
            admission: None,
            planned: None,
            is_as_sent: true,
            bound: CostBound::default(),
            charged: None,
            is_asking: false,
            is_answered: false,
            unanswered: 0,
            turns: Vec::new(),
            traced,
            labels: Vec::new(),
        }
    }

    /// How long the request has taken so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.core.clock.elapsed().saturating_sub(self.started)
    }

    /// Takes in the usage of a reply.
    pub(crate) fn charge(&mut self, tally: &Tally) {
        let model = self.record.model_used.as_deref().unwrap_or_default();
        self.charged = Some(tally.charged(&self.bound, model));
    }

    /// Whether an upstream may charge for the request. Counting is free.
    fn has_used(&self) -> bool {
        self.endpoint != Endpoint::CountTokens && (self.is_answered || self.is_asking || self.unanswered > 0)
    }

    /// The tokens of the answer, and those of every attempt that nobody answered.
    fn used(&self) -> Usage {
        if !self.has_used() {
            return self
                .charged
                .map(|charged| charged.usage)
                .filter(|_| self.is_answered)
                .unwrap_or_default();
        }
        let model = self.record.model_used.as_deref().unwrap_or_default();
        let attempt = self.bound.unanswered(model);
        let mut usage = match (self.charged, self.is_answered) {
            (Some(charged), _) => charged.usage,
            (None, true) => attempt,
            (None, false) => Usage::default(),
        };
        let attempts = self.attempts_without_answer();
        usage.input = usage.input.saturating_add(attempt.input.saturating_mul(attempts));
        usage.output = usage.output.saturating_add(attempt.output.saturating_mul(attempts));
        usage
    }

    fn attempts_without_answer(&self) -> u64 {
        self.unanswered + u64::from(self.is_asking)
    }

    fn money(&mut self) -> Option<Cost> {
        let model = self.record.model_used.as_deref()?;
        let price = self.setup.config.prices.of(model)?;
        let usage = self.record.usage;
        let tools = self.bound.tools;
        let mut calls = self.charged.map_or(0, |charged| charged.tool_calls.max(u64::from(tools.is_implied)));
        if self.bound.goes_on {
            calls = calls.saturating_add(tools.calls.saturating_mul(self.attempts_without_answer()));
        }
        let spent = price.cost(&usage) + tools.price * calls;
        let as_sent = if self.is_as_sent { spent } else { without_cache(price, usage) + tools.price * calls };
        self.record.money = Money { spent: Some(spent), as_sent: Some(as_sent) };
        Some(spent)
    }
}

fn without_cache(price: &Price, usage: Usage) -> Cost {
    price.cost(&Usage { cache_read: 0, cache_write: 0, cache_write_1h: 0, ..usage })
}

impl Drop for Entry {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A defect of ours, which is reported to the client.
            self.record.status = 500;
            self.record.outcome = RequestOutcome::Failed;
        }
        let now = self.core.clock.elapsed();
        self.record.durations.total = now.saturating_sub(self.started);
        let is_told = self.charged.is_some_and(|charged| charged.is_said);
        self.record.usage = self.used();
        let money = self.money();
        if let Some(admission) = self.admission.take()
            && self.has_used()
        {
            admission.settle(self.record.usage.total(), money.unwrap_or_default());
        }
        if let (Some((upstream, plan)), true) = (self.planned.take(), is_told) {
            let counters = counters(&self.record.usage);
            let now = self.core.seconds();
            // Planning is over for this request; what fails here costs the planner what it knew.
            let _ = upstream.planner.ask(now, |planner| {
                planner.learn(&plan, counters, now);
                Ok(())
            });
        }
        self.core.metrics.ended(self.endpoint, &self.record);
        self.traced.end(&self.record, self.record.usage, money);
        let empty = RequestRecord::new(self.record.time, String::new());
        self.core.sink.append(std::mem::replace(&mut self.record, empty));
    }
}
