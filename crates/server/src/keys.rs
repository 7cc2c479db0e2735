//! API keys: each of one tenant, with roles, for all of its flows or for some.
//!
//! Invariants: keys are kept as digests only, and comparing takes as long for a wrong key as for a right one. No
//! message contains an entry of a list of keys. A key that can decide has a name, under which its decisions are
//! written down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue};
use stave_canon::sha256_hex;
use thiserror::Error;

use crate::access::Principal;
use crate::decoded_path::decode;
use crate::problem::Problem;
use crate::roles::{Role, Roles};

/// The shortest key that is taken.
const SHORTEST: usize = 16;

/// The largest weight of a tenant.
const HEAVIEST: u32 = 1000;

/// What a key's digest begins with when the list has it instead of the key.
const DIGEST: &str = "sha256:";

/// The keys that a server takes. Without any, the server accepts every request.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    keys: Vec<Arc<Key>>,
    weights: BTreeMap<String, u32>,
}

/// The keys that a running server takes at the moment. Every request is held to the keys of its beginning.
#[derive(Debug, Default)]
pub struct KeyRing(RwLock<Arc<Keys>>);

impl From<Keys> for KeyRing {
    fn from(keys: Keys) -> KeyRing {
        KeyRing(RwLock::new(Arc::new(keys)))
    }
}

impl KeyRing {
    pub(crate) fn current(&self) -> Arc<Keys> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes these keys from here on, and no others.
    pub(crate) fn exchange(&self, keys: Keys) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }
}

/// A key with what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) tenant: String,
    pub(crate) name: Option<String>,
    /// Hexadecimal digits of the key's SHA-256.
    digest: String,
    pub(crate) grants: Vec<Grant>,
}

/// Roles for some flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) roles: Roles,
    /// All flows of the tenant when absent.
    pub(crate) flows: Option<BTreeSet<String>>,
}

/// A list of keys that cannot be read. What was in it stays out of the message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadKeys {
    #[error("line {0} is not `TENANT KEY [name=NAME] [roles=ROLE,…] [flows=FLOW,…]` or `TENANT weight=N`")]
    Line(usize),
    #[error("the key in line {0} is shorter than {SHORTEST} characters")]
    Short(usize),
    #[error("the key in line {0} is written as `{DIGEST}`, and what follows are not 64 hexadecimal digits")]
    Digest(usize),
    #[error(
        "the key in line {0} was there before, for another tenant, under another name or with the same rights"
    )]
    Twice(usize),
    #[error("line {0} has a role that is not one of run, decide, observe, edit, admin")]
    Role(usize),
    #[error(
        "the key in line {0} can decide, so it needs a name to write its decisions down under: `name=NAME`"
    )]
    NoName(usize),
    #[error("line {0} has the name of another key of the tenant")]
    SharedName(usize),
    #[error(
        "line {0} has a weight that is not a number from 1 to {HEAVIEST}, or a second one for the tenant"
    )]
    Weight(usize),
    #[error("there is no key in it")]
    Empty,
}

impl Keys {
    /// The flows that keys are limited to, by name.
    #[must_use]
    pub fn named_flows(&self) -> BTreeSet<&str> {
        let grants = self.keys.iter().flat_map(|key| &key.grants);
        grants.flat_map(|grant| &grant.flows).flatten().map(String::as_str).collect()
    }

