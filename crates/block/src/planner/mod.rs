//! Decides, for each request, what a provider's cache should keep of it.
//!
//! The planner remembers prefixes by their hashes, models what the provider's cache holds, guesses how
//! likely each prefix is to be asked for again, and marks what pays. It never looks at the future and never
//! stores text.
//!
//! Invariant: a plan is valid by the provider's rules. It has no more marks than are allowed, none where the
//! provider refuses one or would ignore it, and long-lived ones before short-lived ones.

mod belief;
mod cache_key;
mod candidates;
mod choose;
mod ledger;
mod memory;
mod nodes;
mod profile;

use crate::{CacheRules, MarkedRules, Measured, PrefixHash, Served, Ttl, WirePrompt, refusal, serve};

use belief::{Layer, LayerKey, Place};
use cache_key::Rate;
use choose::{Candidate, Judge, choose};
use ledger::Ledger;
use nodes::{Generations, Node, NodeEntries, SentEntries};

pub use memory::{LayerRecord, NodeRecord, PlannerMemory};

/// How many pauses must have been seen before an hour is bought.
const PAUSES: f64 = 0.9;
/// The same where the client chose a shorter lifetime.
const CLIENT_PAUSES: f64 = 1.4;
/// How fast old gaps between the uses of a prefix fade, per use.
const GAP_FADING: f32 = 0.97;

/// How the planner works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannerSettings {
    /// The most prefixes that are remembered.
    pub capacity: usize,
    /// How long a prefix is remembered that nobody asks for.
    pub lifetime_seconds: f64,
    /// How many bytes of a request make a token, before a provider has told.
    pub bytes_per_token: f64,
}

/// A request to be planned.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'r> {
    pub wire: &'r WirePrompt,
    /// The body that the positions were read from.
    pub body: &'r str,
    /// What the client calls the conversation, when it says.
    pub session: Option<&'r str>,
    /// Seconds since any fixed time. A time before that of an earlier request counts as the latter.
    pub now: f64,
}

/// What a request should ask of the cache.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CachePlan {
    /// All marks that the request should have, in wire order.
    pub marks: Vec<(usize, Ttl)>,
    /// The key that routes to a warm machine, where the interface has one and the client set none.
    pub cache_key: Option<String>,
    /// The expected result of the plan.
    pub expected: Served,
    receipt: Receipt,
}

impl CachePlan {
    /// The plan that leaves a request as its client made it.
    #[must_use]
    pub fn as_sent(wire: &WirePrompt) -> Self {
        CachePlan { marks: wire.client_marks(), cache_key: wire.cache_key.clone(), ..CachePlan::default() }
    }
}

/// What connects a plan to the counters of its response.
#[derive(Debug, Clone, PartialEq, Default)]
struct Receipt {
    profile: u64,
    read: Option<PrefixHash>,
    /// Bytes of text.
    bytes: u64,
    /// Tokens of what is no text.
    media: u64,
    /// All prefixes of the request.
    prefixes: Vec<PrefixHash>,
}

/// The counters of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// All input tokens, read and written ones included.
    pub input: u64,
    pub read: u64,
    pub written: u64,
}

/// How many reads were expected of a profile, and how many the provider counted.
#[derive(Debug, Clone, Copy, Default)]
struct Trust {
    expected: f64,
    seen: f64,
}

impl Trust {
    /// How many expected reads are believed before any was counted.
    const START: f64 = 3.0;
    /// How fast a disappointment is forgotten, per response.
    const FADING: f64 = 0.99;

    fn factor(self) -> f64 {
        (self.seen + Self::START) / (self.expected + Self::START)
    }
}

/// The last request of a conversation.
#[derive(Debug, Clone)]
struct Last {
    messages: u32,
    watches: Vec<(LayerKey, PrefixHash)>,
}

#[derive(Debug)]
pub struct Planner {
    settings: PlannerSettings,
    bytes_per_token: f64,
    nodes: Generations<PrefixHash, Node>,
    layers: Generations<LayerKey, Layer>,
    sessions: Generations<u64, Last>,
    rates: Generations<u64, Rate>,
    trust: Generations<u64, Trust>,
    /// One for each model, as each has a cache of its own to invest in.
    ledgers: Generations<u64, Ledger>,
    /// The latest time that a caller gave.
    now: f64,
}

impl Default for PlannerSettings {
    fn default() -> Self {
        PlannerSettings { capacity: 100_000, lifetime_seconds: 2.0 * 3600.0, bytes_per_token: 4.0 }
    }
}

