//! How often to try again and how long to wait: a fixed wait or exponential bounds with full jitter, and the other side's
//! wish.

use std::time::Duration;

use crate::RetrySpacing;

/// When and how often to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts after the first one.
    pub retries: u32,
    /// With [`RetrySpacing::Fixed`] every wait; else the first wait is drawn from zero to this, and the bound doubles with
    /// each further wait.
    pub backoff: Duration,
    pub spacing: RetrySpacing,
    /// No drawn wait is longer.
    pub cap: Duration,
    /// The longest wait the other side may ask for. When it asks for more, the work fails at once, since an
    /// earlier attempt would be turned away.
    pub longest_retry_after: Duration,
}

/// What a policy has to know about a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptFailure {
    /// Whether another attempt could succeed.
    pub may_pass: bool,
    /// How long the other side asked to wait.
    pub retry_after: Option<Duration>,
}

impl RetryPolicy {
    /// How long to wait before the next attempt, after `attempts` of them failed, the last one with `failure`;
    /// `None` when there is no further attempt. `draw` is a random number that places the wait within its bound.
    #[must_use]
    pub fn wait(&self, attempts: u32, failure: AttemptFailure, draw: u64) -> Option<Duration> {
        if !failure.may_pass || attempts > self.retries {
            return None;
        }
        // A fixed wait is what the document says, so the other side may ask for a longer one only.
        let least = match self.spacing {
            RetrySpacing::Fixed => self.backoff,
            RetrySpacing::ExponentialJitter => Duration::ZERO,
        };
        if let Some(wish) = failure.retry_after {
            return (wish <= self.longest_retry_after).then_some(wish.max(least));
        }
        if self.spacing == RetrySpacing::Fixed {
            return Some(self.backoff);
        }
        let doublings = attempts.saturating_sub(1);
        let bound = self.backoff.saturating_mul(2_u32.saturating_pow(doublings)).min(self.cap);
        // Half a millennium is long enough, and the product then fits into 128 bits.
        let nanoseconds = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        let drawn = (u128::from(nanoseconds) * u128::from(draw)) >> 64;
        Some(Duration::from_nanos(u64::try_from(drawn).unwrap_or(nanoseconds)))
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            retries: 1,
            backoff: Duration::from_millis(500),
            spacing: RetrySpacing::ExponentialJitter,
            cap: Duration::from_secs(30),
            longest_retry_after: Duration::from_secs(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Jitter;

    const PASSING: AttemptFailure = AttemptFailure { may_pass: true, retry_after: None };

    #[test]
    fn waits_double_stay_under_the_cap_and_repeat_with_the_seed() {
        let policy = RetryPolicy { retries: 99, ..RetryPolicy::default() };
        let waits = |seed| {
            let mut jitter = Jitter::seeded(seed);
            (1..41).filter_map(|n| policy.wait(n, PASSING, jitter.draw())).collect::<Vec<_>>()
        };
        assert_eq!(waits(7), waits(7));
        assert_ne!(waits(7), waits(8));
        for (number, wait) in waits(7).into_iter().enumerate() {
            let bound = policy.backoff * 2_u32.saturating_pow(number.min(20) as u32);
            assert!(wait <= bound.min(policy.cap), "wait {number} is {wait:?}");
        }
        let late: Duration = waits(7).into_iter().skip(10).sum();
        assert!(late > policy.cap * 5, "full jitter averages half the cap, but thirty waits sum to {late:?}");
    }

    #[test]
    fn attempts_end_after_the_retries_and_after_a_failure_that_stays() {
        let policy = RetryPolicy { retries: 2, ..RetryPolicy::default() };
        assert_eq!(policy.wait(1, PASSING, 0), Some(Duration::ZERO));
        assert!(policy.wait(2, PASSING, u64::MAX).is_some());
        assert_eq!(policy.wait(3, PASSING, 0), None);
        assert_eq!(policy.wait(1, AttemptFailure { may_pass: false, retry_after: None }, 0), None);
        let none = RetryPolicy { retries: 0, ..policy };
        assert_eq!(none.wait(1, PASSING, 0), None);
    }

    #[test]
    fn a_wish_replaces_the_draw_within_patience() {
        let policy = RetryPolicy::default();
        let wait = |wish| policy.wait(1, AttemptFailure { retry_after: Some(wish), ..PASSING }, 1);
        assert_eq!(wait(Duration::ZERO), Some(Duration::ZERO));
        assert_eq!(wait(Duration::from_secs(60)), Some(Duration::from_secs(60)));
        assert_eq!(wait(Duration::from_secs(61)), None);
    }

    #[test]
    fn a_fixed_wait_is_the_backoff_whatever_is_drawn_and_only_grows_by_a_wish() {
        let backoff = Duration::from_secs(45);
        let policy =
            RetryPolicy { retries: 4, backoff, spacing: RetrySpacing::Fixed, ..RetryPolicy::default() };
        for (attempts, draw) in [(1, 0), (2, u64::MAX), (3, 7), (4, u64::MAX / 2)] {
            assert_eq!(policy.wait(attempts, PASSING, draw), Some(backoff));
        }
        assert_eq!(policy.wait(5, PASSING, 0), None);
        let wait = |wish| policy.wait(1, AttemptFailure { retry_after: Some(wish), ..PASSING }, 1);
        assert_eq!(wait(Duration::ZERO), Some(backoff));
        assert_eq!(wait(Duration::from_secs(60)), Some(Duration::from_secs(60)));
        assert_eq!(wait(Duration::from_secs(61)), None);
    }

    #[test]
    fn no_setting_makes_a_wait_overflow() {
        let policy = RetryPolicy {
            retries: u32::MAX,
            backoff: Duration::MAX,
            cap: Duration::MAX,
            ..RetryPolicy::default()
        };
        assert!(policy.wait(u32::MAX, PASSING, u64::MAX).is_some());
    }
}
