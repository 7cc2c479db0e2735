//! SplitMix64 and words: small, well distributed, and the same on every machine.

#[derive(Debug, Clone)]
pub(super) struct Random(u64);

const WORDS: [&str; 48] = [
    "account", "address", "answer", "balance", "before", "billing", "caller", "carrier", "change", "claim",
    "contract", "customer", "delivery", "deposit", "discount", "every", "evidence", "first", "invoice",
    "keep", "language", "later", "manager", "message", "month", "never", "notice", "offer", "order",
    "parcel", "payment", "period", "please", "policy", "question", "reason", "receipt", "refund", "renewal",
    "reply", "request", "service", "short", "signed", "ticket", "transfer", "value", "warranty",
];

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    pub(super) fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len() as u64) as usize]
    }

    /// Words with a full stop at the end, without anything that YAML or JSON would read as syntax.
    pub(super) fn sentence(&mut self) -> String {
        let words: Vec<&str> = (0..5 + self.below(6)).map(|_| self.word()).collect();
        let mut sentence = words.join(" ");
        if let Some(first) = sentence.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        sentence + "."
    }
}
