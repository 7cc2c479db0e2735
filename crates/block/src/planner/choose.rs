//! Which positions to mark, and for how long: the set of marks whose expected savings are greatest.
//!
//! All sets of a few candidates are tried. That is exact, and with at most a dozen candidates and four
//! marks it takes microseconds.

use crate::{MarkedRules, Ttl};

use super::belief::Chance;
use super::ledger::Budgets;

/// The chance that is made of certainty.
const MOST_CERTAIN: f64 = 0.98;

/// What keeping a shared token alive is worth, in tokens.
const KEPT: f64 = 0.02;

/// What the long lifetime must be expected to save beyond its price: its cost is certain, the pauses that
/// it bridges are not.
const CAUTION: f64 = 0.1;

/// Below which chance of another use a client's mark is of no use. It goes when what was saved pays for the case that
/// this is wrong.
const USELESS: f64 = 0.1;

/// A position that could be marked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) position: usize,
    /// Tokens up to its end.
    pub(crate) tokens: u64,
    pub(crate) chance: Chance,
    /// Tokens of the deepest entry that a mark here reads.
    pub(crate) reads: u64,
    /// Whether an entry ends exactly here.
    pub(crate) live: bool,
    /// Whether different requests continue from here.
    pub(crate) shared: bool,
    /// The client's own mark here.
    pub(crate) client: Option<Ttl>,
}

/// What the sets of marks are judged by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judge<'r> {
    pub(crate) rules: &'r MarkedRules,
    pub(crate) minimum: u64,
    /// Tokens that a request on its way is writing already.
    pub(crate) pending: u64,
    /// Whether the long lifetime may be used where the client did not ask for it.
    pub(crate) allow_long: bool,
    /// Whether the client's marks are valid, and so stay unless they are certain to be of no use.
    pub(crate) keeps_client: bool,
    /// Whether a short-lived mark stays before all candidates.
    pub(crate) follows_short: bool,
    /// What the request may cost more than without marks.
    pub(crate) budgets: Budgets,
}

/// The best set of at most `slots` marks, in wire order. Candidates are in wire order too.
pub(crate) fn choose(candidates: &[Candidate], slots: usize, judge: &Judge<'_>) -> Vec<(usize, Ttl)> {
    // What reads more than it writes costs less than no marks at all, and so is always affordable.
    let mut search = Search { candidates, slots, judge, affordable: 0.0, best: 0.0, chosen: Vec::new() };
    if judge.keeps_client {
        // The client's own plan is always affordable. It is the measure: a set that costs more than this one is paid
        // from the budget, also where it costs less than no marks.
        let own: Vec<usize> = (0..candidates.len()).filter(|at| judge.keeps(&candidates[*at])).collect();
        let long = judge.lifetimes(candidates, &own).0;
        let worth = judge.value(candidates, &own, long);
        (search.best, search.affordable) = (worth.expected, worth.premium);
        search.choose(&own, long);
    }
    search.extend(&mut Vec::with_capacity(slots), 0);
    search.chosen
}

/// What a set of marks is worth.
#[derive(Debug, Clone, Copy)]
struct Worth {
    /// The expected savings, in tokens at the input price.
    expected: f64,
    /// What it costs at once beyond leaving all of the request uncached.
    premium: f64,
}

struct Search<'s> {
    candidates: &'s [Candidate],
    slots: usize,
    judge: &'s Judge<'s>,
    /// A premium that needs no budget.
    affordable: f64,
    best: f64,
    chosen: Vec<(usize, Ttl)>,
}

impl Search<'_> {
    fn extend(&mut self, set: &mut Vec<usize>, from: usize) {
        let kept = (from..self.candidates.len()).find(|at| self.judge.keeps(&self.candidates[*at]));
        if kept.is_none() {
            self.consider(set);
        }
        if set.len() == self.slots {
            return;
        }
        // What must stay is not passed over.
        let last = kept.map_or(self.candidates.len(), |kept| kept + 1);
        for next in from..last {
            set.push(next);
            self.extend(set, next + 1);
            set.pop();
        }
    }

    fn consider(&mut self, set: &[usize]) {
        let (least, most) = self.judge.lifetimes(self.candidates, set);
        let values = (least..=most).rev().map(|long| (long, self.judge.value(self.candidates, set, long)));
        // What the set is best at is decided before what it costs: an hour is not bought because five minutes
        // cannot be afforded.
        let best = values.max_by(|left, right| left.1.expected.total_cmp(&right.1.expected));
        if let Some((long, value)) = best
            && value.expected > self.best
            && value.premium <= self.judge.budget(long).max(self.affordable)
        {
            self.best = value.expected;
            self.choose(set, long);
        }
    }

    fn choose(&mut self, set: &[usize], long: usize) {
        let ttl = |index: usize| if index < long { Ttl::Long } else { Ttl::Short };
        let marks = set.iter().enumerate();
        self.chosen = marks.map(|(index, at)| (self.candidates[*at].position, ttl(index))).collect();
    }
}

