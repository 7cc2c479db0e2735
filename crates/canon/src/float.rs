//! The text of a double: shortest digits that read back the same, in the notation of each profile.

use crate::integer::put_integer;
use crate::write::Sink;

/// As CPython's `repr` prints it: positional while the decimal exponent is in `-4..16`, always with a
/// fraction, otherwise scientific with a sign and at least two exponent digits.
#[must_use]
pub fn python_float(value: f64) -> String {
    let mut text = String::new();
    put_python_float(value, &mut text);
    text
}

/// As ECMAScript's `Number::toString` prints it, which is what RFC 8785 asks for. NaN and the infinities
/// have no RFC 8785 form; they print as `null`, as ECMAScript's `JSON.stringify` does.
#[must_use]
pub fn js_float(value: f64) -> String {
    let mut text = String::new();
    put_js_float(value, &mut text);
    text
}

/// [`python_float`], straight into `sink`.
pub(crate) fn put_python_float(value: f64, sink: &mut impl Sink) {
    if value.is_nan() {
        return sink.put("NaN");
    }
    if value.is_infinite() {
        return sink.put(if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    if put_short_decimal(value, sink) {
        return;
    }
    let mut buffer = ryu::Buffer::new();
    let shortest = buffer.format_finite(value);
    let unsigned = shortest.trim_start_matches('-');
    if let Some((mantissa, exponent)) = shortest.split_once('e') {
        sink.put(mantissa);
        let digits = exponent.trim_start_matches('-');
        sink.put(if digits.len() < exponent.len() { "e-" } else { "e+" });
        if digits.len() < 2 {
            sink.put("0");
        }
        sink.put(digits);
    } else if let Some(digits) = unsigned.strip_prefix("0.0000") {
        // The exponent -5 is the one that ryu still writes in positions and `repr` does not.
        let (first, rest) = digits.split_at(1);
        sink.put(&shortest[..shortest.len() - unsigned.len()]);
        sink.put(first);
        if !rest.is_empty() {
            sink.put(".");
            sink.put(rest);
        }
        sink.put("e-05");
    } else {
        sink.put(shortest);
    }
}

/// Writes a number that has at most three digits before its point and three behind it, as temperatures and
/// factors do; `false` for any other number, of which it writes nothing.
///
/// The quotient of two exact integers is the double nearest to the decimal, and no two decimals of so few
/// digits share a double: when it is `value`, the decimal without its last zeros is the shortest there is.
fn put_short_decimal(value: f64, sink: &mut impl Sink) -> bool {
    if !(0.001..1000.0).contains(&value) {
        return false;
    }
    let thousandths = (value * 1000.0 + 0.5) as u32;
    if f64::from(thousandths) / 1000.0 != value {
        return false;
    }
    put_integer(i64::from(thousandths / 1000), sink);
    let fraction = thousandths % 1000;
    let digits = [fraction / 100, fraction / 10 % 10, fraction % 10].map(|digit| b'0' + digit as u8);
    let length = 3 - digits.iter().skip(1).rev().take_while(|digit| **digit == b'0').count();
    sink.put(".");
    // Digits are ASCII.
    sink.put(std::str::from_utf8(&digits[..length]).unwrap_or_default());
    true
}

/// [`js_float`], straight into `sink`.
pub(crate) fn put_js_float(value: f64, sink: &mut impl Sink) {
    if value.is_finite() {
        sink.put(ryu_js::Buffer::new().format_finite(value));
    } else {
        sink.put("null");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_notation_switches_at_the_same_exponents_as_repr() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.7, "0.7"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-0.000012345, "-1.2345e-05"),
            (0.000099999, "9.9999e-05"),
            (-1e-6, "-1e-06"),
            (1e100, "1e+100"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (100000.0, "100000.0"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (0.1 + 0.2, "0.30000000000000004"),
            (12345.678, "12345.678"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(python_float(value), text);
        }
    }

    #[test]
    fn short_decimals_are_written_as_the_shortest_digits() {
        let neighbours = |value: f64| [value, value.next_up(), value.next_down()];
        for thousandths in 0..=1_001_000 {
            for value in neighbours(f64::from(thousandths) / 1000.0) {
                let mut short = String::new();
                if put_short_decimal(value, &mut short) {
                    assert_eq!(short, ryu::Buffer::new().format_finite(value));
                }
            }
        }
        for value in [0.7, 1.5, 0.001, 999.999, 1.0] {
            assert!(put_short_decimal(value, &mut String::new()), "{value}");
        }
    }
}
