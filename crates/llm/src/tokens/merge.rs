//! Byte pair encoding: the bytes of a piece are merged, pair by pair, the pair with the lowest rank first and the
//! leftmost of equals, until no two neighbours are a token together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::{NO_TOKEN, Vocabulary};

/// Up to so many bytes, searching all pairs for the next one is faster than a heap of them.
const SHORT: usize = 96;
/// A longer piece is merged in windows, so that its memory is bounded and its time linear.
const WINDOW: usize = 4096;
/// So many bytes at the end of a window are merged again in the next one: what follows the window may change them.
const OVERLAP: usize = 256;
/// At so many tokens before the overlap the next window may begin, before larger windows are tried.
const CUTS: usize = 8;

/// Counts the tokens of pieces, and keeps the memory for the next one.
#[derive(Debug)]
pub(super) struct Merger<'a> {
    vocabulary: &'a Vocabulary,
    /// The tokens of the bytes that were merged last, by their ends.
    ends: Vec<usize>,
    parts: Vec<Part>,
    heap: BinaryHeap<Reverse<Pair>>,
}

/// A part of a piece: what is to be a token in the end.
#[derive(Debug, Clone, Copy)]
struct Part {
    start: usize,
    /// Where the parts before and after this one are, if the parts are linked.
    previous: usize,
    next: usize,
    /// The rank of this part together with the next one.
    rank: u32,
}

/// A pair of parts in the heap, by the place of its first part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    rank: u32,
    first: usize,
}

impl<'a> Merger<'a> {
    pub(super) fn new(vocabulary: &'a Vocabulary) -> Self {
        Self { vocabulary, ends: Vec::new(), parts: Vec::new(), heap: BinaryHeap::new() }
    }

    /// How many tokens `piece` is.
    pub(super) fn count(&mut self, piece: &[u8]) -> usize {
        if self.vocabulary.rank(piece) != NO_TOKEN {
            return 1;
        }
        let mut window = WINDOW;
        loop {
            if let Some(count) = self.count_in_windows(piece, window) {
                return count;
            }
            window *= 2;
        }
    }

    /// Counts tokens window by window. A window begins at the end of a token of the one before it, and the tokens on
    /// both sides of that place must be those that they are merged to without the rest: tokens whose neighbours all
    /// pass that test are the encoding of the whole. `None` if no place of a window passes it.
    fn count_in_windows(&mut self, piece: &[u8], window: usize) -> Option<usize> {
        let mut start = 0;
        let mut count = 0;
        let mut tokens = Vec::new();
        self.merge(piece.get(..window).unwrap_or(piece));
        while piece.len() - start > window {
            tokens.clear();
            tokens.append(&mut self.ends);
            let before_overlap = tokens.partition_point(|end| *end <= window - OVERLAP);
            let cut = (1..before_overlap).rev().take(CUTS).find(|cut| {
                let (token, end) = (start + tokens[cut - 1], start + tokens[*cut]);
                self.cut_is_valid(piece, token, end, window)
            })?;
            count += cut + 1;
            start += tokens[cut];
        }
        Some(count + self.ends.len())
    }

    /// Whether the token from `token` to `end` stays as it is before the window at `end`, which is merged.
    fn cut_is_valid(&mut self, piece: &[u8], token: usize, end: usize, window: usize) -> bool {
        let rest = &piece[end..];
        self.merge(rest.get(..window).unwrap_or(rest));
        let Some(first) = self.ends.first().copied() else { return true };
        let following = std::mem::take(&mut self.ends);
        self.merge(&piece[token..end + first]);
        let valid = self.ends == [end - token, end - token + first];
        self.ends = following;
        valid
    }

    /// Merges `bytes` and leaves the ends of the tokens in `self.ends`.
    fn merge(&mut self, bytes: &[u8]) {
        self.ends.clear();
        self.parts.clear();
        self.parts.extend((0..bytes.len()).map(|start| {
            Part {
                start,
                previous: start.wrapping_sub(1),
                next: start + 1,
                rank: bytes
                    .get(start + 1)
                    .map_or(NO_TOKEN, |second| self.vocabulary.rank_of_pair(bytes[start], *second)),
            }
        }));
        if bytes.len() <= SHORT {
            self.merge_by_search(bytes);
            self.ends.extend(self.parts.iter().skip(1).map(|part| part.start));
            self.ends.push(bytes.len());
        } else {
            self.merge_by_heap(bytes);
            let mut at = 0;
            while let Some(part) = self.parts.get(at) {
                self.ends.push(part.next);
                at = part.next;
            }
        }
    }

    fn merge_by_search(&mut self, bytes: &[u8]) {
        let vocabulary = self.vocabulary;
        let parts = &mut self.parts;
        let start_of = |parts: &[Part], at: usize| parts.get(at).map_or(bytes.len(), |part| part.start);
        while let Some((first, _)) = parts
            .iter()
            .enumerate()
            .min_by_key(|(_, part)| part.rank)
            .filter(|(_, part)| part.rank != NO_TOKEN)
        {
            parts.remove(first + 1);
            for at in [Some(first), first.checked_sub(1)].into_iter().flatten() {
                parts[at].rank = if at + 1 < parts.len() {
                    vocabulary.rank(&bytes[parts[at].start..start_of(parts, at + 2)])
                } else {
                    NO_TOKEN
                };
            }
        }
    }