    /// Reads lines of a tenant, a key and what it may do; blank lines and those that begin with `#` are passed over.
    /// A key may have further lines, which add rights for other flows.
    pub fn parse(text: &str) -> Result<Keys, BadKeys> {
        let mut keys: Vec<Key> = Vec::new();
        let mut weights = BTreeMap::new();
        for (index, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.split_whitespace();
            let (Some(tenant), Some(second)) = (words.next(), words.next()) else {
                return Err(BadKeys::Line(index));
            };
            if let Some(weight) = second.strip_prefix("weight=") {
                let weight = weight.parse().ok().filter(|weight| (1..=HEAVIEST).contains(weight));
                let weight = weight.ok_or(BadKeys::Weight(index))?;
                if words.next().is_some() {
                    return Err(BadKeys::Line(index));
                }
                if weights.insert(tenant.to_owned(), weight).is_some() {
                    return Err(BadKeys::Weight(index));
                }
                continue;
            }
            let (name, grant) = rights(words, index)?;
            add(
                &mut keys,
                Key { tenant: tenant.to_owned(), name, digest: digest(second, index)?, grants: vec![grant] },
                index,
            )?;
        }
        if keys.is_empty() {
            return Err(BadKeys::Empty);
        }
        Ok(Keys { keys: keys.into_iter().map(Arc::new).collect(), weights })
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How large a tenant's share is beside those of others.
    pub(crate) fn weight(&self, tenant: &str) -> u32 {
        self.weights.get(tenant).copied().unwrap_or(1)
    }

    /// The tenants that have keys, with their weights.
    pub(crate) fn weights(&self) -> BTreeMap<String, u32> {
        self.keys.iter().map(|key| (key.tenant.clone(), self.weight(&key.tenant))).collect()
    }

    /// Who asks, by `Authorization: Bearer KEY` or `X-API-Key: KEY`.
    pub(crate) fn principal(&self, headers: &HeaderMap) -> Result<Principal, Problem> {
        if self.is_empty() {
            return Ok(Principal::anyone());
        }
        let presented = presented(headers);
        let digest = presented.map(sha256_hex).unwrap_or_default();
        let mut found = None;
        // Every key is compared, whichever fits.
        for key in &self.keys {
            if equal(key.digest.as_bytes(), digest.as_bytes()) {
                found = Some(key);
            }
        }
        found.map(Principal::of).ok_or_else(|| {
            let detail = match presented {
                Some(_) => "the key is not known here",
                None => "a key is needed: `Authorization: Bearer KEY` or `X-API-Key: KEY`",
            };
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
                .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
        })
    }
}

/// The digest of a key that is written out or as its digest.
fn digest(word: &str, line: usize) -> Result<String, BadKeys> {
    if let Some(digits) = word.strip_prefix(DIGEST) {
        let is_digest = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return if is_digest { Ok(digits.to_ascii_lowercase()) } else { Err(BadKeys::Digest(line)) };
    }
    if word.chars().count() < SHORTEST { Err(BadKeys::Short(line)) } else { Ok(sha256_hex(word)) }
}

/// The words that follow a key in its line.
fn rights<'w>(words: impl Iterator<Item = &'w str>, line: usize) -> Result<(Option<String>, Grant), BadKeys> {
    let (mut name, mut roles, mut flows) = (None, None, None);
    for word in words {
        let (key, value) =
            word.split_once('=').filter(|(_, value)| !value.is_empty()).ok_or(BadKeys::Line(line))?;
        let is_first = match key {
            "name" => name.replace(decode(value).ok_or(BadKeys::Line(line))?).is_none(),
            "roles" => roles.replace(Roles::parse(value).ok_or(BadKeys::Role(line))?).is_none(),
            "flows" => {
                let named: Option<BTreeSet<String>> = value.split(',').map(decode).collect();
                let named = named.filter(|named| !named.contains("")).ok_or(BadKeys::Line(line))?;
                flows.replace(named).is_none()
            }
            _ => false,
        };
        if !is_first {
            return Err(BadKeys::Line(line));
        }
    }
    let roles = roles.unwrap_or(Roles::DEFAULT);
    if roles.has(Role::Decide) && name.is_none() {
        return Err(BadKeys::NoName(line));
    }
    Ok((name, Grant { roles, flows }))
}

