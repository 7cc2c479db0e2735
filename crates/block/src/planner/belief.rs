//! How likely a prefix is to be asked for again, and within which time.
//!
//! A guess is made of layers: what the request's shape suggests, what requests of such a shape did before,
//! what this scaffold's did, what this conversation did. Each layer is the next one's starting point and
//! weighs as much as a few observations. A prefix that was not asked for again counts against its layer
//! the more the longer that is ago, so that a row of single requests is understood before any of them has
//! expired.

use std::collections::VecDeque;

use crate::{PrefixHash, RequestTraits};

/// What a position is to its request, which decides how its reuse is guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// The end of the tools.
    Tools,
    /// Inside or at the end of the system text.
    System,
    /// The end of the message before the last.
    History,
    /// The end of the request.
    Tail,
}

/// The identity of a layer: a profile (zero for all of them), a place and a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LayerKey {
    pub(crate) profile: u64,
    pub(crate) place: Place,
    pub(crate) shape: RequestTraits,
}

/// A guess that waits for the prefix to be seen again.
pub(crate) type Watch = LayerKey;

/// The chance of the next use within the short lifetime, and within the long one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chance {
    pub(crate) short: f64,
    pub(crate) long: f64,
}

/// What became of the watched prefixes of one layer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Layer {
    short: f64,
    medium: f64,
    never: f64,
    /// The sum and the number of short gaps.
    short_gaps: (f64, f64),
    pending: VecDeque<(f64, PrefixHash)>,
}

/// How many observations a layer's starting point weighs.
const WEIGHT: f64 = 2.5;
/// The same for uses that come late: they are rarer, and the first one says more.
const LATE_WEIGHT: f64 = 1.6;
/// How many watched prefixes a layer waits for.
const PENDING: usize = 48;
/// How fast old observations fade, per observation.
const FADING: f64 = 0.985;
/// Of what does not come back soon, how much comes back within the long lifetime, before anything is known.
const LATE: f64 = 0.12;
/// How likely another conversation is to use the same instructions soon, before anything is known.
const OTHERS: f64 = 0.25;
/// How long the next request of a conversation takes, before anything is known.
const USUAL_GAP: f64 = 40.0;
/// How likely the end of a request is to be asked for again, before anything is known: of one whose answer
/// has a given form, of one that brings results of tools, of one with tools, of one in a conversation, of any
/// other.
const FORCED: f64 = 0.08;
const LOOP: f64 = 0.85;
const TOOLS: f64 = 0.6;
const TURNS: f64 = 0.4;
const SINGLE: f64 = 0.12;
const SHORT: f64 = 300.0;
const LONG: f64 = 3600.0;

impl Chance {
    pub(crate) fn new(short: f64) -> Self {
        Chance { short, long: short + (1.0 - short) * LATE }
    }

    /// The better of both. Late uses stay late: what is sure to be used soon still meets every pause.
    pub(crate) fn max(self, other: Chance) -> Chance {
        let late = (self.long - self.short).max(other.long - other.short);
        let short = self.short.max(other.short).min(1.0 - late);
        Chance { short, long: short + late }
    }

    /// With a further chance beside it.
    pub(crate) fn raised(self, other: f64) -> Chance {
        let raise = |chance: f64| chance + (1.0 - chance) * other;
        Chance { short: raise(self.short), long: raise(self.long) }
    }

    pub(crate) fn scaled(self, factor: f64) -> Chance {
        Chance { short: self.short * factor, long: self.long * factor }
    }

    /// The guess after these many uses within each lifetime and these many that came too late for both.
    pub(crate) fn after(self, short: f64, medium: f64, never: f64) -> Chance {
        self.weighed(short, (medium, medium), (never, never))
    }

    /// `late` and `never` are told apart by what they say about the short and about the long lifetime.
    fn weighed(self, short: f64, medium: (f64, f64), never: (f64, f64)) -> Chance {
        let trials = short + medium.0 + never.0;
        let soon = (short + WEIGHT * self.short) / (trials + WEIGHT);
        let late = if self.short < 1.0 { (self.long - self.short) / (1.0 - self.short) } else { 0.0 };
        let late = (medium.1 + LATE_WEIGHT * late) / (medium.1 + never.1 + LATE_WEIGHT);
        Chance { short: soon, long: soon + (1.0 - soon) * late }
    }
}

impl Layer {
    /// Waits for a prefix to be seen again.
    pub(crate) fn watch(&mut self, prefix: PrefixHash, now: f64) {
        self.expire(now);
        if self.pending.len() == PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back((now, prefix));
    }