    /// Here a part stays at the place of its first byte, and the parts are linked.
    fn merge_by_heap(&mut self, bytes: &[u8]) {
        let vocabulary = self.vocabulary;
        let parts = &mut self.parts;
        self.heap.clear();
        self.heap.extend(
            parts
                .iter()
                .filter(|part| part.rank != NO_TOKEN)
                .map(|part| Reverse(Pair { rank: part.rank, first: part.start })),
        );
        while let Some(Reverse(Pair { rank, first })) = self.heap.pop() {
            // A pair whose parts have changed since is in the heap again with its new rank.
            if parts[first].rank != rank {
                continue;
            }
            let second = parts[first].next;
            let end = parts[second].next;
            parts[first].next = end;
            parts[second].rank = NO_TOKEN;
            if let Some(following) = parts.get_mut(end) {
                following.previous = first;
            }
            for at in [first, parts[first].previous] {
                let Some(following) = parts.get(at).map(|part| part.next) else { continue };
                let rank = parts
                    .get(following)
                    .map_or(NO_TOKEN, |following| vocabulary.rank(&bytes[at..following.next]));
                parts[at].rank = rank;
                if rank != NO_TOKEN {
                    self.heap.push(Reverse(Pair { rank, first: at }));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::tokens::{CL100K_BASE, Encoding, O200K_BASE};

    use super::*;

    fn ends(vocabulary: &Vocabulary, bytes: &[u8]) -> Vec<usize> {
        let mut merger = Merger::new(vocabulary);
        merger.merge(bytes);
        merger.ends
    }

    /// The definition, word for word.
    fn ends_by_definition(vocabulary: &Vocabulary, bytes: &[u8]) -> Vec<usize> {
        let mut borders: Vec<usize> = (0..=bytes.len()).collect();
        loop {
            let pairs = borders.windows(3).enumerate();
            let ranks = pairs.map(|(at, pair)| (vocabulary.rank(&bytes[pair[0]..pair[2]]), at));
            match ranks.min() {
                Some((rank, at)) if rank != NO_TOKEN => drop(borders.remove(at + 1)),
                _ => break,
            }
        }
        borders.split_off(1)
    }

    #[test]
    fn merging_a_token_gives_that_token() {
        for vocabulary in [&CL100K_BASE, &O200K_BASE] {
            for token in vocabulary.tokens().step_by(7) {
                assert_eq!(ends(vocabulary, token), [token.len()], "{token:?}");
            }
        }
    }

    /// What another implementation, whose tests compare it with OpenAI's own, counts in these texts.
    #[test]
    fn counts_of_made_up_texts_are_the_known_ones() {
        for (alphabet, length, o200k, cl100k) in [
            ("a", 20_000, 2500, 2500),
            (" ", 5000, 40, 40),
            ("=", 5000, 78, 79),
            ("ab", 9000, 3102, 3794),
            ("aeiou", 9000, 4600, 4795),
            ("abcdefghijklmnopqrstuvwxyz", 20_000, 10_406, 10_828),
            (
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ    '0123456789.,\n",
                20_000,
                13_427,
                14_043,
            ),
            ("äöüßéèçñ ", 6000, 5240, 5450),
            ("日本語漢字かなカナ、。", 6000, 5618, 7022),
            ("абвгдежзийклмнопрст ", 6000, 3951, 4633),
            ("\u{301}\u{903}ʰǅ日aA'sſ 1\n/", 6000, 6021, 6910),
            ("😀👨\u{200d}👩🏽🇩🇪", 3000, 5129, 8129),
            (" \t\r\n\u{a0}\u{2003}x", 6000, 4405, 5238),
            ("0123456789٣½Ⅷ ", 6000, 4333, 4768),
            ("the quick brown fox ", 9000, 4244, 4397),
        ] {
            let text = made_up(alphabet, length);
            assert_eq!(Encoding::O200kBase.count(&text), o200k, "o200k {alphabet:?}");
            assert_eq!(Encoding::Cl100kBase.count(&text), cl100k, "cl100k {alphabet:?}");
        }
    }

    /// Characters of an alphabet, drawn by a generator that is always the same.
    fn made_up(alphabet: &str, length: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize
        };
        (0..length).map(|_| alphabet[next() % alphabet.len()]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn both_ways_to_merge_follow_the_definition(text in "[a-e]{1,200}|[ -~]{1,200}|.{1,100}|(the|ing| |\n){1,60}") {
            for vocabulary in [&CL100K_BASE, &O200K_BASE] {
                prop_assert_eq!(ends(vocabulary, text.as_bytes()), ends_by_definition(vocabulary, text.as_bytes()));
            }
        }

        #[test]
        fn windows_do_not_change_the_count(text in "[a-c]{700,1500}|[a-zA-Z]{700,1500}|(日|本|é|x){300,700}| {700,1500}") {
            for vocabulary in [&CL100K_BASE, &O200K_BASE] {
                let whole = ends(vocabulary, text.as_bytes()).len();
                let in_windows = Merger::new(vocabulary).count_in_windows(text.as_bytes(), 2 * OVERLAP);
                prop_assert_eq!(in_windows, Some(whole));
            }
        }
    }
}
