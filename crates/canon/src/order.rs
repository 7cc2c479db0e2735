//! The order in which an object's members are written.

use crate::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Insertion,
    CodePoint,
    /// As RFC 8785 compares keys: by UTF-16 code unit, which differs beyond the basic plane.
    Utf16,
}

/// A member on its way into order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'v> {
    /// The key's first eight bytes as a number that compares as they do. Most keys differ there, and the
    /// rest of the key is then not looked at.
    beginning: u64,
    pub(crate) key: &'v str,
    pub(crate) value: &'v Value,
}

impl<'v> Member<'v> {
    pub(crate) fn new((key, value): (&'v String, &'v Value)) -> Self {
        let bytes = key.as_bytes();
        let beginning = bytes.first_chunk().map_or_else(
            // Zeros after a short key may make it equal to a longer one, but never greater.
            || {
                let number = bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte));
                number.unbounded_shl(64 - 8 * bytes.len() as u32)
            },
            |chunk| u64::from_be_bytes(*chunk),
        );
        Member { beginning, key, value }
    }
}

/// Sorts the members of one object.
pub(crate) fn sort(members: &mut [Member<'_>], order: Order) {
    match order {
        Order::Insertion => {}
        Order::CodePoint => sort_by_code_point(members),
        // Without characters outside ASCII, code units compare as code points do.
        Order::Utf16 if members.iter().all(|member| member.key.is_ascii()) => sort_by_code_point(members),
        Order::Utf16 => {
            members.sort_unstable_by(|left, right| left.key.encode_utf16().cmp(right.key.encode_utf16()));
        }
    }
}

/// The bytes of UTF-8 compare in the same order as their code points.
fn sort_by_code_point(members: &mut [Member<'_>]) {
    members.sort_unstable_by(|left, right| {
        left.beginning.cmp(&right.beginning).then_with(|| left.key.cmp(right.key))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(keys: &[String], order: Order) -> Vec<&str> {
        const VALUE: &Value = &Value::Null;
        let mut members: Vec<Member<'_>> = keys.iter().map(|key| Member::new((key, VALUE))).collect();
        sort(&mut members, order);
        members.iter().map(|member| member.key).collect()
    }

    #[test]
    fn keys_with_a_common_beginning_are_told_apart() {
        let ascending = [
            "",
            "\0",
            "\0\0",
            "a",
            "a\0",
            "a\0\0\0\0\0\0\0",
            "a\0\0\0\0\0\0\0\0",
            "ab",
            "abcdefg",
            "abcdefgh",
            "abcdefgh\0",
            "abcdefgha",
            "abcdefghb",
            "abcdefgi",
            "b",
            "\u{7f}",
            "\u{80}",
            "\u{e000}",
            "\u{1f600}",
        ];
        let descending: Vec<String> = ascending.iter().rev().map(|key| (*key).to_owned()).collect();
        assert_eq!(sorted(&descending, Order::CodePoint), ascending);
    }

    #[test]
    fn utf_16_puts_characters_beyond_the_basic_plane_before_the_last_of_it() {
        let keys = ["\u{ff5e}", "\u{1f600}", "z", "\u{e9}"].map(str::to_owned);
        assert_eq!(sorted(&keys, Order::Utf16), ["z", "\u{e9}", "\u{1f600}", "\u{ff5e}"]);
        assert_eq!(sorted(&keys, Order::CodePoint), ["z", "\u{e9}", "\u{ff5e}", "\u{1f600}"]);
    }
}
