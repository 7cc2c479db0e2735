//! The text of a double: shortest digits that read back the same, in the notation of each profile.

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
}