impl Planner {
    #[must_use]
    pub fn new(settings: PlannerSettings) -> Self {
        let PlannerSettings { capacity, lifetime_seconds, bytes_per_token } = settings;
        // What is learned about scaffolds outlives the prefixes that taught it.
        let days = 7.0 * 24.0 * 3600.0;
        Planner {
            settings,
            bytes_per_token,
            nodes: Generations::new(capacity, lifetime_seconds),
            layers: Generations::new((capacity / 16).max(64), days),
            sessions: Generations::new((capacity / 16).max(64), lifetime_seconds),
            rates: Generations::new((capacity / 16).max(64), lifetime_seconds),
            trust: Generations::new((capacity / 16).max(64), days),
            ledgers: Generations::new((capacity / 16).max(64), days),
            now: f64::NEG_INFINITY,
        }
    }

    /// How many records are held: prefixes, beliefs, sessions, rates and trust.
    #[must_use]
    pub fn record_count(&self) -> usize {
        self.nodes.len()
            + self.layers.len()
            + self.sessions.len()
            + self.rates.len()
            + self.trust.len()
            + self.ledgers.len()
    }

    /// The most records that are ever held.
    #[must_use]
    pub fn record_limit(&self) -> usize {
        self.settings.capacity.max(2) + 5 * (self.settings.capacity / 16).max(64)
    }

    /// Plans a request and remembers it as sent that way.
    pub fn plan(&mut self, request: &PlanRequest<'_>) -> CachePlan {
        self.now = self.now.max(request.now);
        let request = &PlanRequest { now: self.now, ..*request };
        match CacheRules::of(request.wire.surface) {
            CacheRules::Marked(rules) => self.plan_marks(request, rules),
            CacheRules::Automatic(rules) => {
                CachePlan { cache_key: self.cache_key(request, rules), ..CachePlan::default() }
            }
        }
    }

    fn plan_marks(&mut self, request: &PlanRequest<'_>, rules: &MarkedRules) -> CachePlan {
        let PlanRequest { wire, now, .. } = *request;
        let measured = Measured::new(wire, rules, self.bytes_per_token);
        let client = wire.client_marks();
        // Marks that the provider refuses are no plan of the client's.
        let keeps_client =
            !client.is_empty() && wire.surplus_marks.is_empty() && refusal(wire, &client, rules).is_none();
        let least = candidates::least_tokens(measured.minimum, true);
        if wire.last_markable().is_none() || measured.total() < least {
            // Nothing of it can be cached, and nothing longer that begins with it was asked for yet. Ours is
            // an estimate of what the provider counts, so a client's marks stay.
            return CachePlan {
                marks: if keeps_client { client } else { Vec::new() },
                expected: Served { uncached: measured.total(), ..Served::default() },
                ..CachePlan::default()
            };
        }
        let known = self.visit(&measured, now);
        let profile = profile::profile(wire, request.body);
        let conversation = profile::conversation(request, profile);
        self.settle_session(conversation, request, &measured, known);
        let candidates = self.candidates(request, &measured, rules, profile, known);
        let sent = keeps_client.then(|| self.sent_cost(&measured, rules, &client, now));
        let total = measured.total() as f64;
        // An hour is bought where pauses were seen. A client that marks for itself has chosen its lifetimes,
        // unless pauses show again and again that they are too short.
        let pauses = self.pauses(request, &measured, known, profile);
        let model = profile::hash_text(&wire.model);
        let ledger = *self.ledgers.entry(model, now, Ledger::default);
        // The client's marks that are no candidates: below the minimum by our count, which is an estimate.
        let own = if keeps_client { client.as_slice() } else { &[] };
        let early: Vec<_> =
            own.iter().filter(|(at, _)| candidates.iter().all(|one| one.position != *at)).copied().collect();
        let judge = Judge {
            rules,
            minimum: measured.minimum,
            pending: self.pending(&measured, known, now),
            allow_long: pauses >= if keeps_client { CLIENT_PAUSES } else { PAUSES },
            keeps_client,
            follows_short: early.iter().any(|(_, ttl)| *ttl == Ttl::Short),
            budgets: ledger.budgets(total, sent).without(self.owed(&measured, rules, own, &candidates, now)),
        };
        let mut marks = choose(&candidates, rules.marks - early.len(), &judge);
        marks.extend(early);
        marks.sort_unstable_by_key(|(at, _)| *at);
        if keeps_client && refusal(wire, &marks, rules).is_some() {
            marks = client;
        }
        self.remember(conversation, request, &measured, profile, known);
        let mut entries = NodeEntries { nodes: &mut self.nodes, now };
        let expected = serve(&mut entries, rules, &measured, &marks, now);
        let ledger = self.ledgers.entry(model, now, Ledger::default);
        ledger.add(total, sent.unwrap_or(total), expected.cost(rules));
        let receipt = Receipt {
            profile,
            read: expected.read_at.map(|position| measured.prefixes[position]),
            bytes: wire.positions.iter().map(|position| u64::from(position.length)).sum(),
            media: wire.positions.iter().map(|position| u64::from(position.media_tokens)).sum(),
            prefixes: measured.prefixes,
        };
        CachePlan { marks, cache_key: None, expected, receipt }
    }

