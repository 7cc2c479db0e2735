//! Who asks, and what they may see of whom.
//!
//! Invariant: what is not the principal's is to it as if it were not there.

use std::collections::BTreeSet;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue};

use crate::keys::{Key, Keys};
use crate::problem::Problem;
use crate::roles::{Need, Role, Roles};

/// In whose name a request is made, and for which flows it has what the request needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    /// Absent when the server has no keys.
    key: Option<Arc<Key>>,
    /// All flows of the tenant when absent.
    flows: Option<BTreeSet<String>>,
}

impl Principal {
    /// Every client of a server that has no keys, and the server itself.
    pub(crate) fn anyone() -> Principal {
        Principal { key: None, flows: None }
    }

    /// The holder of a key, for no flow before it is narrowed to a need.
    pub(crate) fn of(key: &Arc<Key>) -> Principal {
        Principal { key: Some(Arc::clone(key)), flows: Some(BTreeSet::new()) }
    }

    /// The same, for the flows for which it has what is needed; refused when there can be none.
    pub(crate) fn narrowed(&self, need: Need) -> Result<Principal, Problem> {
        let Some(key) = &self.key else { return Ok(self.clone()) };
        let fits = |roles: Roles| match need {
            Need::Nothing | Need::Key => true,
            Need::Role(wanted) => wanted.iter().any(|role| roles.has(*role)),
        };
        let mut grants = key.grants.iter().filter(|grant| fits(grant.roles)).peekable();
        if grants.peek().is_none() {
            return Err(lacks(&need.words()));
        }
        let flows: Option<Vec<&BTreeSet<String>>> = grants.map(|grant| grant.flows.as_ref()).collect();
        let flows = flows.map(|flows| flows.into_iter().flatten().cloned().collect());
        Ok(Principal { key: Some(Arc::clone(key)), flows })
    }

    /// The only tenant whose things may be seen, unless everybody's may.
    pub(crate) fn tenant(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.tenant.as_str())
    }

    /// Whether a project of `tenant` may be seen.
    pub(crate) fn may_see(&self, tenant: &str) -> bool {
        self.tenant().is_none_or(|own| own == tenant)
    }

    /// Whether a flow of `tenant` and its runs are there.
    pub(crate) fn sees(&self, tenant: &str, flow: &str) -> bool {
        self.may_see(tenant) && self.flows.as_ref().is_none_or(|flows| flows.contains(flow))
    }

    /// The only flows that are there; `None` when all of the tenant are.
    pub(crate) fn flows(&self) -> Option<&BTreeSet<String>> {
        self.flows.as_ref()
    }

    /// Refuses who lacks a further role for a flow.
    pub(crate) fn needs(&self, role: Role, flow: &str) -> Result<(), Problem> {
        let Some(key) = &self.key else { return Ok(()) };
        let mut grants = key.grants.iter().filter(|grant| grant.roles.has(role));
        let has = grants.any(|grant| grant.flows.as_ref().is_none_or(|flows| flows.contains(flow)));
        if has { Ok(()) } else { Err(lacks(&format!("`{}`", role.word()))) }
    }

    /// The words of the roles that it has for one flow or more.
    pub(crate) fn roles(&self) -> Vec<&'static str> {
        match &self.key {
            None => Role::ALL.map(Role::word).to_vec(),
            Some(key) => {
                let all = key.grants.iter().fold(Roles::default(), |roles, grant| roles.and(grant.roles));
                all.words()
            }
        }
    }

    /// Whether it has a role for one flow or more.
    pub(crate) fn has(&self, role: Role) -> bool {
        self.roles().contains(&role.word())
    }

    /// Who it is, for the journal.
    pub(crate) fn who(&self) -> String {
        match &self.key {
            None => "anyone".to_owned(),
            Some(key) => format!("key:{}", key.name.as_deref().unwrap_or(&key.tenant)),
        }
    }
}

/// A key that is known, and may not do this.
fn lacks(roles: &str) -> Problem {
    let detail = format!("this key may not do that: it needs the role {roles}");
    Problem::new(StatusCode::FORBIDDEN, "role-missing", detail)
}

/// Refuses requests that a page of another site made a browser send: without keys, the server believes that
/// every client that can reach it may use it, and a browser can be made to reach it.
pub(crate) fn same_origin(headers: &HeaderMap, keys: &Keys) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    let refuse = |detail: &str| Err(Problem::new(StatusCode::FORBIDDEN, "foreign-origin", detail));
    if let Some(origin) = text(header::ORIGIN) {
        let own = origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
        if !own {
            return refuse("requests from pages of other sites are not taken");
        }
    }
    // A name that was pointed here after the browser had looked it up makes any page this one's own.
    if keys.is_empty() && !is_plain_host(host) {
        return refuse("without keys the server answers to addresses and to `localhost` only");
    }
    Ok(())
}

fn is_plain_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => {
            return rest
                .split_once(']')
                .is_some_and(|(address, _)| address.parse::<std::net::Ipv6Addr>().is_ok());
        }
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.is_empty() || name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let none = Keys::default();
        let keys = Keys::parse("acme 0123456789abcdef").unwrap();
        let taken =
            |pairs: &[(&'static str, &'static str)], keys: &Keys| same_origin(&headers(pairs), keys).is_ok();
        assert!(taken(&[("host", "127.0.0.1:8080")], &none));
        assert!(taken(&[("host", "localhost:8080"), ("origin", "http://localhost:8080")], &none));
        assert!(taken(&[("host", "[::1]:8080")], &none));
        assert!(!taken(&[("host", "localhost:8080"), ("origin", "http://evil.example")], &none));
        assert!(!taken(&[("host", "localhost:8080"), ("origin", "null")], &none));
        assert!(!taken(&[("host", "rebound.example:8080")], &none));
        assert!(taken(&[("host", "flows.example")], &keys));
        assert!(!taken(&[("host", "flows.example"), ("origin", "https://evil.example")], &keys));
    }
}