impl Judge<'_> {
    /// Whether every set must have this one: a client knows more of its requests than can be seen of them.
    fn keeps(&self, candidate: &Candidate) -> bool {
        self.keeps_client
            && match candidate.client {
                Some(Ttl::Long) => true,
                Some(Ttl::Short) => candidate.chance.long >= USELESS || !self.can_miss(candidate),
                None => false,
            }
    }

    /// Whether the budget bears that a mark goes and is read after all: the next use then writes what it would have
    /// read.
    fn can_miss(&self, candidate: &Candidate) -> bool {
        (self.rules.write_short - self.rules.read) * candidate.tokens as f64 <= self.budgets.later
    }

    /// The fewest and the most marks of a set that live long. They are its first ones, as the provider wants the
    /// long ones first. What a client marked for long stays so.
    fn lifetimes(&self, candidates: &[Candidate], set: &[usize]) -> (usize, usize) {
        if !self.keeps_client {
            return (0, if self.allow_long { set.len() } else { 0 });
        }
        let client = |ttl: Ttl| move |at: &usize| candidates[*at].client == Some(ttl);
        let least = set.iter().rposition(client(Ttl::Long)).map_or(0, |last| last + 1);
        let most = if self.follows_short {
            least
        } else if self.allow_long {
            set.len()
        } else {
            set.iter().position(client(Ttl::Short)).filter(|_| least > 0).unwrap_or(least)
        };
        (least, most.max(least))
    }

    fn value(&self, candidates: &[Candidate], set: &[usize], long: usize) -> Worth {
        let read = set.iter().map(|at| candidates[*at].reads).max().unwrap_or(0);
        let mut value = (1.0 - self.rules.read) * read as f64;
        let mut premium = -value;
        let mut covered = read;
        for (index, at) in set.iter().enumerate() {
            let candidate = &candidates[*at];
            let ttl = if index < long { Ttl::Long } else { Ttl::Short };
            // A mark costs a little, so that none is set for nothing; the client's own are left alone.
            value += match candidate.client {
                Some(client) if client == ttl => 0.01,
                Some(_) => 0.005,
                None => -0.01,
            };
            if candidate.tokens <= covered || candidate.tokens < self.minimum {
                if candidate.live && candidate.shared {
                    // Keeping alive what others may use is free.
                    value += KEPT * candidate.tokens as f64;
                }
                continue;
            }
            let tokens = candidate.tokens - covered;
            let pending = self.pending.saturating_sub(covered).min(tokens);
            let gain = self.gain(ttl, candidate.chance);
            premium += tokens as f64 * (self.write(ttl) - 1.0);
            value += (tokens - pending) as f64 * gain - pending as f64 * (self.write(ttl) - 1.0);
            covered = candidate.tokens;
        }
        Worth { expected: value, premium }
    }

    /// What a set with so many long-lived marks may cost beyond leaving the request uncached.
    fn budget(&self, long: usize) -> f64 {
        if long > 0 { self.budgets.long } else { self.budgets.short }
    }

    fn write(&self, ttl: Ttl) -> f64 {
        match ttl {
            Ttl::Short => self.rules.write_short,
            Ttl::Long => self.rules.write_long,
        }
    }

    /// What writing a token saves against leaving it and deciding again at its next use.
    ///
    /// The uses of a prefix are a chain: after each one comes another within the short lifetime, within the
    /// long one, or none, with the same chances each time. The cost of such a chain has a closed form for
    /// never writing and for writing with either lifetime.
    fn gain(&self, ttl: Ttl, chance: Chance) -> f64 {
        let read = self.rules.read;
        let (short, long) = (self.rules.write_short, self.rules.write_long);
        // No chain is endless.
        let (soon, again) = (MOST_CERTAIN * chance.short, MOST_CERTAIN * chance.long);
        let late = (again - soon).max(0.0);
        let end = 1.0 - again;
        let never = 1.0 / end;
        let with_short = (read + (short - read) * late) / end + (short - read);
        let with_long = long - read + read / end + CAUTION;
        let best = if self.allow_long { with_short.min(with_long) } else { with_short };
        let later = 1.0 + again * never.min(best);
        match ttl {
            Ttl::Short => later - with_short,
            Ttl::Long => later - with_long,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge() -> Judge<'static> {
        let rules = MarkedRules::anthropic();
        Judge {
            rules,
            minimum: 1024,
            pending: 0,
            allow_long: true,
            keeps_client: false,
            follows_short: false,
            budgets: Budgets::ENDLESS,
        }
    }

    fn candidate(position: usize, tokens: u64, short: f64, long: f64) -> Candidate {
        let chance = Chance { short, long };
        Candidate { position, tokens, chance, reads: 0, live: false, shared: false, client: None }
    }

    #[test]
    fn what_is_not_expected_again_is_not_written() {
        assert_eq!(choose(&[candidate(0, 9000, 0.1, 0.15)], 4, &judge()), []);
        assert_eq!(choose(&[candidate(0, 9000, 0.5, 0.5)], 4, &judge()), [(0, Ttl::Short)]);
        assert_eq!(choose(&[candidate(0, 1000, 0.9, 0.9)], 4, &judge()), []);
    }

    #[test]
    fn pauses_are_worth_the_long_lifetime() {
        assert_eq!(choose(&[candidate(0, 9000, 0.05, 0.9)], 4, &judge()), [(0, Ttl::Long)]);
        assert_eq!(choose(&[candidate(0, 9000, 0.9, 0.91)], 4, &judge()), [(0, Ttl::Short)]);
    }

    #[test]
    fn long_marks_stand_before_short_ones() {
        let candidates = [candidate(3, 9000, 0.1, 0.95), candidate(9, 12_000, 0.8, 0.8)];
        assert_eq!(choose(&candidates, 4, &judge()), [(3, Ttl::Long), (9, Ttl::Short)]);
    }

    #[test]
    fn a_stretch_that_another_request_is_writing_is_not_written_twice() {
        let scaffold = candidate(0, 9000, 0.9, 0.9);
        let busy = Judge { pending: 9000, ..judge() };
        assert_eq!(choose(&[scaffold], 4, &busy), []);
        let tail = candidate(1, 9500, 0.6, 0.6);
        assert_eq!(choose(&[scaffold, tail], 4, &busy), [], "500 own tokens do not pay for 9000 others");
        let tail = candidate(1, 30_000, 0.8, 0.8);
        assert_eq!(choose(&[scaffold, tail], 4, &busy), [(1, Ttl::Short)]);
    }

    #[test]
    fn a_set_keeps_to_its_budget() {
        let candidates = [candidate(0, 4000, 0.9, 0.9), candidate(1, 40_000, 0.9, 0.9)];
        let poor = Judge { budgets: Budgets { short: 1000.0, long: 0.0, later: 0.0 }, ..judge() };
        assert_eq!(choose(&candidates, 4, &poor), [(0, Ttl::Short)]);
        let broke = Judge { budgets: Budgets { short: -1.0, long: -1.0, later: 0.0 }, ..judge() };
        assert_eq!(choose(&candidates, 4, &broke), []);
        let mut read = candidates;
        read[0].reads = 4000;
        assert_eq!(choose(&read, 4, &broke), [(0, Ttl::Short)], "a read costs nothing");
    }

    #[test]
    fn a_clients_read_is_not_given_up_for_a_write_without_a_budget() {
        let mut candidates = [candidate(0, 9000, 0.1, 0.9), candidate(1, 30_000, 0.1, 0.95)];
        candidates[1].client = Some(Ttl::Short);
        candidates[1].reads = 9000;
        let sent = Budgets { short: -2850.0, long: -2850.0, later: 0.0 };
        let judge = Judge { keeps_client: true, budgets: sent, ..judge() };
        assert_eq!(
            choose(&candidates, 4, &judge),
            [(1, Ttl::Short)],
            "an hour would cost 15750 more than as sent"
        );
    }

    #[test]
    fn the_set_keeps_to_its_slots_and_to_the_client() {
        let candidates: Vec<Candidate> = (0..8)
            .map(|index| {
                let chance = 0.9 - 0.08 * index as f64;
                candidate(index, 2000 * (index as u64 + 1), chance, chance)
            })
            .collect();
        assert_eq!(choose(&candidates, 4, &judge()).len(), 4);
        let mut candidates = [candidate(0, 4000, 0.9, 0.9), candidate(1, 4000, 0.9, 0.9)];
        candidates[0].client = Some(Ttl::Short);
        assert_eq!(choose(&candidates, 4, &judge()), [(0, Ttl::Short)]);
    }
}
