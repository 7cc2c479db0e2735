//! Lengths of time as people write them: `90s`, `30m`, `12h`, `90d`, `2w`.

use std::str::FromStr;
use std::time::Duration;

use stave_canon::Timestamp;

use crate::exit::Stop;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period(Duration);

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Period, String> {
        let fault = || format!("`{text}` is not a period such as 90s, 30m, 12h, 90d or 2w");
        let end = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(fault)?;
        let (count, unit) = text.split_at(end);
        let seconds: u64 = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 60 * 60,
            "d" => 24 * 60 * 60,
            "w" => 7 * 24 * 60 * 60,
            _ => return Err(fault()),
        };
        let count: u64 = count.parse().map_err(|_| fault())?;
        Ok(Period(Duration::from_secs(count.checked_mul(seconds).ok_or_else(fault)?)))
    }
}

impl Period {
    pub(crate) fn after(self, now: Timestamp) -> Result<Timestamp, Stop> {
        now.checked_add(self.0).map_err(|_| Stop::invalid("the period ends after the calendar does"))
    }

    pub(crate) fn before(self, now: Timestamp) -> Result<Timestamp, Stop> {
        now.checked_sub(self.0).map_err(|_| Stop::invalid("the period begins before the calendar does"))
    }
}

/// A period before now, or a time.
pub(crate) fn time_of(text: &str, now: Timestamp) -> Result<Timestamp, Stop> {
    if let Ok(period) = text.parse::<Period>() {
        return period.before(now);
    }
    text.parse().map_err(|_| {
        Stop::invalid(format!("`{text}` is neither a period nor a time"))
            .help("write a period such as 24h or 7d, or a time such as 2026-11-01T00:00:00Z")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_a_count_and_a_unit() {
        for (text, seconds) in
            [("0s", 0), ("90s", 90), ("2m", 120), ("3h", 10_800), ("1d", 86_400), ("2w", 1_209_600)]
        {
            assert_eq!(text.parse(), Ok(Period(Duration::from_secs(seconds))), "{text}");
        }
        for text in
            ["", "5", "d", "-1d", "1.5h", "1 d", "99999999999999999999d", "9999999999999999999w", "5x"]
        {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }
}