    /// What the request costs with the client's own marks.
    fn sent_cost(
        &mut self,
        measured: &Measured,
        rules: &MarkedRules,
        client: &[(usize, Ttl)],
        now: f64,
    ) -> f64 {
        let mut entries = SentEntries(NodeEntries { nodes: &mut self.nodes, now });
        serve(&mut entries, rules, measured, client, now).cost(rules)
    }

    /// What a request like this one may have to write that it would read if requests went as they were sent. An entry
    /// deeper than a client's mark is read instead of that mark's own, which nobody then writes again.
    fn owed(
        &self,
        measured: &Measured,
        rules: &MarkedRules,
        client: &[(usize, Ttl)],
        candidates: &[Candidate],
        now: f64,
    ) -> f64 {
        let read = candidates.iter().map(|candidate| candidate.reads).max().unwrap_or(0);
        let is_missed = |at: usize| {
            let node = self.nodes.get(measured.prefixes[at]);
            let is_live = |entry: Option<crate::CacheEntry>| entry.is_some_and(|entry| now < entry.expires);
            measured.tokens[at] <= read && node.is_some_and(|node| is_live(node.sent) && !is_live(node.entry))
        };
        let missed = client.iter().filter(|(at, _)| is_missed(*at)).map(|(at, ttl)| {
            let write = if *ttl == Ttl::Long { rules.write_long } else { rules.write_short };
            (write - rules.read) * measured.tokens[*at] as f64
        });
        missed.fold(0.0, f64::max)
    }

    /// How often something of the request, or of requests of its kind, was asked for again after the short
    /// lifetime and within the long one.
    fn pauses(&self, request: &PlanRequest<'_>, measured: &Measured, known: usize, profile: u64) -> f64 {
        let nodes = measured.prefixes[..known].iter().filter_map(|prefix| self.nodes.get(*prefix));
        let nodes = nodes.map(|node| f64::from(node.gaps[1]));
        let layers = candidates::places(request.wire).into_iter().filter_map(|(place, _)| {
            let key = LayerKey { profile, place, shape: shape_at(place, request.wire) };
            self.layers.get(key).map(Layer::pauses)
        });
        nodes.chain(layers).fold(0.0, f64::max)
    }

    /// The response to a planned request has begun: what it wrote can be read from here on, however short a
    /// time that took, and what follows does not run side by side with it.
    pub fn begun(&mut self, plan: &CachePlan, now: f64) {
        let past = now - MarkedRules::anthropic().readable_after_seconds;
        for prefix in &plan.receipt.prefixes {
            let Some(node) = self.nodes.get_mut(*prefix) else { continue };
            node.last_seen = node.last_seen.min(past);
            if let Some(entry) = &mut node.entry {
                entry.readable = entry.readable.min(now);
            }
        }
    }

    /// Takes in what the provider counted for a planned request. A read that was expected and did not
    /// happen means that the entry is gone; beliefs that rest on such reads are weakened, and so hints that
    /// do not pay end.
    pub fn learn(&mut self, plan: &CachePlan, counters: Counters, now: f64) {
        let text = counters.input.saturating_sub(plan.receipt.media);
        if text > 0 && plan.receipt.bytes > 0 {
            let measured = plan.receipt.bytes as f64 / text as f64;
            // Media that count otherwise and unusual text must not throw the scale off.
            self.bytes_per_token = (0.95 * self.bytes_per_token + 0.05 * measured).clamp(1.5, 8.0);
        }
        let Some(read) = plan.receipt.read else { return };
        let trust = self.trust.entry(plan.receipt.profile, now, Trust::default);
        let seen = if counters.read > 0 { 1.0 } else { 0.0 };
        trust.expected = trust.expected * Trust::FADING + 1.0;
        trust.seen = trust.seen * Trust::FADING + seen;
        if counters.read == 0
            && let Some(node) = self.nodes.get_mut(read)
        {
            node.entry = None;
        }
    }

