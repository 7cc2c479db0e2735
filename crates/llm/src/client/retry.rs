//! When to try again: exponential bounds, full jitter from a seed, and the provider's own wish.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use stave_canon::Clock;

use crate::RetryPolicy;

/// A small generator of well-mixed numbers (SplitMix64). Waits need spread, not secrecy.
#[derive(Debug)]
pub struct Jitter(u64);

impl Jitter {
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Jitter(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A duration from zero to `bound`.
    fn up_to(&mut self, bound: Duration) -> Duration {
        let nanoseconds = (bound.as_nanos() * u128::from(self.next())) >> 64;
        u64::try_from(nanoseconds).map_or(bound, Duration::from_nanos)
    }
}

impl RetryPolicy {
    /// How long to wait after failure number `number` (from 0): what the other side asked for, or a draw
    /// from zero to a bound that doubles. `None` when it asks for more patience than the policy has.
    #[must_use]
    pub fn wait(&self, number: u32, retry_after: Option<Duration>, jitter: &mut Jitter) -> Option<Duration> {
        if let Some(wish) = retry_after {
            return (wish <= self.longest_retry_after).then_some(wish);
        }
        let bound = self.backoff.saturating_mul(2_u32.saturating_pow(number)).min(self.cap);
        Some(jitter.up_to(bound))
    }
}

/// The other side's wish: milliseconds, seconds or a date.
#[must_use]
pub fn retry_after(headers: &HeaderMap, clock: &dyn Clock) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse::<u64>().ok()) {
        return Some(Duration::from_millis(milliseconds));
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Duration::try_from(date.duration_since(clock.now())).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;
    use stave_canon::FixedClock;

    use super::*;

    #[test]
    fn waits_double_stay_under_the_cap_and_repeat_with_the_seed() {
        let policy = RetryPolicy { retries: 99, ..RetryPolicy::default() };
        let waits = |seed| {
            let mut jitter = Jitter::seeded(seed);
            (0..40).filter_map(|n| policy.wait(n, None, &mut jitter)).collect::<Vec<_>>()
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
    fn the_providers_wish_is_honoured_within_patience() {
        let policy = RetryPolicy::default();
        let wait = |wish| policy.wait(0, Some(wish), &mut Jitter::seeded(1));
        assert_eq!(wait(Duration::ZERO), Some(Duration::ZERO));
        assert_eq!(wait(Duration::from_secs(60)), Some(Duration::from_secs(60)));
        assert_eq!(wait(Duration::from_secs(61)), None);
    }

    #[test]
    fn a_wish_is_read_from_milliseconds_seconds_or_a_date() {
        let clock = FixedClock("2026-02-03T04:05:06Z".parse().unwrap());
        let read = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            retry_after(&headers, &clock)
        };
        assert_eq!(read("retry-after", "0"), Some(Duration::ZERO));
        assert_eq!(read("retry-after", " 12 "), Some(Duration::from_secs(12)));
        assert_eq!(read("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(read("retry-after", "Tue, 03 Feb 2026 04:05:36 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(read("retry-after", "Tue, 03 Feb 2026 04:05:00 GMT"), Some(Duration::ZERO));
        for odd in ["-1", "soon", "1e9", "Tue, 99 Feb 2026"] {
            assert_eq!(read("retry-after", odd), None, "{odd}");
        }
    }
}
