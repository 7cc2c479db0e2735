//! Numbers that can be told from others by their digits: payment cards and bank accounts.
//!
//! Invariant: a number is a card's only if an issuer numbers cards of its length so. The check digit alone holds for every
//! tenth number, and for the serial numbers of phones.

use std::ops::RangeInclusive;

/// Which numbers begin a card's, as their first six digits, and how many digits such cards have. Issuers publish these
/// ranges; ISO/IEC 7812 has the form.
const ISSUERS: [(RangeInclusive<u32>, &[usize]); 25] = [
    // Visa.
    (400_000..=499_999, &[13, 16, 19]),
    // Mastercard.
    (222_100..=272_099, &[16]),
    (510_000..=559_999, &[16]),
    // American Express.
    (340_000..=349_999, &[15]),
    (370_000..=379_999, &[15]),
    // Diners Club.
    (300_000..=305_999, &[14, 16, 19]),
    (309_500..=309_599, &[14, 16, 19]),
    (360_000..=369_999, &[14, 16, 19]),
    (380_000..=399_999, &[14, 16, 19]),
    // JCB.
    (352_800..=358_999, &[16, 17, 18, 19]),
    // Discover, and RuPay, which shares some of its ranges.
    (601_100..=601_199, &[16, 17, 18, 19]),
    (644_000..=659_999, &[16, 17, 18, 19]),
    (606_900..=606_999, &[16]),
    (607_000..=608_999, &[16]),
    (508_000..=508_999, &[16]),
    (817_200..=820_199, &[16]),
    // UnionPay.
    (620_000..=629_999, &[16, 17, 18, 19]),
    (810_000..=817_199, &[16, 17, 18, 19]),
    // Maestro.
    (501_800..=501_899, &[13, 14, 15, 16, 17, 18, 19]),
    (502_000..=502_099, &[13, 14, 15, 16, 17, 18, 19]),
    (503_800..=503_899, &[13, 14, 15, 16, 17, 18, 19]),
    (589_300..=589_399, &[13, 14, 15, 16, 17, 18, 19]),
    (630_400..=630_499, &[13, 14, 15, 16, 17, 18, 19]),
    (675_900..=676_399, &[13, 14, 15, 16, 17, 18, 19]),
    // Mir.
    (220_000..=220_499, &[16, 17, 18, 19]),
];

/// Whether a number is one of a payment card: its issuer, its length and its check digit.
pub(crate) fn payment_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(10)).collect();
    let first = digits.iter().take(6).fold(0, |number, digit| number * 10 + digit);
    let is_issued = |(range, lengths): &(RangeInclusive<u32>, &[usize])| {
        range.contains(&first) && lengths.contains(&digits.len())
    };
    luhn(&digits) && ISSUERS.iter().any(is_issued)
}

/// The check digit of card numbers.
fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match (index % 2, digit * 2) {
            (0, _) => *digit,
            (_, doubled) => doubled / 10 + doubled % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// The check number of international bank accounts.
pub(crate) fn iban(text: &str) -> bool {
    let plain: Vec<char> = text.chars().filter(|letter| *letter != ' ').collect();
    let Some((head, tail)) = plain.split_at_checked(4) else { return false };
    let remainder = tail.iter().chain(head).try_fold(0_u32, |remainder, letter| {
        let value = letter.to_digit(36)?;
        Some((remainder * if value > 9 { 100 } else { 10 } + value) % 97)
    });
    (15..=34).contains(&plain.len()) && remainder == Some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number with the check digit that makes it hold.
    fn held(start: &str, length: usize) -> String {
        let body = format!("{start:0<width$}", width = length - 1);
        let digit = |last: u32| format!("{body}{last}");
        let digits = |text: &str| text.chars().filter_map(|digit| digit.to_digit(10)).collect::<Vec<u32>>();
        (0..10).map(digit).find(|number| luhn(&digits(number))).unwrap_or_default()
    }

    #[test]
    fn a_card_has_the_length_that_its_issuer_gives_it() {
        for (start, lengths) in [
            ("4", vec![13, 16, 19]),
            ("51", vec![16]),
            ("2221", vec![16]),
            ("34", vec![15]),
            ("36", vec![14, 16, 19]),
            ("3528", vec![16, 17, 18, 19]),
            ("35", vec![]),
            ("6011", vec![16, 17, 18, 19]),
            ("86", vec![]),
            ("2721", vec![]),
        ] {
            let valid: Vec<usize> = (13..20).filter(|length| payment_card(&held(start, *length))).collect();
            assert_eq!(valid, lengths, "{start}");
        }
    }
}
