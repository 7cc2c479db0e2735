//! Which run a request to start one means, so that a request that is sent twice starts one run.
//!
//! A client names its request by an idempotency key, or chooses the run's id. The id of a run that a key started follows
//! from tenant, flow and key, so the journal's primary key keeps starts apart: also those that arrive at the same time,
//! in different processes or after a restart. The digest of the request is kept with the run and distinguishes a
//! repeated request from another one. It does not cover `auth`, which may be a fresh token.
//!
//! Invariant: no id that a client chooses is one that follows from a key.

use stave_canon::Value;

use crate::request::without_auth;

/// The longest idempotency key.
pub const KEY_LENGTH: usize = 255;

/// The longest id that a client may choose.
pub const RUN_ID_LENGTH: usize = 64;

/// What the id of a run begins with that an idempotency key started.
const KEYED: &str = "key_";

/// A run that is about to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunIdentity<'r> {
    pub id: &'r str,
    /// What was asked, when the client may ask for the same run again; see [`request_digest`].
    pub digest: Option<&'r str>,
}

impl<'r> From<&'r str> for RunIdentity<'r> {
    fn from(id: &'r str) -> Self {
        RunIdentity { id, digest: None }
    }
}

/// A text that cannot name a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadIdentity {
    #[error("an idempotency key has 1 to {KEY_LENGTH} printable ASCII characters and no spaces")]
    Key,
    #[error(
        "a run id has 1 to {RUN_ID_LENGTH} letters, digits, `-`, `_` or `.`, begins with a letter or a digit, and does not begin with `{KEYED}`"
    )]
    RunId,
}

/// The names by which a client asks for one run or for the runs of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartName(Name);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Key(String),
    RunId(String),
}

impl StartName {
    /// An idempotency key, which is for one tenant and one flow.
    pub fn key(text: &str) -> Result<StartName, BadIdentity> {
        let is_key =
            (1..=KEY_LENGTH).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_key { Ok(StartName(Name::Key(text.to_owned()))) } else { Err(BadIdentity::Key) }
    }

    /// The id of the run itself.
    pub fn run_id(text: &str) -> Result<StartName, BadIdentity> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_id = (1..=RUN_ID_LENGTH).contains(&text.len())
            && text.bytes().all(is_letter)
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && !text.starts_with(KEYED);
        if is_id { Ok(StartName(Name::RunId(text.to_owned()))) } else { Err(BadIdentity::RunId) }
    }

    /// Whether it names exactly one run.
    #[must_use]
    pub fn is_run_id(&self) -> bool {
        matches!(self.0, Name::RunId(_))
    }

    /// The id of the run for the request at `index` of a batch. The first request of every batch has the same id as a
    /// request that is alone, so that another batch under the same key is noticed.
    #[must_use]
    pub fn id_of(&self, tenant: &str, flow: &str, index: usize) -> String {
        match &self.0 {
            Name::RunId(id) => id.clone(),
            Name::Key(key) => {
                let parts = [tenant, flow, key.as_str()].map(Value::from).into_iter();
                let parts: Vec<Value> = parts.chain([Value::from(index)]).collect();
                let hash = stave_canon::sha256_hex(stave_canon::compact_utf8(&Value::Array(parts)));
                format!("{KEYED}{}", hash.get(..32).unwrap_or(&hash))
            }
        }
    }
}

/// What was asked: the flow and all requests of the batch, without their `auth`.
#[must_use]
pub fn request_digest(flow: &str, requests: &[Value]) -> String {
    let requests = requests.iter().map(|request| without_auth(request).0).collect();
    let asked = Value::Array(vec![flow.into(), Value::Array(requests)]);
    stave_canon::prefixed_sha256(stave_canon::compact_utf8(&asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_means_one_run_per_tenant_flow_and_place() {
        let key = StartName::key("k").unwrap();
        let id = key.id_of("t", "f", 0);
        assert_eq!(id, StartName::key("k").unwrap().id_of("t", "f", 0));
        let others = [key.id_of("u", "f", 0), key.id_of("t", "g", 0), key.id_of("t", "f", 1)];
        assert!(!others.contains(&id));
        assert!(StartName::run_id(&id).is_err(), "a client cannot choose the id that follows from a key");
    }

    #[test]
    fn names_are_bounded_and_plain() {
        for bad in ["", " ", "a b", "ä", "a\n", &"k".repeat(KEY_LENGTH + 1)] {
            assert_eq!(StartName::key(bad), Err(BadIdentity::Key), "{bad:?}");
        }
        for bad in ["", "-a", "a/b", "a b", "..", "ä", "key_1", &"r".repeat(RUN_ID_LENGTH + 1)] {
            assert_eq!(StartName::run_id(bad), Err(BadIdentity::RunId), "{bad:?}");
        }
        assert!(StartName::key(&"k".repeat(KEY_LENGTH)).is_ok());
        assert_eq!(StartName::run_id("order-17.a_B").unwrap().id_of("t", "f", 0), "order-17.a_B");
    }

    #[test]
    fn a_digest_is_of_the_whole_batch_without_auth_in_any_order_of_members() {
        let parse = |text: &str| stave_canon::parse(text).unwrap();
        let one = request_digest("f", &[parse(r#"{"a":1,"b":2,"auth":{"token":"x"}}"#)]);
        assert_eq!(one, request_digest("f", &[parse(r#"{"b":2,"a":1}"#)]));
        let others = [
            request_digest("g", &[parse(r#"{"b":2,"a":1}"#)]),
            request_digest("f", &[parse(r#"{"b":2,"a":1.0}"#)]),
            request_digest("f", &[parse(r#"{"b":2,"a":1}"#), parse("{}")]),
        ];
        assert!(!others.contains(&one));
    }
}
