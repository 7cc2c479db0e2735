//! A rate limit as a bucket that refills evenly over a minute.

use std::time::Duration;

use stave_canon::Timestamp;

const MINUTE: f64 = 60.0;

/// What is left of a rate. A full bucket allows a whole minute's worth at once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bucket {
    /// What was left at a time, in seconds since 1970; `None` before it was first used.
    left: Option<(f64, f64)>,
}

impl Bucket {
    /// How long until `amount` is there: nothing when it is, `None` when it never will be.
    pub(super) fn wait(&mut self, per_minute: u64, amount: u64, now: Timestamp) -> Option<Duration> {
        let (capacity, amount) = (per_minute as f64, amount as f64);
        let (left, _) = self.refill(capacity, now);
        if amount > capacity {
            return None;
        }
        let missing = (amount - left).max(0.0);
        // The clock of callers has whole milliseconds, so what is due within one is there.
        let seconds = missing / capacity * MINUTE;
        Some(if seconds < 0.000_5 { Duration::ZERO } else { Duration::from_secs_f64(seconds) })
    }

    pub(super) fn take(&mut self, amount: f64) {
        if let Some((left, _)) = &mut self.left {
            *left -= amount;
        }
    }

    fn refill(&mut self, capacity: f64, now: Timestamp) -> (f64, f64) {
        let now = now.as_microsecond() as f64 / 1e6;
        let (left, at) = self.left.unwrap_or((capacity, now));
        // A clock that goes backwards gives nothing and takes nothing.
        let passed = (now - at).max(0.0);
        let refilled = ((left + passed * capacity / MINUTE).min(capacity), now.max(at));
        self.left = Some(refilled);
        refilled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).expect("a time")
    }

    #[test]
    fn a_minutes_worth_passes_at_once_and_then_evenly() {
        let mut bucket = Bucket::default();
        for _ in 0..60 {
            assert_eq!(bucket.wait(60, 1, at(0)), Some(Duration::ZERO));
            bucket.take(1.0);
        }
        assert_eq!(bucket.wait(60, 1, at(0)), Some(Duration::from_secs(1)));
        assert_eq!(bucket.wait(60, 1, at(1_000)), Some(Duration::ZERO));
        bucket.take(1.0);
        assert_eq!(bucket.wait(60, 3, at(2_000)), Some(Duration::from_secs(2)));
    }

    #[test]
    fn more_than_a_minutes_worth_never_passes() {
        assert_eq!(Bucket::default().wait(10, 11, at(0)), None);
    }

    #[test]
    fn what_is_given_back_does_not_overfill() {
        let mut bucket = Bucket::default();
        assert_eq!(bucket.wait(10, 4, at(0)), Some(Duration::ZERO));
        bucket.take(4.0);
        bucket.take(-9.0);
        assert_eq!(bucket.wait(10, 10, at(1)), Some(Duration::ZERO));
        bucket.take(10.0);
        assert_ne!(bucket.wait(10, 1, at(2)), Some(Duration::ZERO));
    }

    #[test]
    fn a_clock_that_goes_backwards_gives_nothing() {
        let mut bucket = Bucket::default();
        bucket.wait(60, 60, at(10_000));
        bucket.take(60.0);
        assert_eq!(bucket.wait(60, 1, at(0)), Some(Duration::from_secs(1)));
        assert_eq!(bucket.wait(60, 1, at(11_000)), Some(Duration::ZERO));
    }
}
