//! A provider's cache whose entries are written at marks: what a request reads, writes and pays.
//!
//! The planner and the simulator both use this one model, so a plan is judged by the rules it was made by.
//!
//! Invariant: what is read, written and left uncached adds up to the request's tokens.

use std::collections::HashMap;

use crate::{MarkedRules, Position, PrefixHash, Ttl, WirePrompt};

/// One entry of the cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheEntry {
    pub ttl: Ttl,
    /// From when on it can be read, in seconds.
    pub readable: f64,
    pub expires: f64,
}

/// Where entries are kept.
pub trait Entries {
    fn entry(&self, prefix: PrefixHash) -> Option<CacheEntry>;
    fn put(&mut self, prefix: PrefixHash, entry: CacheEntry);
}

/// A request measured for a marked cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub prefixes: Vec<PrefixHash>,
    /// The tokens up to the end of each position.
    pub tokens: Vec<u64>,
    /// The look-back number of each position.
    pub ordinals: Vec<usize>,
    /// The fewest tokens that are cached.
    pub minimum: u64,
}

/// Input tokens of a request by what was done with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Served {
    pub read: u64,
    pub written_short: u64,
    pub written_long: u64,
    pub uncached: u64,
    /// The position of the entry that was read.
    pub read_at: Option<usize>,
}

impl CacheEntry {
    #[must_use]
    pub fn is_readable(&self, now: f64) -> bool {
        self.readable <= now && now < self.expires
    }

    /// Whether it is being written and will be readable.
    #[must_use]
    pub fn is_pending(&self, now: f64) -> bool {
        now < self.readable
    }
}

impl Measured {
    /// Measures a request at a number of bytes a token.
    #[must_use]
    pub fn new(wire: &WirePrompt, rules: &MarkedRules, bytes_per_token: f64) -> Self {
        let (mut bytes, mut media) = (0_u64, 0_u64);
        let count = |position: &Position| {
            bytes += u64::from(position.length);
            media += u64::from(position.media_tokens);
            (bytes as f64 / bytes_per_token) as u64 + media
        };
        Measured {
            prefixes: wire.positions.iter().map(|position| position.prefix).collect(),
            tokens: wire.positions.iter().map(count).collect(),
            ordinals: wire.ordinals(),
            minimum: rules.minimum(&wire.model),
        }
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.tokens.last().copied().unwrap_or(0)
    }

    /// The deepest entry that a mark at `position` reads.
    pub fn found_from(
        &self,
        position: usize,
        rules: &MarkedRules,
        mut is_readable: impl FnMut(PrefixHash) -> bool,
    ) -> Option<usize> {
        if self.tokens[position] < self.minimum {
            return None;
        }
        let reach = (0..=position)
            .rev()
            .take_while(|candidate| self.ordinals[position] - self.ordinals[*candidate] < rules.look_back);
        reach.into_iter().find(|candidate| is_readable(self.prefixes[*candidate]))
    }
}

/// Serves a request with these marks, in wire order, and leaves the entries as the provider would.
pub fn serve(
    entries: &mut dyn Entries,
    rules: &MarkedRules,
    request: &Measured,
    marks: &[(usize, Ttl)],
    now: f64,
) -> Served {
    let lifetime = |ttl: Ttl| match ttl {
        Ttl::Short => rules.short_seconds,
        Ttl::Long => rules.long_seconds,
    };
    let readable = |entries: &dyn Entries, prefix: PrefixHash| {
        entries.entry(prefix).is_some_and(|entry| entry.is_readable(now))
    };
    let found = marks
        .iter()
        .filter_map(|(mark, _)| request.found_from(*mark, rules, |prefix| readable(entries, prefix)))
        .max();
    let mut served = Served { read_at: found, ..Served::default() };
    served.read = found.map_or(0, |position| request.tokens[position]);
    // What is read lives on, and so do the marked entries on the way to it.
    let touched =
        marks.iter().map(|(mark, _)| *mark).filter(|mark| found.is_some_and(|found| *mark <= found));
    for position in touched.chain(found) {
        let prefix = request.prefixes[position];
        if let Some(entry) = entries.entry(prefix).filter(|entry| entry.is_readable(now)) {
            entries.put(prefix, CacheEntry { expires: now + lifetime(entry.ttl), ..entry });
        }
    }
    let mut covered = served.read;
    for (mark, ttl) in marks {
        let tokens = request.tokens[*mark];
        if tokens < request.minimum || found.is_some_and(|found| *mark <= found) {
            continue;
        }
        let written = tokens.saturating_sub(covered);
        match ttl {
            Ttl::Short => served.written_short += written,
            Ttl::Long => served.written_long += written,
        }
        covered = covered.max(tokens);
        let prefix = request.prefixes[*mark];
        let before = entries.entry(prefix).filter(|entry| now < entry.expires);
        let readable = now + rules.readable_after_seconds;
        let readable = before.map_or(readable, |before| before.readable.min(readable));
        entries.put(prefix, CacheEntry { ttl: *ttl, readable, expires: now + lifetime(*ttl) });
    }
    served.uncached = request.total().saturating_sub(covered);
    served
}

