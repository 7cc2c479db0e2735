//! What the receivers outside a flow may be given.

use std::collections::BTreeMap;

use crate::model::Sensitivity;

/// How sensitive data may be for each receiver that the project names. One that is not named takes private
/// data at most: restricted data goes only where someone said so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes {
    /// By provider name.
    pub providers: BTreeMap<String, Sensitivity>,
    /// By host name, of HTTP requests and of models' endpoints.
    pub hosts: BTreeMap<String, Sensitivity>,
    /// By `server/tool` of tools that answer outside the flow.
    pub tools: BTreeMap<String, Sensitivity>,
    /// The provider and endpoint of prompts that name no model.
    pub default_model: Option<(String, Option<String>)>,
}

/// What a receiver takes that nobody named.
const UNNAMED: Sensitivity = Sensitivity::Private;

impl Scopes {
    /// An endpoint's own host decides before the provider whose protocol it speaks.
    #[must_use]
    pub fn model(&self, provider: &str, endpoint: Option<&str>) -> Sensitivity {
        let host = endpoint.and_then(host_of).and_then(|host| self.hosts.get(&host));
        host.or_else(|| self.providers.get(provider)).copied().unwrap_or(UNNAMED)
    }

    #[must_use]
    pub fn host(&self, host: Option<&str>) -> Sensitivity {
        host.and_then(|host| self.hosts.get(host)).copied().unwrap_or(UNNAMED)
    }

    #[must_use]
    pub fn tool(&self, name: &str) -> Sensitivity {
        self.tools.get(name).copied().unwrap_or(UNNAMED)
    }
}

/// The host of an address, in small letters; `None` where a placeholder decides it, or when the text is no
/// address.
pub(super) fn host_of(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next()?,
        None => host.split(':').next()?,
    };
    let known = !host.is_empty() && !authority.contains(['$', '{', '}']);
    known.then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_only_when_nothing_is_put_into_it() {
        let table = [
            ("https://API.example.com/v1?x=${y}", Some("api.example.com")),
            ("http://user:word@127.0.0.1:80/", Some("127.0.0.1")),
            ("http://[::1]:80/", Some("::1")),
            ("https://${host}/x", None),
            ("https://a.${host}/x", None),
            ("${url}", None),
            ("https:///x", None),
        ];
        for (address, host) in table {
            assert_eq!(host_of(address).as_deref(), host, "{address}");
        }
    }
}
