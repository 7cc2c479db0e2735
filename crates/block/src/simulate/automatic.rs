//! An automatic cache: prefixes in steps of tokens, on the machine that a request is routed to.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::{AutomaticRules, Served};

use super::TracedRequest;

/// The tokens at the beginning of a prompt that decide where it goes.
const ROUTING_TOKENS: u64 = 256;

/// The provider's machines with their caches.
#[derive(Debug, Default)]
pub(super) struct Machines {
    /// When a prefix was last used, and from when it can be read, by machine and hash.
    entries: HashMap<(u64, u64), (f64, f64)>,
    /// Requests in the present minute, by route.
    busy: HashMap<u64, (i64, u64)>,
}

impl Machines {
    /// Serves a request and gives its cost in tokens at the input price.
    pub(super) fn serve(
        &mut self,
        traced: &TracedRequest,
        cache_key: Option<&str>,
        rules: &AutomaticRules,
    ) -> (Served, f64) {
        let steps = steps(traced, rules.step);
        let route = {
            let mut hash = DefaultHasher::new();
            cache_key.hash(&mut hash);
            let first = (ROUTING_TOKENS / rules.step) as usize;
            steps.get(first.saturating_sub(1)).or(steps.last()).hash(&mut hash);
            hash.finish()
        };
        let machine = self.machine(route, traced.time, rules);
        self.serve_on(machine, &steps, traced, rules)
    }

    /// Serves a request where all requests go to one machine.
    pub(super) fn serve_alone(&mut self, traced: &TracedRequest, rules: &AutomaticRules) -> (Served, f64) {
        self.serve_on(0, &steps(traced, rules.step), traced, rules)
    }

    fn serve_on(
        &mut self,
        machine: u64,
        steps: &[u64],
        traced: &TracedRequest,
        rules: &AutomaticRules,
    ) -> (Served, f64) {
        let family = rules.family(&traced.wire.model);
        let total = traced.total();
        let usable =
            |entry: &(f64, f64)| entry.1 <= traced.time && traced.time < entry.0 + family.idle_seconds;
        let hits =
            steps.iter().take_while(|step| self.entries.get(&(machine, **step)).is_some_and(usable)).count()
                as u64;
        let read = Some(hits * rules.step).filter(|read| *read >= rules.minimum).unwrap_or(0);
        if total >= rules.minimum {
            for step in steps {
                let readable = traced.time + rules.readable_after_seconds;
                let entry = self.entries.entry((machine, *step)).or_insert((traced.time, readable));
                if traced.time >= entry.0 + family.idle_seconds {
                    entry.1 = readable;
                }
                entry.0 = traced.time;
            }
        }
        let rest = total - read.min(total);
        let cacheable = if total >= rules.minimum { rest } else { 0 };
        let written = if family.write > 1.0 { cacheable } else { 0 };
        let served =
            Served { read, written_short: written, written_long: 0, uncached: rest - written, read_at: None };
        let cost = read as f64 * family.read + written as f64 * family.write + served.uncached as f64;
        (served, cost)
    }

    /// The machine of a route; a busy route spills over to the next one.
    fn machine(&mut self, route: u64, time: f64, rules: &AutomaticRules) -> u64 {
        let minute = (time / 60.0).floor() as i64;
        let busy = self.busy.entry(route).or_insert((minute, 0));
        if busy.0 != minute {
            *busy = (minute, 0);
        }
        let spilled = busy.1 / rules.requests_per_minute;
        busy.1 += 1;
        route.wrapping_add(spilled.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// The hash of the prompt up to the end of each whole step. Inside a position tokens are spread evenly over
/// its bytes.
fn steps(traced: &TracedRequest, step: u64) -> Vec<u64> {
    let mut hashes = Vec::with_capacity((traced.total() / step) as usize);
    let mut hash = DefaultHasher::new();
    traced.wire.model.hash(&mut hash);
    let mut before = 0;
    for (position, tokens) in traced.wire.positions.iter().zip(&traced.tokens) {
        let bytes = &traced.body.as_bytes()[position.range.clone()];
        (position.role as u8).hash(&mut hash);
        let own = tokens - before;
        let mut at = 0;
        while ((hashes.len() as u64) + 1) * step <= *tokens && own > 0 {
            let due = ((hashes.len() as u64) + 1) * step - before;
            let end = ((due as f64 / own as f64) * bytes.len() as f64) as usize;
            let end = end.clamp(at, bytes.len());
            hash.write(&bytes[at..end]);
            at = end;
            hashes.push(hash.finish());
        }
        hash.write(&bytes[at..]);
        before = *tokens;
    }
    hashes
}
