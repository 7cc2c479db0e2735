//! The segments of a request's path, percent-decoded one by one.

/// The segments; `None` when one of them is no UTF-8 or holds what no name may.
pub(crate) fn segments(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix('/')?;
    path.strip_suffix('/').unwrap_or(path).split('/').map(decode).collect()
}

/// A query's pairs, decoded; those that cannot be decoded are left out.
pub(crate) fn query(query: Option<&str>) -> Vec<(String, String)> {
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    pairs
        .filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(&name.replace('+', " "))?, decode(&value.replace('+', " "))?))
        })
        .collect()
}

pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (rest.next().and_then(digit)?, rest.next().and_then(digit)?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn segments_are_decoded_after_they_are_split() {
        assert_eq!(segments("/v1/models/a%2Fb"), Some(vec!["v1".into(), "models".into(), "a/b".into()]));
        assert_eq!(segments("/v2/"), Some(vec!["v2".into()]));
        assert_eq!(segments("/%C3%A9"), Some(vec!["é".into()]));
        for broken in ["v1", "/%", "/%4", "/%zz", "/%FF", "/%00"] {
            assert_eq!(segments(broken), None, "{broken}");
        }
        assert_eq!(
            query(Some("flow=a+b&x&limit=%31")),
            [
                ("flow".to_owned(), "a b".to_owned()),
                ("x".to_owned(), String::new()),
                ("limit".to_owned(), "1".to_owned())
            ]
        );
    }

    proptest! {
        #[test]
        fn no_path_or_query_makes_it_panic(text in any::<String>()) {
            let _ = (segments(&text), query(Some(&text)));
        }
    }
}
