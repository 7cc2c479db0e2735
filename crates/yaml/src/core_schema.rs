//! What a plain scalar means in the YAML 1.2 core schema.

use stave_canon::Number;

/// A plain scalar's meaning.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plain {
    Null,
    Bool(bool),
    Number(Number),
    /// A number that JSON cannot hold: infinite, not a number, or past a double's range.
    NotJson,
    String,
}

pub(crate) fn resolve(text: &str) -> Plain {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Plain::Null,
        "true" | "True" | "TRUE" => return Plain::Bool(true),
        "false" | "False" | "FALSE" => return Plain::Bool(false),
        _ => {}
    }
    // Every number begins with one of these, so that most strings are settled by one look.
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return Plain::String;
    }
    integer(text).map(Plain::Number).or_else(|| float(text)).unwrap_or(Plain::String)
}

pub(crate) fn integer(text: &str) -> Option<Number> {
    let radix = |digits: &str, radix: u32| {
        let all = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        all.then(|| u64::from_str_radix(digits, radix).ok()).flatten().map(Number::from)
    };
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Leading zeros mean nothing here, and JSON has none.
    match digits.trim_start_matches('0') {
        "" => Some(Number::Int(0)),
        digits => Number::integer(&format!("{sign}{digits}")),
    }
}

pub(crate) fn float(text: &str) -> Option<Plain> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Plain::NotJson);
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !(mantissa_fits && exponent_fits) {
        return None;
    }
    let value: f64 = text.strip_prefix('+').unwrap_or(text).parse().ok()?;
    Some(if value.is_finite() { Plain::Number(Number::Float(value)) } else { Plain::NotJson })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_older_yaml_are_strings() {
        for word in
            ["yes", "no", "on", "off", "y", "n", "Yes", "OFF", "0b11", "1_000", "12:30", "-", ".", "+"]
        {
            assert_eq!(resolve(word), Plain::String, "{word}");
        }
    }

    #[test]
    fn integers_are_exact_and_never_octal_by_surprise() {
        let big = "123456789012345678901234567890";
        let table: [(&str, Number); 7] = [
            ("017", Number::Int(17)),
            ("0o17", Number::Int(15)),
            ("0xff", Number::Int(255)),
            ("+5", Number::Int(5)),
            ("-0", Number::Int(0)),
            ("9223372036854775808", Number::Big("9223372036854775808".into())),
            (big, Number::Big(big.into())),
        ];
        for (text, number) in table {
            assert_eq!(resolve(text), Plain::Number(number), "{text}");
        }
    }

    #[test]
    fn floats_that_json_can_not_hold_are_told_apart() {
        for text in [".inf", "-.inf", ".nan", "1e999"] {
            assert_eq!(resolve(text), Plain::NotJson, "{text}");
        }
        for (text, value) in [("1.0", 1.0), (".5", 0.5), ("1.", 1.0), ("-2e-3", -0.002), ("+1.5", 1.5)] {
            assert_eq!(resolve(text), Plain::Number(Number::Float(value)), "{text}");
        }
    }
}
