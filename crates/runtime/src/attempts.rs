//! How long to wait between attempts.

use std::time::Duration;

/// No wait is longer, unless the other side asked for it.
const CAP: Duration = Duration::from_secs(30);
/// The longest wait that the other side may ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Exponential waits with full jitter from a seed, so that a run repeats its own timing.
#[derive(Debug, Clone)]
pub struct Backoff {
    state: u64,
    bound: Duration,
}

impl Backoff {
    #[must_use]
    pub fn new(seed: &str, backoff_ms: u32) -> Self {
        let state = seed.bytes().fold(0xcbf2_9ce4_8422_2325, |state: u64, byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Backoff { state, bound: Duration::from_millis(backoff_ms.into()) }
    }

    /// The wait before the next attempt: what the other side asked for, or a draw from zero to a bound
    /// that doubles each time.
    pub fn next(&mut self, retry_after: Option<Duration>) -> Duration {
        let bound = self.bound.min(CAP);
        self.bound = bound.saturating_mul(2);
        match retry_after {
            Some(asked) => asked.min(LONGEST_RETRY_AFTER),
            None => bound.mul_f64(self.draw()),
        }
    }

    /// A number from 0 to 1 (splitmix64).
    fn draw(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_stay_under_the_cap_and_repeat_for_the_same_seed() {
        let mut first = Backoff::new("run", 1000);
        let mut second = Backoff::new("run", 1000);
        for round in 0..20 {
            let wait = first.next(None);
            assert_eq!(wait, second.next(None));
            assert!(wait <= CAP.min(Duration::from_millis(1000 << round.min(15))));
        }
    }

    #[test]
    fn a_wait_that_was_asked_for_is_kept_within_reason() {
        let mut backoff = Backoff::new("run", 5);
        assert_eq!(backoff.next(Some(Duration::ZERO)), Duration::ZERO);
        assert_eq!(backoff.next(Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(backoff.next(Some(Duration::from_secs(9999))), LONGEST_RETRY_AFTER);
    }
}