    /// Counts the visit of every known prefix, settles what waited for it, and gives how many positions are
    /// known.
    fn visit(&mut self, measured: &Measured, now: f64) -> usize {
        let rules = MarkedRules::anthropic();
        let mut known = 0;
        for (index, prefix) in measured.prefixes.iter().enumerate() {
            let Some(node) = self.nodes.get_mut(*prefix) else { break };
            known = index + 1;
            let gap = now - node.last_seen;
            // Requests that run side by side cannot read from one another and say nothing about later ones.
            if gap >= rules.readable_after_seconds {
                let class = if gap <= rules.short_seconds {
                    0
                } else if gap <= rules.long_seconds {
                    1
                } else {
                    2
                };
                node.gaps.iter_mut().for_each(|count| *count *= GAP_FADING);
                node.gaps[class] += 1.0;
                if node.tail && class < 2 {
                    node.lineage[class] = (node.lineage[class] + 1.0).min(6.0);
                }
                if let Some(watch) = node.watch.take() {
                    self.layers.entry(watch, now, Layer::default).settle(*prefix, gap);
                    let general = LayerKey { profile: 0, ..watch };
                    self.layers.entry(general, now, Layer::default).settle(*prefix, gap);
                }
            }
            let next = measured.prefixes.get(index + 1).copied().unwrap_or(0);
            if node.child != 0 && next != 0 && node.child != next {
                node.branched = true;
            }
            if next != 0 {
                node.child = next;
            }
            node.visits = node.visits.saturating_add(1);
            node.last_seen = now;
        }
        known
    }

    /// A conversation that went on without what its last request ended with will not come back to it.
    fn settle_session(
        &mut self,
        conversation: Option<u64>,
        request: &PlanRequest<'_>,
        measured: &Measured,
        known: usize,
    ) {
        let Some(last) = conversation.and_then(|key| self.sessions.get(key)) else { return };
        let messages = request.wire.positions.last().and_then(|position| position.message).unwrap_or(0);
        if messages <= last.messages {
            return;
        }
        let path = &measured.prefixes[..known];
        let left: Vec<_> =
            last.watches.iter().filter(|(_, prefix)| !path.contains(prefix)).copied().collect();
        for (key, prefix) in left {
            for key in [key, LayerKey { profile: 0, ..key }] {
                self.layers.entry(key, request.now, Layer::default).fail(prefix);
            }
            if let Some(node) = self.nodes.get_mut(prefix) {
                node.watch = None;
            }
        }
    }

    /// Tokens of the deepest prefix that a request on its way is writing.
    fn pending(&self, measured: &Measured, known: usize, now: f64) -> u64 {
        let pending = (0..known).rev().find(|index| {
            let node = self.nodes.get(measured.prefixes[*index]);
            node.and_then(|node| node.entry).is_some_and(|entry| entry.is_pending(now))
        });
        pending.map_or(0, |index| measured.tokens[index])
    }

    /// Remembers the positions that were not known, and watches the ones that guesses are made of.
    fn remember(
        &mut self,
        conversation: Option<u64>,
        request: &PlanRequest<'_>,
        measured: &Measured,
        profile: u64,
        known: usize,
    ) {
        let PlanRequest { wire, now, .. } = *request;
        let lineage = self.lineage(wire, measured, known);
        let count = measured.prefixes.len();
        for index in known..count {
            let next = measured.prefixes.get(index + 1).copied().unwrap_or(0);
            let tail = index + 1 == count;
            let node = Node { visits: 1, child: next, tail, lineage, ..Node::new(now) };
            let slot = self.nodes.entry(measured.prefixes[index], now, || node);
            *slot = Node { sent: slot.sent, ..node };
        }
        let mut watches = Vec::new();
        for (place, index) in candidates::places(wire) {
            if index < known {
                continue;
            }
            let key = LayerKey { profile, place, shape: shape_at(place, wire) };
            let prefix = measured.prefixes[index];
            for key in [key, LayerKey { profile: 0, ..key }] {
                self.layers.entry(key, now, Layer::default).watch(prefix, now);
            }
            if let Some(node) = self.nodes.get_mut(prefix) {
                node.watch = Some(key);
            }
            watches.push((key, prefix));
        }
        if let Some(conversation) = conversation {
            let messages = wire.positions.last().and_then(|position| position.message).unwrap_or(0);
            let last = Last { messages, watches };
            let kept = || Last { messages: 0, watches: Vec::new() };
            *self.sessions.entry(conversation, now, kept) = last;
        }
    }

    /// The gaps of the conversation that the deepest known prefix belongs to; a scaffold belongs to none.
    fn lineage(&self, wire: &WirePrompt, measured: &Measured, known: usize) -> [f32; 2] {
        let deepest = known.checked_sub(1).filter(|index| wire.positions[*index].message.is_some());
        let deepest = deepest.and_then(|index| self.nodes.get(measured.prefixes[index]));
        deepest.filter(|node| node.tail).map_or([0.0; 2], |node| node.lineage)
    }
}

/// Scaffolds are shared by requests of many shapes; ends belong to one.
fn shape_at(place: Place, wire: &WirePrompt) -> crate::RequestTraits {
    match place {
        Place::Tools | Place::System => crate::RequestTraits { turns: false, in_loop: false, ..wire.shape },
        Place::History | Place::Tail => wire.shape,
    }
}
