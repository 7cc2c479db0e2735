//! The HTTP client of flows: bounded, and unable to reach what it was not allowed to.
//!
//! Invariant: a request leaves only for a host that the project lists, or, when it lists none, for a
//! public address. The address is checked after the name was resolved and on every redirect, so a name
//! that points inside cannot be used to get there.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect;
use stave_script::address::{HostPort, entry_name};
use stave_script::allow_list::http_host_refusal;
use url::{Host, Url};

use crate::hosts::Hosts;

/// Which hosts flows may call.
#[derive(Debug, Clone, Default)]
pub struct AllowList(Allowed);

#[derive(Debug, Clone, Default)]
enum Allowed {
    #[default]
    Public,
    Listed(Arc<BTreeSet<String>>),
    Everywhere,
}

/// A client that enforces an [`AllowList`].
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: reqwest::Client,
    allow: AllowList,
    hosts: Option<Arc<dyn Hosts>>,
}

#[derive(Debug, thiserror::Error)]
pub enum HttpSetupError {
    #[error("the HTTP client cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

impl AllowList {
    /// Any public host, and nothing on this machine or its networks.
    #[must_use]
    pub fn public() -> Self {
        AllowList(Allowed::Public)
    }

    /// Any host, also private ones. For requests that someone else answers than the network.
    #[must_use]
    pub fn everywhere() -> Self {
        AllowList(Allowed::Everywhere)
    }

    /// These hosts only, written as `stave_script::address::listed_host` writes them; a private one counts when it is
    /// listed.
    #[must_use]
    pub fn hosts(hosts: impl IntoIterator<Item = String>) -> Self {
        AllowList(Allowed::Listed(Arc::new(hosts.into_iter().collect())))
    }

    /// Why a URL may not be called, or `None` when it may.
    #[must_use]
    pub fn refusal(&self, url: &Url) -> Option<String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Some(format!("`{}` is not http or https", url.scheme()));
        }
        let (Some(host), Some(receiver)) = (url.host(), HostPort::of_url(url)) else {
            return Some("the address has no host".to_owned());
        };
        let address = match host {
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
            Host::Domain(_) => None,
        };
        let name = receiver.name();
        match &self.0 {
            Allowed::Everywhere => None,
            Allowed::Listed(hosts) => http_host_refusal(hosts, &receiver).map(|refusal| refusal.message),
            Allowed::Public if address.is_some_and(|address| !is_public(address)) || name == "localhost" => {
                Some(format!("host `{name}` is not public and not in `http.allow`"))
            }
            Allowed::Public => None,
        }
    }

    /// Whether some port of a host is listed. Which ports, [`AllowList::refusal`] has decided before the name is
    /// resolved.
    fn lists(&self, name: &str) -> bool {
        match &self.0 {
            Allowed::Public => false,
            Allowed::Listed(hosts) => {
                let name = name.trim_end_matches('.').to_ascii_lowercase();
                hosts.iter().any(|entry| entry_name(entry) == name)
            }
            Allowed::Everywhere => true,
        }
    }
}

impl HttpClient {
    pub fn new(allow: AllowList) -> Result<HttpClient, HttpSetupError> {
        let guarded = stave_llm::http_client(|builder| {
            // Redirects are followed by `exchange`, which knows what a request carries.
            builder
                .connect_timeout(stave_llm::CONNECT_TIMEOUT)
                .dns_resolver(Arc::new(GuardedResolver(allow.clone())))
                .redirect(redirect::Policy::none())
        })?;
        let client = guarded.client;
        Ok(HttpClient { client, allow, hosts: None })
    }

    /// With someone who answers in the place of hosts, or listens. The list of hosts holds as before.
    #[must_use]
    pub fn answered_by(self, hosts: Arc<dyn Hosts>) -> Self {
        HttpClient { hosts: Some(hosts), ..self }
    }

    pub(crate) fn hosts(&self) -> Option<&dyn Hosts> {
        self.hosts.as_deref()
    }

    /// Why a URL may not be called, or `None` when it may.
    #[must_use]
    pub fn refusal(&self, url: &Url) -> Option<String> {
        self.allow.refusal(url)
    }

    /// Whether the project names the host of this URL, rather than allowing every public one.
    #[must_use]
    pub fn lists(&self, url: &Url) -> bool {
        matches!(&self.allow.0, Allowed::Listed(_)) && self.allow.refusal(url).is_none()
    }

    #[must_use]
    pub fn client(&self) -> &reqwest::Client {
        &self.client
    }
}

/// Resolves names and drops the addresses that the allow-list does not cover.
#[derive(Debug)]
struct GuardedResolver(AllowList);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow = self.0.clone();
        Box::pin(async move {
            let listed = allow.lists(name.as_str());
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let usable: Vec<SocketAddr> = found.filter(|address| listed || is_public(address.ip())).collect();
            if usable.is_empty() {
                let message = format!("`{}` has no address that may be called", name.as_str());
                return Err(std::io::Error::other(message).into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is on the public internet: not loopback, private, link-local, shared, reserved,
/// multicast or documentation space, in either family.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => is_public_v4(mapped),
            None => {
                let [first, second, ..] = address.segments();
                // Global unicast is 2000::/3; 2001:db8::/32 is documentation, 2002::/16 wraps IPv4.
                (0x2000..0x4000).contains(&first) && !(first == 0x2001 && second == 0x0db8) && first != 0x2002
            }
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let shared = first == 100 && (64..128).contains(&second);
    let benchmark = first == 198 && (second == 18 || second == 19);
    let protocol = first == 192 && second == 0 && third == 0;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || shared
        || benchmark
        || protocol
        || first == 0
        || first >= 240)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(allow: &AllowList, url: &str) -> bool {
        allow.refusal(&Url::parse(url).unwrap()).is_some()
    }

    #[test]
    fn without_a_list_only_public_hosts_may_be_called() {
        let allow = AllowList::public();
        for inside in [
            "http://127.0.0.1/",
            "http://localhost/",
            "http://10.1.2.3/",
            "http://169.254.169.254/latest/meta-data",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[fd00::1]/",
            "http://0x7f.1/",
            "http://100.64.0.1/",
            "ftp://example.com/",
        ] {
            assert!(refused(&allow, inside), "{inside}");
        }
        assert!(!refused(&allow, "https://api.example.com/x"));
        assert!(!refused(&allow, "https://93.184.216.34/"));
    }

    #[test]
    fn with_a_list_nothing_else_may_be_called() {
        let allow = AllowList::hosts(["127.0.0.1".to_owned(), "api.example.com".to_owned()]);
        assert!(!refused(&allow, "http://127.0.0.1:8080/"));
        assert!(!refused(&allow, "https://api.example.com./"));
        assert!(refused(&allow, "https://example.com/"));
        assert!(refused(&allow, "http://127.0.0.2/"));
        let allow = AllowList::hosts(["127.0.0.1:8080".to_owned()]);
        assert!(!refused(&allow, "http://127.0.0.1:8080/"));
        assert!(refused(&allow, "http://127.0.0.1/"));
        assert!(allow.lists("127.0.0.1"), "the port is not known when a name is resolved");
    }
}
