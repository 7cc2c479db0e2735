//! The cost that no way of marking a trace can fall below.
//!
//! Every stretch of every prefix is looked at by itself, with all its uses known: at each use it is read
//! when it lives, or left, or written for either lifetime. Limits on the number of marks, on how far they
//! look back and on what can be kept together are left out, so the sum of the cheapest courses is a bound
//! and, where those limits do not bite, the optimum.

use std::collections::HashMap;

use crate::{CacheRules, MarkedRules, PrefixHash};

use super::automatic::Machines;
use super::{Replay, Totals, TracedRequest};

/// The uses of one stretch.
#[derive(Debug)]
struct Stretch {
    tokens: u64,
    first_request: usize,
    uses: Vec<f64>,
}

/// A course of one stretch so far: its cost for a token and what lives of it.
#[derive(Debug, Clone, Copy)]
struct Course {
    cost: f64,
    touched: f64,
    readable: f64,
}

pub(super) fn bound(trace: &[TracedRequest]) -> Replay {
    let mut replay = Replay::default();
    let mut stretches: HashMap<PrefixHash, Stretch> = HashMap::new();
    let mut machines = Machines::default();
    let mut totals: Vec<Totals> = vec![Totals { requests: 1, ..Totals::default() }; trace.len()];
    for (index, traced) in trace.iter().enumerate() {
        let rules = match CacheRules::of(traced.wire.surface) {
            CacheRules::Marked(rules) => rules,
            CacheRules::Automatic(rules) => {
                // One machine that is never too busy and that everyone is routed to.
                let (served, cost) = machines.serve_alone(traced, rules);
                totals[index] = Totals::default();
                totals[index].add(&served, cost);
                continue;
            }
        };
        let minimum = rules.minimum(&traced.wire.model);
        if traced.total() < minimum {
            totals[index].cost += traced.total() as f64;
            totals[index].uncached += traced.total();
            continue;
        }
        let mut before = 0;
        // No entry ends below the minimum, so what is there is read with what comes after it or not at all.
        let cacheable = traced.wire.positions.iter().zip(&traced.tokens);
        for (position, tokens) in cacheable.filter(|(_, tokens)| **tokens >= minimum) {
            let stretch = stretches.entry(position.prefix).or_insert_with(|| Stretch {
                tokens: tokens - before,
                first_request: index,
                uses: Vec::new(),
            });
            stretch.uses.push(traced.time);
            before = *tokens;
        }
    }
    let rules = MarkedRules::anthropic();
    for stretch in stretches.values() {
        let course = cheapest(rules, &stretch.uses);
        let [read, short, long, uncached] = course.counts;
        // A stretch that requests or sessions share counts for the one that sent it first.
        let first = &mut totals[stretch.first_request];
        first.cost += course.cost * stretch.tokens as f64;
        first.read += read * stretch.tokens;
        first.written_short += short * stretch.tokens;
        first.written_long += long * stretch.tokens;
        first.uncached += uncached * stretch.tokens;
    }
    for (traced, totals) in trace.iter().zip(&totals) {
        replay.total.plus(totals);
        replay.sessions.entry(traced.session.clone().unwrap_or_default()).or_default().plus(totals);
    }
    replay.costs = totals.iter().map(|totals| totals.cost).collect();
    replay
}

/// The cheapest course of a stretch: its cost for a token, and how often it is read, written short, written
/// long and left.
#[derive(Debug, Clone, Copy)]
struct Cheapest {
    cost: f64,
    counts: [u64; 4],
}

fn cheapest(rules: &MarkedRules, uses: &[f64]) -> Cheapest {
    let start = Course { cost: 0.0, touched: 0.0, readable: 0.0 };
    // Nothing lives, a short entry lives, a long one lives.
    let mut states: [Option<(Course, [u64; 4])>; 3] = [Some((start, [0; 4])), None, None];
    let lifetimes = [0.0, rules.short_seconds, rules.long_seconds];
    for now in uses.iter().copied() {
        let mut next: [Option<(Course, [u64; 4])>; 3] = [None; 3];
        let mut offer = |state: usize, course: Course, counts: [u64; 4]| {
            let slot = &mut next[state];
            // Of two courses in one state the cheaper cost and the later use are kept, which is at least
            // as good as either.
            *slot = Some(match *slot {
                Some((kept, kept_counts)) => {
                    let counts = if course.cost < kept.cost { counts } else { kept_counts };
                    let merged = Course {
                        cost: kept.cost.min(course.cost),
                        touched: kept.touched.max(course.touched),
                        readable: kept.readable.min(course.readable),
                    };
                    (merged, counts)
                }
                None => (course, counts),
            });
        };
        for (state, course) in states.iter().enumerate() {
            let Some((course, counts)) = *course else { continue };
            let count = |which: usize| {
                let mut counts = counts;
                counts[which] += 1;
                counts
            };
            if state > 0 && now < course.touched + lifetimes[state] {
                if now < course.readable {
                    offer(state, Course { cost: course.cost + 1.0, ..course }, count(3));
                } else {
                    offer(state, Course { cost: course.cost + rules.read, touched: now, ..course }, count(0));
                }
                continue;
            }
            let readable = now + rules.readable_after_seconds;
            offer(0, Course { cost: course.cost + 1.0, ..start }, count(3));
            offer(1, Course { cost: course.cost + rules.write_short, touched: now, readable }, count(1));
            offer(2, Course { cost: course.cost + rules.write_long, touched: now, readable }, count(2));
        }
        states = next;
    }
    let best = states.into_iter().flatten().min_by(|left, right| left.0.cost.total_cmp(&right.0.cost));
    best.map_or(Cheapest { cost: 0.0, counts: [0; 4] }, |(course, counts)| Cheapest {
        cost: course.cost,
        counts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(uses: &[f64]) -> f64 {
        cheapest(MarkedRules::anthropic(), uses).cost
    }

    #[test]
    fn a_stretch_takes_its_cheapest_course() {
        assert!((cost(&[0.0]) - 1.0).abs() < 1e-9, "used once: left");
        assert!((cost(&[0.0, 10.0]) - 1.35).abs() < 1e-9, "written and read");
        assert!((cost(&[0.0, 1.0]) - 2.0).abs() < 1e-9, "side by side: left twice");
        assert!((cost(&[0.0, 400.0]) - 2.0).abs() < 1e-9, "one late use does not pay for the long write");
        assert!((cost(&[0.0, 400.0, 800.0]) - 2.2).abs() < 1e-9, "two do");
        assert!((cost(&[0.0, 10.0, 5000.0, 5010.0]) - 2.7).abs() < 1e-9, "written twice");
    }
}