/// Adds a key, or further rights to one that is there.
fn add(keys: &mut Vec<Key>, key: Key, line: usize) -> Result<(), BadKeys> {
    let is_named_so =
        |known: &&Key| known.tenant == key.tenant && known.name == key.name && key.name.is_some();
    if keys.iter().filter(is_named_so).any(|known| known.digest != key.digest) {
        return Err(BadKeys::SharedName(line));
    }
    let Some(known) = keys.iter_mut().find(|known| known.digest == key.digest) else {
        keys.push(key);
        return Ok(());
    };
    let is_other = known.tenant != key.tenant || known.name != key.name;
    if is_other || key.grants.iter().any(|grant| known.grants.contains(grant)) {
        return Err(BadKeys::Twice(line));
    }
    known.grants.extend(key.grants);
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Need;

    const ONE: &str = "0123456789abcdef";
    const TWO: &str = "fedcba9876543210";

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_key_names_its_tenant_and_another_names_nobody() {
        let keys = Keys::parse(&format!("# ours\nacme {ONE}\n\nglobex {TWO}\n")).unwrap();
        let of = |name, value| keys.principal(&headers(&[(name, value)]));
        let tenant = |name, value| of(name, value).unwrap().tenant().unwrap().to_owned();
        assert_eq!(tenant("authorization", "Bearer 0123456789abcdef"), "acme");
        assert_eq!(tenant("authorization", "bearer  fedcba9876543210"), "globex");
        assert_eq!(tenant("x-api-key", "fedcba9876543210"), "globex");
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
    fn a_digest_stands_for_its_key() {
        let keys = Keys::parse(&format!("acme sha256:{}", sha256_hex(ONE).to_uppercase())).unwrap();
        assert!(keys.principal(&headers(&[("x-api-key", "0123456789abcdef")])).is_ok());
        // What the list holds opens nothing.
        let digest: HeaderValue = format!("sha256:{}", sha256_hex(ONE)).parse().unwrap();
        let stolen = HeaderMap::from_iter([("x-api-key".parse().unwrap(), digest)]);
        assert!(keys.principal(&stolen).is_err());
    }

    #[test]
    fn a_list_of_keys_that_can_not_be_meant_is_refused() {
        let error = |text: &str| Keys::parse(text).unwrap_err();
        assert_eq!(error("acme"), BadKeys::Line(1));
        assert_eq!(error(&format!("\nacme {ONE} b")), BadKeys::Line(2));
        assert_eq!(error("acme short"), BadKeys::Short(1));
        assert_eq!(error("acme sha256:12"), BadKeys::Digest(1));
        assert_eq!(error("# none\n"), BadKeys::Empty);
        assert_eq!(error("acme weight=2\n"), BadKeys::Empty);
        assert_eq!(error(&format!("acme {ONE}\nglobex {ONE}")), BadKeys::Twice(2));
        assert_eq!(error(&format!("acme {ONE}\nacme {ONE}")), BadKeys::Twice(2));
        for word in ["roles=", "flows=", "flows=a,,b", "role=run", "roles=run roles=run", "flows=%ff"] {
            assert_eq!(error(&format!("acme {ONE} {word}")), BadKeys::Line(1), "{word}");
        }
        assert_eq!(error(&format!("acme {ONE} roles=owner")), BadKeys::Role(1));
        for role in ["decide", "admin"] {
            assert_eq!(error(&format!("acme {ONE} roles={role}")), BadKeys::NoName(1), "{role}");
        }
        assert_eq!(error(&format!("acme {ONE} name=ann\nacme {TWO} name=ann")), BadKeys::SharedName(2));
        for weight in ["0", "x", "1001", "-1", ""] {
            assert_eq!(error(&format!("acme weight={weight}")), BadKeys::Weight(1), "{weight}");
        }
        assert_eq!(error("acme weight=1\nacme weight=2"), BadKeys::Weight(2));
        assert!(!format!("{:?}", Keys::parse(&format!("acme {ONE}")).unwrap()).contains(ONE));
    }

    #[test]
    fn lines_of_one_key_add_rights_for_flows() {
        let list =
            format!("acme {ONE} name=ann roles=observe\nacme {ONE} name=ann roles=decide flows=a,b%20c\n");
        let keys = Keys::parse(&list).unwrap();
        let ann = keys.principal(&headers(&[("x-api-key", "0123456789abcdef")])).unwrap();
        let observes = ann.narrowed(Need::Role(&[Role::Observe])).unwrap();
        assert!(observes.sees("acme", "x") && !observes.sees("globex", "x"));
        let decides = ann.narrowed(Need::Role(&[Role::Decide])).unwrap();
        assert!(decides.sees("acme", "a") && decides.sees("acme", "b c") && !decides.sees("acme", "x"));
        assert_eq!(ann.narrowed(Need::Role(&[Role::Run])).unwrap_err().status().as_u16(), 403);
        assert_eq!(ann.who(), "key:ann");
        assert_eq!(keys.weight("acme"), 1);
    }
}
