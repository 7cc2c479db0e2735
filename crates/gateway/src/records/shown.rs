//! Numbers of the evidence as people read them.

/// Dollars with as many digits as the amount deserves.
#[must_use]
pub fn money(nanodollars: i64) -> String {
    let sign = if nanodollars < 0 { "-" } else { "" };
    let dollars = nanodollars.unsigned_abs() as f64 / 1e9;
    let digits = match dollars {
        amount if amount >= 100.0 => 0,
        amount if amount >= 0.1 || amount == 0.0 => 2,
        amount if amount >= 0.001 => 4,
        _ => 6,
    };
    format!("{sign}${dollars:.digits$}")
}

/// Dollars, or that no price is known.
#[must_use]
pub fn known_money(nanodollars: Option<i64>) -> String {
    nanodollars.map_or_else(|| "unpriced".to_owned(), money)
}

/// A count with its thousands set apart.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Tokens in thousands or millions once there are many.
#[must_use]
pub fn tokens(number: u64) -> String {
    match number {
        10_000_000.. => format!("{:.1}\u{202f}M", number as f64 / 1e6),
        100_000.. => format!("{:.0}\u{202f}k", number as f64 / 1e3),
        _ => count(number),
    }
}

/// A part of one, in percent.
#[must_use]
pub fn percent(part: f64) -> String {
    let percent = (part * 1000.0).round() / 10.0;
    if percent.fract() == 0.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// A duration in microseconds, in the unit that suits it.
#[must_use]
pub fn milliseconds(microseconds: u64) -> String {
    let milliseconds = microseconds as f64 / 1e3;
    match milliseconds {
        amount if amount >= 1_000.0 => format!("{:.1} s", amount / 1e3),
        amount if amount >= 10.0 => format!("{amount:.0} ms"),
        amount => format!("{amount:.2} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_long_as_they_deserve() {
        let table = [
            (0, "$0.00"),
            (1_000, "$0.000001"),
            (12_345_678, "$0.0123"),
            (1_234_567_890, "$1.23"),
            (-2_500_000_000, "-$2.50"),
            (123_456_000_000_000, "$123456"),
        ];
        for (nanodollars, expected) in table {
            assert_eq!(money(nanodollars), expected);
        }
        assert_eq!(
            [count(7), count(1234), count(1_234_567)],
            ["7", "1\u{202f}234", "1\u{202f}234\u{202f}567"]
        );
        assert_eq!(
            [tokens(99_999), tokens(123_456), tokens(12_345_678)],
            ["99\u{202f}999", "123\u{202f}k", "12.3\u{202f}M"]
        );
        assert_eq!([percent(0.5), percent(0.1234), percent(3.0 * 0.2)], ["50 %", "12.3 %", "60 %"]);
        assert_eq!(
            [milliseconds(42), milliseconds(12_345), milliseconds(12_345_678)],
            ["0.04 ms", "12 ms", "12.3 s"]
        );
    }
}
