//! Refuses requests that a page of another site made a browser send: without keys, the gateway believes that
//! every client that can reach it may use it, and a browser can be made to reach it.

use std::net::{Ipv4Addr, Ipv6Addr};

use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderName};

use super::interface::Fault;

pub(crate) fn check(headers: &HeaderMap, has_keys: bool) -> Result<(), Fault> {
    if has_keys {
        // A page does not know the key.
        return Ok(());
    }
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    let is_own = text(header::ORIGIN).is_none_or(|origin| {
        origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
    });
    // A name that was pointed here after the browser had looked it up makes any page this one's own.
    if is_own && is_plain(host) {
        return Ok(());
    }
    let message =
        "without keys the gateway answers to addresses and to `localhost`, and to no other site's page";
    Err(Fault::new(StatusCode::FORBIDDEN, "foreign_origin", message))
}

fn is_plain(host: &str) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').is_some_and(|(address, _)| address.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.is_empty() || name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_sites_are_refused_where_there_are_no_keys() {
        let headers = |pairs: &[(&'static str, &'static str)]| -> HeaderMap {
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
        };
        for (pairs, is_let_in) in [
            (vec![("host", "127.0.0.1:8090")], true),
            (vec![("host", "[::1]:8090")], true),
            (vec![("host", "localhost")], true),
            (vec![("host", "127.0.0.1:1"), ("origin", "http://127.0.0.1:1")], true),
            (vec![("host", "127.0.0.1:1"), ("origin", "https://evil.example")], false),
            (vec![("host", "127.0.0.1:1"), ("origin", "null")], false),
            (vec![("host", "evil.example:8090")], false),
        ] {
            assert_eq!(check(&headers(&pairs), false).is_ok(), is_let_in, "{pairs:?}");
            assert!(check(&headers(&pairs), true).is_ok());
        }
    }
}
