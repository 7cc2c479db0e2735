//! Percent encoding of names and values in addresses.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All characters but those that RFC 3986 leaves unencoded everywhere in an address.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes all characters but letters, digits, `-`, `.`, `_` and `~`, as RFC 3986 does for one part of an address.
#[must_use]
pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_are_left_as_they_are() {
        assert_eq!(percent_encode("aZ9-._~"), "aZ9-._~");
        assert_eq!(percent_encode("a/b ?&%é"), "a%2Fb%20%3F%26%25%C3%A9");
    }
}
