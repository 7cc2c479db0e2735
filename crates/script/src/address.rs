//! The host of an address, for the checker and for the clients: one parser, so that both mean the same host.

use url::{Host, Url};

use crate::interpolation::{self, Segment};

/// The host of a URL as lists have it: in small letters, without brackets and without a dot at its end.
#[must_use]
pub fn host_name(url: &Url) -> Option<String> {
    Some(match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.').to_ascii_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    })
}

/// The host that a client would call at an address.
#[must_use]
pub fn host_of(address: &str) -> Option<String> {
    host_name(&Url::parse(address).ok()?)
}

/// The host of an address that may have `${…}`, when the text alone decides it: scheme, two slashes, a plain
/// host and the end of the host stand before the first placeholder. `None` for everything else, also for a
/// spelling that parsers read leniently: it then counts as a host that nobody named.
#[must_use]
pub fn written_host(address: &str) -> Option<String> {
    let parsed = interpolation::parse(address).ok()?;
    let (literal, is_whole) = match parsed.segments.as_slice() {
        [Segment::Literal(only)] => (only.as_str(), true),
        [Segment::Literal(first), ..] => (first.as_str(), false),
        _ => return None,
    };
    let (scheme, rest) = literal.split_once("://")?;
    if !scheme.chars().all(|next| next.is_ascii_alphanumeric() || matches!(next, '+' | '-' | '.')) {
        return None;
    }
    let end = rest.find(['/', '?', '#']);
    let authority = match end {
        Some(end) => &rest[..end],
        None if is_whole => rest,
        None => return None,
    };
    let plain =
        |next: char| next.is_ascii_alphanumeric() || matches!(next, '.' | '-' | '_' | ':' | '[' | ']');
    if authority.is_empty() || !authority.chars().all(plain) {
        return None;
    }
    host_of(&format!("{scheme}://{authority}/"))
}

/// The name of a host in a list, as [`host_name`] writes it.
#[must_use]
pub fn listed_host(name: &str) -> String {
    let name = name.trim();
    let parsed = host_of(&format!("http://{name}/")).or_else(|| host_of(&format!("http://[{name}]/")));
    parsed.unwrap_or_else(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_written_only_when_nothing_can_change_it() {
        let table = [
            ("https://API.example.com/v1?x=${y}", Some("api.example.com")),
            ("https://api.example.com.:8443?x=${y}", Some("api.example.com")),
            ("http://127.0.0.1:80/", Some("127.0.0.1")),
            ("http://0x7f.1/", Some("127.0.0.1")),
            ("http://[::1]:80/", Some("::1")),
            ("https://example.com", Some("example.com")),
            ("opc.tcp://plant.example:4840", Some("plant.example")),
            ("https://${host}/x", None),
            ("https://a.${host}/x", None),
            ("https://example.com${rest}", None),
            ("https://example.com:${port}/", None),
            ("${url}", None),
            ("https:///x", None),
            ("http:/127.0.0.1:7801/echo?x=://localhost/", None),
            ("http:127.0.0.1/?x=://localhost/", None),
            ("http:\\\\127.0.0.1/://localhost/", None),
            ("http://localhost@127.0.0.1/", None),
            ("http://localhost\\@127.0.0.1/", None),
            ("http://local\thost/", None),
            (" http://localhost/", None),
            ("//localhost/", None),
            ("localhost", None),
        ];
        for (address, host) in table {
            assert_eq!(written_host(address).as_deref(), host, "{address}");
            if let Some(host) = host {
                let filled = address.replace("${y}", "://other.example/@other.example");
                assert_eq!(host_of(&filled).as_deref(), Some(host), "{filled}");
            }
        }
    }

    #[test]
    fn a_listed_host_is_written_as_an_address_has_it() {
        for (listed, host) in [
            ("API.Example.com.", "api.example.com"),
            ("::1", "::1"),
            ("bücher.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(listed_host(listed), host);
        }
    }
}
