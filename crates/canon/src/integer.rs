//! The text of an integer of 64 bits, straight into a sink.

use crate::write::Sink;

/// The numbers below a hundred, two digits each.
const PAIRS: &str = "\
    00010203040506070809101112131415161718192021222324252627282930313233343536373839\
    40414243444546474849505152535455565758596061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

pub(crate) fn put_integer(value: i64, sink: &mut impl Sink) {
    if value < 0 {
        sink.put("-");
    }
    put_digits(value.unsigned_abs(), sink);
}

/// Two digits a step, the highest first; the deepest step writes one or two.
fn put_digits(value: u64, sink: &mut impl Sink) {
    if value >= 100 {
        put_digits(value / 100, sink);
    }
    let end = (value % 100) as usize * 2 + 2;
    let digits = if value < 10 { 1 } else { 2 };
    sink.put(&PAIRS[end - digits..end]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_as_the_standard_library_writes_them() {
        let powers = (0..19).flat_map(|power| {
            let power = 10_i64.pow(power);
            [power - 1, power, power + 1, 1 - power, -power, -1 - power]
        });
        for value in (-1100..1100).chain(powers).chain([i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX]) {
            let mut text = String::new();
            put_integer(value, &mut text);
            assert_eq!(text, value.to_string());
        }
    }
}
