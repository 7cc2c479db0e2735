//! The host of an address, for the checker and for the clients: one parser, so that both mean the same host.

use std::collections::{BTreeMap, BTreeSet};

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

/// The host and the port that a client would call at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    name: String,
    /// `None` when the address names no port and its scheme has none by default.
    port: Option<u16>,
}

impl HostPort {
    #[must_use]
    pub fn of_url(url: &Url) -> Option<HostPort> {
        let default = if url.scheme() == "opc.tcp" { Some(OPC_UA) } else { None };
        Some(HostPort { name: host_name(url)?, port: url.port_or_known_default().or(default) })
    }

    #[must_use]
    pub fn of(address: &str) -> Option<HostPort> {
        HostPort::of_url(&Url::parse(address).ok()?)
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The entries of a list that mean this host, the most exact first: one with its port, and one without a port,
    /// which means every port.
    pub fn entries(&self) -> impl Iterator<Item = String> {
        let with_port = self.port.map(|port| with_port(&self.name, port));
        with_port.into_iter().chain([self.name.clone()])
    }

    #[must_use]
    pub fn is_in(&self, list: &BTreeSet<String>) -> bool {
        self.entries().any(|entry| list.contains(&entry))
    }

    /// What a table says about this host; the entry with the port decides before the one without.
    #[must_use]
    pub fn find<'t, V>(&self, table: &'t BTreeMap<String, V>) -> Option<&'t V> {
        self.entries().find_map(|entry| table.get(&entry))
    }

    /// The host as a message about a list names it: with its port when the list has another port of the same host.
    #[must_use]
    pub fn shown_beside<'l>(&self, list: impl IntoIterator<Item = &'l String>) -> String {
        let is_other_port = |entry: &String| *entry != self.name && entry_name(entry) == self.name;
        match self.port {
            Some(port) if list.into_iter().any(is_other_port) => with_port(&self.name, port),
            _ => self.name.clone(),
        }
    }
}

/// The port of OPC UA over TCP, which the URL parser does not know.
const OPC_UA: u16 = 4840;

fn with_port(name: &str, port: u16) -> String {
    if name.contains(':') { format!("[{name}]:{port}") } else { format!("{name}:{port}") }
}

/// The host of a list's entry, without its port.
#[must_use]
pub fn entry_name(entry: &str) -> &str {
    match split_port(entry) {
        (host, Some(_)) => host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host),
        (host, None) => host,
    }
}

/// Splits `HOST:PORT`. The colons of an IPv6 address outside brackets are no ports.
fn split_port(entry: &str) -> (&str, Option<&str>) {
    match entry.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (entry, None),
    }
}

/// The address of a plant in the form in which addresses are compared: the host in small letters, the port always there.
#[must_use]
pub fn plant_address(address: &str) -> Option<String> {
    let url = Url::parse(address).ok().filter(|url| url.scheme() == "opc.tcp")?;
    let host = url.host_str()?.to_ascii_lowercase();
    let path = url.path().trim_end_matches('/');
    Some(format!("opc.tcp://{host}:{}{path}/", url.port().unwrap_or(4840)))
}

/// The host of an address that may have `${…}`, when the text alone decides it: scheme, two slashes, a plain
/// host and the end of the host precede the first placeholder. `None` for everything else, also for a
/// spelling that parsers read leniently: it then counts as a host that nobody named.
#[must_use]
pub fn written_host(address: &str) -> Option<HostPort> {
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
    HostPort::of(&format!("{scheme}://{authority}/"))
}

/// An entry of a list, `HOST` or `HOST:PORT`, as [`HostPort::entries`] writes it; `None` when it is neither.
#[must_use]
pub fn listed_host(entry: &str) -> Option<String> {
    let (host, port) = split_port(entry.trim());
    // An address, a pattern or a user would be read as the name of some other host.
    if host.is_empty() || host.contains(['/', '\\', '?', '#', '@', '*', '%']) {
        return None;
    }
    let name = host_of(&format!("http://{host}/")).or_else(|| host_of(&format!("http://[{host}]/")))?;
    match port {
        None => Some(name),
        Some(port) => {
            let port = port
                .parse()
                .ok()
                .filter(|number: &u16| *number > 0 && port.starts_with(|c: char| c != '+'))?;
            Some(with_port(&name, port))
        }
    }
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
            let written = written_host(address);
            assert_eq!(written.as_ref().map(HostPort::name), host, "{address}");
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
            ("[::1]", "::1"),
            ("[::1]:80", "[::1]:80"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("API.example.com:443", "api.example.com:443"),
            ("0x7f.1:080", "127.0.0.1:80"),
        ] {
            assert_eq!(listed_host(listed).as_deref(), Some(host));
            assert_eq!(listed_host(host).as_deref(), Some(host), "an entry is written one way");
        }
        for refused in ["", ":80", "a.example:", "a.example:0", "a.example:65536", "a.example:+80", "a:b"] {
            assert_eq!(listed_host(refused), None, "{refused}");
        }
        for refused in ["https://a.example", "a.example/v1", "user@a.example", "*.example", "a b.example"] {
            assert_eq!(listed_host(refused), None, "{refused}");
        }
    }

    #[test]
    fn an_entry_with_a_port_means_that_port_only() {
        let list = |entry: &str| BTreeSet::from([listed_host(entry).unwrap()]);
        for (entry, address, is_meant) in [
            ("a.example", "https://a.example:8443/", true),
            ("a.example:8443", "https://A.example.:8443/", true),
            ("a.example:8443", "https://a.example/", false),
            ("a.example:443", "https://a.example/", true),
            ("a.example:443", "http://a.example/", false),
            ("a.example:80", "http://a.example/", true),
            ("[::1]:7801", "http://[::1]:7801/", true),
            ("[::1]:7801", "http://[::1]:7802/", false),
            ("::1", "http://[::1]:7802/", true),
            ("plant.example:4840", "opc.tcp://plant.example", true),
            ("plant.example:4841", "opc.tcp://plant.example", false),
        ] {
            let host = HostPort::of(address).unwrap();
            assert_eq!(host.is_in(&list(entry)), is_meant, "{entry} {address}");
        }
        let host = HostPort::of("http://a.example:81/").unwrap();
        let table = BTreeMap::from([("a.example".to_owned(), 1), ("a.example:81".to_owned(), 2)]);
        assert_eq!(host.find(&table), Some(&2), "the entry with the port decides");
        assert_eq!(host.shown_beside(&list("a.example:80")), "a.example:81");
        assert_eq!(host.shown_beside(&list("b.example:80")), "a.example");
    }
}