    /// The prefix was seen again after `gap` seconds.
    pub(crate) fn settle(&mut self, prefix: PrefixHash, gap: f64) {
        self.forget(prefix);
        self.fade();
        if gap <= SHORT {
            self.short += 1.0;
            self.short_gaps.0 += gap;
            self.short_gaps.1 += 1.0;
        } else if gap <= LONG {
            self.medium += 1.0;
        } else {
            self.never += 1.0;
        }
    }

    /// It is certain that the prefix will not be asked for again.
    pub(crate) fn fail(&mut self, prefix: PrefixHash) {
        if self.forget(prefix) {
            self.fade();
            self.never += 1.0;
        }
    }

    /// The guess, from the layer above and what was seen here.
    pub(crate) fn chance(&self, start: Chance, now: f64) -> Chance {
        let (sum, count) = self.short_gaps;
        let usual = ((sum + 2.0 * USUAL_GAP) / (count + 2.0)).clamp(10.0, 120.0);
        let mut soon = self.never;
        let mut late = self.never;
        for (since, _) in &self.pending {
            let age = now - since;
            soon += 1.0 - (-age / (1.5 * usual)).exp();
            late += ((age - SHORT) / (LONG - SHORT)).clamp(0.0, 1.0);
        }
        start.weighed(self.short, (self.medium, self.medium), (soon, late))
    }

    /// How many uses came after the short lifetime and within the long one; old ones count less.
    pub(crate) fn pauses(&self) -> f64 {
        self.medium
    }

    fn forget(&mut self, prefix: PrefixHash) -> bool {
        let found = self.pending.iter().position(|(_, pending)| *pending == prefix);
        found.is_some_and(|index| self.pending.remove(index).is_some())
    }

    fn expire(&mut self, now: f64) {
        while self.pending.front().is_some_and(|(since, _)| now - since > LONG) {
            self.pending.pop_front();
            self.fade();
            self.never += 1.0;
        }
    }

    fn fade(&mut self) {
        for count in [&mut self.short, &mut self.medium, &mut self.never] {
            *count *= FADING;
        }
    }

    /// Counts as plain numbers, for a store.
    pub(crate) fn counts(&self) -> [f64; 5] {
        [self.short, self.medium, self.never, self.short_gaps.0, self.short_gaps.1]
    }

    pub(crate) fn from_counts([short, medium, never, sum, count]: [f64; 5]) -> Self {
        Layer { short, medium, never, short_gaps: (sum, count), pending: VecDeque::new() }
    }
}

/// What the shape of a request suggests, before anything is known.
pub(crate) fn first_guess(place: Place, shape: RequestTraits) -> Chance {
    let tail = if shape.forced {
        FORCED
    } else if shape.in_loop {
        LOOP
    } else if shape.turns {
        if shape.tools { TOOLS } else { TURNS }
    } else if shape.tools {
        TOOLS
    } else {
        SINGLE
    };
    Chance::new(match place {
        Place::Tail => tail,
        Place::History => f64::max(tail, if shape.turns { 0.5 } else { tail }),
        // Instructions are written to be used more than once: by this conversation or by another.
        Place::Tools | Place::System => 1.0 - (1.0 - tail) * (1.0 - OTHERS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_requests_are_understood_while_they_are_young() {
        let mut layer = Layer::default();
        let start = Chance::new(0.7);
        assert!((layer.chance(start, 0.0).short - 0.7).abs() < 1e-9);
        for request in 0..12_u32 {
            layer.watch(u128::from(request), f64::from(request) * 15.0);
        }
        let chance = layer.chance(start, 180.0);
        assert!(chance.short < 0.2 && chance.long < 0.3, "{chance:?}");
    }

    #[test]
    fn pauses_move_the_chance_to_the_long_lifetime() {
        let mut layer = Layer::default();
        for turn in 0..4_u32 {
            layer.watch(u128::from(turn), f64::from(turn) * 900.0);
            layer.settle(u128::from(turn), 900.0);
        }
        let chance = layer.chance(Chance::new(0.5), 3600.0);
        assert!(chance.short < 0.2 && chance.long > 0.65, "{chance:?}");
    }

    #[test]
    fn what_failed_for_certain_counts_at_once() {
        let mut layer = Layer::default();
        layer.watch(1, 0.0);
        layer.fail(1);
        layer.fail(1);
        assert_eq!(layer.counts()[2], 1.0);
        assert!(layer.chance(Chance::new(0.7), 1.0).short < 0.55);
    }
}
