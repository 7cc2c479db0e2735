//! Numbers without a pattern that are the same every time.

#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = Random(seed ^ 0x9E37_79B9_7F4A_7C15);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).expect("below a usize")
    }

    pub(crate) fn words(&mut self, bytes: usize) -> String {
        const WORDS: [&str; 12] = [
            "river", "stone", "über", "lantern", "quiet", "seven", "ocean", "maple", "日本", "ember",
            "north", "glass",
        ];
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(WORDS[self.below(WORDS.len())]);
            text.push(' ');
        }
        text
    }
}
