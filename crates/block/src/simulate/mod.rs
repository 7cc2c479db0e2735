//! Replays a trace of timed requests under the providers' cache rules, without asking any provider.
//!
//! Three answers to the same trace: as it was sent, as the planner would send it, and a bound that no way of
//! sending it can be cheaper than. The planner sees each request only when it comes; the bound knows all.
//!
//! Invariant: read, written and uncached tokens of a request add up to its tokens, whatever planner planned it.

mod automatic;
mod bound;
mod validity;

use std::collections::{BTreeMap, HashMap};

use crate::{
    CacheEntry, CachePlan, CacheRules, MarkedRules, Measured, PlanRequest, Planner, PlannerSettings,
    PrefixHash, Served, Ttl, WirePrompt, serve,
};

use automatic::Machines;
pub use validity::{ProviderRefusal, refusal};

/// One request of a trace, in the order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedRequest {
    pub time: f64,
    pub session: Option<String>,
    pub body: String,
    pub wire: WirePrompt,
    /// The tokens up to the end of each position.
    pub tokens: Vec<u64>,
}

/// Who decides what is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    AsSent,
    Planned,
    /// The bound below which no strategy comes.
    Optimum,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replay {
    pub total: Totals,
    /// The same by session; they add up to the total. The bound counts a stretch that sessions share for the one that sent
    /// it first.
    pub sessions: BTreeMap<String, Totals>,
    /// For each request; empty for the bound.
    pub requests: Vec<Served>,
    /// What each request cost, in tokens at the plain input price. The bound puts a stretch on the request
    /// that sent it first.
    pub costs: Vec<f64>,
    /// The requests that the provider would have refused, and why.
    pub refused: Vec<(usize, ProviderRefusal)>,
}

/// Sums over requests.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    pub requests: u64,
    pub read: u64,
    pub written_short: u64,
    pub written_long: u64,
    pub uncached: u64,
    /// In tokens at the plain input price.
    pub cost: f64,
}

/// Cumulative tokens at a number of bytes a token.
#[must_use]
pub fn tokens_by_bytes(wire: &WirePrompt, bytes_per_token: f64) -> Vec<u64> {
    Measured::new(wire, MarkedRules::anthropic(), bytes_per_token).tokens
}

/// Replays a trace.
#[must_use]
pub fn simulate(trace: &[TracedRequest], strategy: Strategy, settings: PlannerSettings) -> Replay {
    match strategy {
        Strategy::AsSent => replay(trace, |traced| CachePlan::as_sent(&traced.wire)),
        Strategy::Planned => {
            let mut planner = Planner::new(settings);
            replay(trace, |traced| {
                let mut plan = planner.plan(&PlanRequest {
                    wire: &traced.wire,
                    body: &traced.body,
                    session: traced.session.as_deref(),
                    now: traced.time,
                });
                plan.cache_key = plan.cache_key.or_else(|| traced.wire.cache_key.clone());
                plan
            })
        }
        Strategy::Optimum => bound::bound(trace),
    }
}

fn replay(trace: &[TracedRequest], mut plan: impl FnMut(&TracedRequest) -> CachePlan) -> Replay {
    let mut replay = Replay::default();
    let mut entries: HashMap<PrefixHash, CacheEntry> = HashMap::new();
    let mut machines = Machines::default();
    for (index, traced) in trace.iter().enumerate() {
        let plan = plan(traced);
        let (served, cost) = match CacheRules::of(traced.wire.surface) {
            CacheRules::Marked(rules) => {
                let refusal = refusal(&traced.wire, &plan.marks, rules);
                let marks: &[(usize, Ttl)] = if refusal.is_some() { &[] } else { &plan.marks };
                replay.refused.extend(refusal.map(|refusal| (index, refusal)));
                let served = serve(&mut entries, rules, &traced.measured(rules), marks, traced.time);
                (served, served.cost(rules))
            }
            CacheRules::Automatic(rules) => machines.serve(traced, plan.cache_key.as_deref(), rules),
        };
        replay.add(traced, served, cost);
    }
    replay
}

impl TracedRequest {
    fn measured(&self, rules: &MarkedRules) -> Measured {
        Measured {
            prefixes: self.wire.positions.iter().map(|position| position.prefix).collect(),
            tokens: self.tokens.clone(),
            ordinals: self.wire.ordinals(),
            minimum: rules.minimum(&self.wire.model),
        }
    }

    fn total(&self) -> u64 {
        self.tokens.last().copied().unwrap_or(0)
    }
}

impl Replay {
    fn add(&mut self, traced: &TracedRequest, served: Served, cost: f64) {
        self.requests.push(served);
        self.costs.push(cost);
        self.total.add(&served, cost);
        let session = traced.session.clone().unwrap_or_default();
        self.sessions.entry(session).or_default().add(&served, cost);
    }
}

impl Totals {
    fn plus(&mut self, more: &Totals) {
        self.requests += more.requests;
        self.read += more.read;
        self.written_short += more.written_short;
        self.written_long += more.written_long;
        self.uncached += more.uncached;
        self.cost += more.cost;
    }

    fn add(&mut self, served: &Served, cost: f64) {
        self.requests += 1;
        self.read += served.read;
        self.written_short += served.written_short;
        self.written_long += served.written_long;
        self.uncached += served.uncached;
        self.cost += cost;
    }

    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.read + self.written_short + self.written_long + self.uncached
    }

    /// The part of the tokens that was read from the cache.
    #[must_use]
    pub fn hit_rate(&self) -> f64 {
        if self.tokens() == 0 { 0.0 } else { self.read as f64 / self.tokens() as f64 }
    }
}