impl Served {
    #[must_use]
    pub fn total(&self) -> u64 {
        self.read + self.written_short + self.written_long + self.uncached
    }

    /// The cost in tokens at the plain input price.
    #[must_use]
    pub fn cost(&self, rules: &MarkedRules) -> f64 {
        self.read as f64 * rules.read
            + self.written_short as f64 * rules.write_short
            + self.written_long as f64 * rules.write_long
            + self.uncached as f64
    }
}

impl Entries for HashMap<PrefixHash, CacheEntry> {
    fn entry(&self, prefix: PrefixHash) -> Option<CacheEntry> {
        self.get(&prefix).copied()
    }

    fn put(&mut self, prefix: PrefixHash, entry: CacheEntry) {
        self.insert(prefix, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(tokens: &[u64], start: u128) -> Measured {
        let mut sum = 0;
        Measured {
            prefixes: (0..tokens.len()).map(|index| start + index as u128).collect(),
            tokens: tokens
                .iter()
                .map(|tokens| {
                    sum += tokens;
                    sum
                })
                .collect(),
            ordinals: (0..tokens.len()).collect(),
            minimum: 1000,
        }
    }

    fn served(
        entries: &mut HashMap<PrefixHash, CacheEntry>,
        request: &Measured,
        marks: &[(usize, Ttl)],
        now: f64,
    ) -> (u64, u64, u64, u64) {
        let served = serve(entries, MarkedRules::anthropic(), request, marks, now);
        assert_eq!(served.total(), request.total());
        (served.read, served.written_short, served.written_long, served.uncached)
    }

    #[test]
    fn a_write_is_read_until_it_expires_and_a_read_refreshes_it() {
        let mut entries = HashMap::new();
        let request = request(&[2000, 500], 1);
        let mark = [(0, Ttl::Short)];
        assert_eq!(served(&mut entries, &request, &mark, 0.0), (0, 2000, 0, 500));
        assert_eq!(served(&mut entries, &request, &mark, 1.0), (0, 2000, 0, 500), "still being written");
        assert_eq!(served(&mut entries, &request, &mark, 250.0), (2000, 0, 0, 500));
        assert_eq!(served(&mut entries, &request, &mark, 500.0), (2000, 0, 0, 500));
        assert_eq!(served(&mut entries, &request, &mark, 800.0), (0, 2000, 0, 500));
        assert_eq!(served(&mut entries, &request, &[], 801.0), (0, 0, 0, 2500));
    }

    #[test]
    fn what_is_below_the_minimum_is_neither_written_nor_read() {
        let mut entries = HashMap::new();
        let request = request(&[600, 600], 1);
        assert_eq!(served(&mut entries, &request, &[(0, Ttl::Short)], 0.0), (0, 0, 0, 1200));
        let both = [(0, Ttl::Short), (1, Ttl::Short)];
        assert_eq!(served(&mut entries, &request, &both, 10.0), (0, 1200, 0, 0));
        assert_eq!(served(&mut entries, &request, &both, 20.0), (1200, 0, 0, 0));
    }

    #[test]
    fn two_lifetimes_are_charged_by_their_stretch() {
        let mut entries = HashMap::new();
        let request = request(&[2000, 3000, 10], 1);
        let marks = [(0, Ttl::Long), (1, Ttl::Short)];
        assert_eq!(served(&mut entries, &request, &marks, 0.0), (0, 3000, 2000, 10));
        assert_eq!(served(&mut entries, &request, &marks, 1000.0), (2000, 3000, 0, 10));
    }

    #[test]
    fn a_mark_looks_back_so_far_and_no_further() {
        let mut entries = HashMap::new();
        let long = request(&[100; 60], 1);
        served(&mut entries, &long, &[(20, Ttl::Short)], 0.0);
        let (read, ..) = served(&mut entries.clone(), &long, &[(39, Ttl::Short)], 10.0);
        assert_eq!(read, 2100);
        let (read, ..) = served(&mut entries, &long, &[(40, Ttl::Short)], 10.0);
        assert_eq!(read, 0);
    }
}
