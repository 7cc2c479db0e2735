//! A vocabulary: its tokens in the order of their ranks, and a table that finds the rank of some bytes.
//!
//! The tokens are read where the program holds them, as `data/README.md` describes; only the table is made, once, when
//! a text is first counted with the vocabulary.

/// The rank of bytes that are no token. It is greater than every rank, so that such bytes are merged last: never.
pub(super) const NO_TOKEN: u32 = u32::MAX;

/// Spreads the bits of a hash over its upper half.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug)]
pub(super) struct Vocabulary {
    tokens: Tokens,
    /// A table with open addressing. A slot holds half of the hash of a token beside its rank plus one; zero is free.
    slots: Vec<u64>,
    /// The ranks of all tokens of two bytes, by these bytes: merging a piece begins with its pairs of bytes.
    pairs: Vec<u32>,
    /// The length of the longest token.
    longest: usize,
}

/// The tokens one after another, with the places where they begin and the end of the last.
#[derive(Debug)]
struct Tokens {
    bytes: &'static [u8],
    starts: Vec<u32>,
}

impl Tokens {
    /// Reads `count` lengths of one byte each, followed by the tokens.
    fn read(count: usize, data: &'static [u8]) -> Self {
        let (lengths, bytes) = data.split_at_checked(count).unwrap_or_default();
        let mut starts = Vec::with_capacity(count + 1);
        let mut start = 0;
        for length in lengths {
            starts.push(start);
            start += u32::from(*length);
        }
        starts.push(start);
        Self { bytes, starts }
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn get(&self, rank: usize) -> &'static [u8] {
        match (self.starts.get(rank), self.starts.get(rank + 1)) {
            (Some(start), Some(end)) => self.bytes.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        }
    }
}

impl Vocabulary {
    pub(super) fn read(count: usize, data: &'static [u8]) -> Self {
        let tokens = Tokens::read(count, data);
        // Half of the slots stay free, so that what is no token is soon known to be none.
        let mut slots = vec![0_u64; (2 * tokens.len()).next_power_of_two()];
        let mut pairs = vec![NO_TOKEN; 1 << 16];
        let mut longest = 0;
        for rank in 0..tokens.len() {
            let token = tokens.get(rank);
            longest = longest.max(token.len());
            if let [first, second] = token {
                pairs[pair(*first, *second)] = rank as u32;
            }
            let hash = hash(token);
            let mut slot = first_slot(hash, slots.len());
            while slots[slot] != 0 {
                slot = (slot + 1) & (slots.len() - 1);
            }
            slots[slot] = tag(hash) | (rank as u64 + 1);
        }
        Self { tokens, slots, pairs, longest }
    }

    /// The rank of `bytes` as one token, or [`NO_TOKEN`].
    pub(super) fn rank(&self, bytes: &[u8]) -> u32 {
        if bytes.len() > self.longest {
            return NO_TOKEN;
        }
        let hash = hash(bytes);
        let mut slot = first_slot(hash, self.slots.len());
        loop {
            let held = self.slots[slot];
            if held == 0 {
                return NO_TOKEN;
            }
            if held >> 32 == hash >> 32 {
                let rank = (held as u32) - 1;
                if self.tokens.get(rank as usize) == bytes {
                    return rank;
                }
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// The rank of two bytes as one token, or [`NO_TOKEN`].
    pub(super) fn rank_of_pair(&self, first: u8, second: u8) -> u32 {
        self.pairs[pair(first, second)]
    }

    #[cfg(test)]
    pub(super) fn tokens(&self) -> impl Iterator<Item = &'static [u8]> {
        (0..self.tokens.len()).map(|rank| self.tokens.get(rank))
    }
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

fn tag(hash: u64) -> u64 {
    hash >> 32 << 32
}

/// Where the search for a hash begins. The table is small enough for the lower half, and the tag is the upper half.
fn first_slot(hash: u64, slots: usize) -> usize {
    hash as usize & (slots - 1)
}

/// A hash of a few bytes. Nobody gains by making texts that collide: the table is the same for all texts, and its
/// longest search is bounded.
fn hash(bytes: &[u8]) -> u64 {
    let word =
        |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word));
    let half = |at: usize| {
        bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |half| u64::from(u32::from_le_bytes(*half)))
    };
    let length = bytes.len();
    let mut hash = length as u64;
    let last = match bytes {
        [] => 0,
        [one] => u64::from(*one),
        [one, two] => u64::from(*one) | u64::from(*two) << 8,
        [one, two, three] => u64::from(*one) | u64::from(*two) << 8 | u64::from(*three) << 16,
        _ if length < 8 => half(0) | half(length - 4) << 32,
        _ => {
            // The last word may repeat bytes of the one before it.
            for at in (0..length - 8).step_by(8) {
                hash = mix(hash ^ word(at));
            }
            word(length - 8)
        }
    };
    mix(hash ^ last)
}

fn mix(word: u64) -> u64 {
    let product = u128::from(word ^ SPREAD) * u128::from(SPREAD);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use stave_canon::Sha256;

    use crate::tokens::{CL100K_BASE, O200K_BASE};

    use super::*;

    /// Written as OpenAI publishes them, the tokens have the digests that OpenAI's own tokenizer expects.
    #[test]
    fn the_vocabularies_are_the_published_ones() {
        for (vocabulary, digest) in [
            (&CL100K_BASE, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
            (&O200K_BASE, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
        ] {
            let mut published = Sha256::new();
            for (rank, token) in vocabulary.tokens().enumerate() {
                let token = base64::engine::general_purpose::STANDARD.encode(token);
                published.update(format!("{token} {rank}\n").as_bytes());
            }
            assert_eq!(published.finish_hex(), digest);
        }
    }

    #[test]
    fn every_token_has_its_rank_and_other_bytes_have_none() {
        for vocabulary in [&CL100K_BASE, &O200K_BASE] {
            for (rank, token) in vocabulary.tokens().enumerate().step_by(3) {
                assert_eq!(vocabulary.rank(token), rank as u32, "{token:?}");
                if let [first, second] = token {
                    assert_eq!(vocabulary.rank_of_pair(*first, *second), rank as u32, "{token:?}");
                }
            }
            for bytes in ["", "hello world", "\u{10ffff}", &" ".repeat(129)] {
                assert_eq!(vocabulary.rank(bytes.as_bytes()), NO_TOKEN, "{bytes:?}");
            }
        }
    }
}
