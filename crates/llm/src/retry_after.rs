//! How long the other side of a call asks to wait.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use stave_canon::Clock;

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
