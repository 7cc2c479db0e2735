//! Who asks: API keys, each of one tenant.
//!
//! Invariant: keys are kept as digests only, and comparing takes as long for a wrong key as for a right one.

use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue};
use stave_canon::sha256_hex;
use thiserror::Error;

use crate::problem::Problem;

/// The shortest key that is taken.
const SHORTEST: usize = 16;

/// The keys that a server takes. Without any, everyone is let in.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<Key>);

#[derive(Debug, Clone)]
struct Key {
    tenant: String,
    /// Hexadecimal digits of the key's SHA-256.
    digest: String,
}

/// In whose name a request is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Principal {
    /// The server has no keys.
    Anyone,
    Tenant(String),
}

/// A list of keys that can not be read. What was in it stays out of the message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadKeys {
    #[error("line {0} is not `TENANT KEY`")]
    Line(usize),
    #[error("the key in line {0} is shorter than {SHORTEST} characters")]
    Short(usize),
    #[error("the key in line {0} was there before")]
    Twice(usize),
    #[error("there is no key in it")]
    Empty,
}

impl Keys {
    /// Reads lines of a tenant and a key; blank lines and those that begin with `#` are passed over.
    pub fn parse(text: &str) -> Result<Keys, BadKeys> {
        let mut keys: Vec<Key> = Vec::new();
        for (index, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.split_whitespace();
            let (Some(tenant), Some(key), None) = (words.next(), words.next(), words.next()) else {
                return Err(BadKeys::Line(index));
            };
            if key.chars().count() < SHORTEST {
                return Err(BadKeys::Short(index));
            }
            let digest = sha256_hex(key);
            if keys.iter().any(|known| known.digest == digest) {
                return Err(BadKeys::Twice(index));
            }
            keys.push(Key { tenant: tenant.to_owned(), digest });
        }
        if keys.is_empty() { Err(BadKeys::Empty) } else { Ok(Keys(keys)) }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Who asks, by `Authorization: Bearer KEY` or `X-API-Key: KEY`.
    pub(crate) fn principal(&self, headers: &HeaderMap) -> Result<Principal, Problem> {
        if self.is_empty() {
            return Ok(Principal::Anyone);
        }
        let digest = presented(headers).map(sha256_hex).unwrap_or_default();
        let mut found = None;
        // Every key is compared, whichever fits.
        for key in &self.0 {
            if equal(key.digest.as_bytes(), digest.as_bytes()) {
                found = Some(&key.tenant);
            }
        }
        found.map(|tenant| Principal::Tenant(tenant.clone())).ok_or_else(|| {
            let detail = "a key is needed: `Authorization: Bearer KEY` or `X-API-Key: KEY`";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
                .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
        })
    }
}

impl Principal {
    /// The only tenant whose things may be seen, unless everybody's may.
    pub(crate) fn tenant(&self) -> Option<&str> {
        match self {
            Principal::Anyone => None,
            Principal::Tenant(own) => Some(own),
        }
    }

    /// Whether what belongs to `tenant` may be seen.
    pub(crate) fn may_see(&self, tenant: &str) -> bool {
        self.tenant().is_none_or(|own| own == tenant)
    }
}

fn presented(headers: &HeaderMap) -> Option<&[u8]> {
    let authorization = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let bearer = authorization.and_then(|value| match value.split_at_checked(7) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case(b"bearer ") => Some(key.trim_ascii()),
        _ => None,
    });
    bearer.or_else(|| headers.get("x-api-key").map(HeaderValue::as_bytes))
}

/// Compares without ending early.
fn equal(left: &[u8], right: &[u8]) -> bool {
    let difference = left.iter().zip(right).fold(0, |sum, (left, right)| sum | (left ^ right));
    left.len() == right.len() && std::hint::black_box(difference) == 0
}

/// Refuses requests that a page of another site made a browser send: without keys, the server believes that
/// whoever can reach it may use it, and a browser can be made to reach it.
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
    fn a_key_names_its_tenant_and_another_names_nobody() {
        let keys = Keys::parse("# ours\nacme 0123456789abcdef\n\nglobex fedcba9876543210\n").unwrap();
        let of = |name, value| keys.principal(&headers(&[(name, value)]));
        assert_eq!(of("authorization", "Bearer 0123456789abcdef"), Ok(Principal::Tenant("acme".into())));
        assert_eq!(of("authorization", "bearer  fedcba9876543210"), Ok(Principal::Tenant("globex".into())));
        assert_eq!(of("x-api-key", "fedcba9876543210"), Ok(Principal::Tenant("globex".into())));
        for (name, value) in [
            ("authorization", "Basic 0123456789abcdef"),
            ("authorization", "Bearer 0123456789abcde"),
            ("authorization", "Bearer "),
            ("x-api-key", ""),
            ("x-other", "0123456789abcdef"),
        ] {
            assert_eq!(of(name, value).unwrap_err().status().as_u16(), 401, "{name}: {value}");
        }
    }

    #[test]
    fn a_list_of_keys_that_can_not_be_meant_is_refused() {
        assert_eq!(Keys::parse("acme").unwrap_err(), BadKeys::Line(1));
        assert_eq!(Keys::parse("\nacme a b").unwrap_err(), BadKeys::Line(2));
        assert_eq!(Keys::parse("acme short").unwrap_err(), BadKeys::Short(1));
        assert_eq!(Keys::parse("# none\n").unwrap_err(), BadKeys::Empty);
        let twice = "acme 0123456789abcdef\nglobex 0123456789abcdef";
        assert_eq!(Keys::parse(twice).unwrap_err(), BadKeys::Twice(2));
        assert!(!format!("{:?}", Keys::parse("acme 0123456789abcdef").unwrap()).contains("0123456789abcdef"));
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
