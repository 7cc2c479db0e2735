//! Keeps a reply from repeating the key that the gateway asked its upstream with.
//!
//! Invariants: a mask is as long as what it hides, so that the length of a reply stays what its head says. Nothing that
//! could be the beginning of the key is passed on before it is known whether it is; what is held back is bounded.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderMap;
use stave_llm::{Secret, SecretBeginnings, SecretSearch};

use super::echo_events::EventMask;
use super::entry::Entry;

/// The replacement of each byte of a key.
pub(super) const MASK: u8 = b'*';

/// So much of a key at the end of a reply is masked, though the rest of it never came.
pub(super) const LONG_BEGINNING: usize = 8;

/// What finds the key of an upstream.
#[derive(Debug)]
pub(crate) struct KeyEcho {
    pub(crate) search: SecretSearch,
    pub(super) beginnings: SecretBeginnings,
}

impl KeyEcho {
    pub(crate) fn new(key: Option<Secret>) -> KeyEcho {
        KeyEcho { search: SecretSearch::new(key.clone()), beginnings: SecretBeginnings::new(key) }
    }
}

/// What finds the key of the upstream that answered, where it is one of ours.
pub(super) fn upstream_key(entry: &Entry) -> Option<Arc<KeyEcho>> {
    let upstream = entry.setup.named(entry.record.upstream.as_deref()?)?;
    Some(Arc::clone(&upstream.key_echo)).filter(|key| !key.search.is_empty())
}

/// Takes out headers that repeat the key.
pub(super) fn without_key(headers: &mut HeaderMap, key: Option<&KeyEcho>) {
    let Some(key) = key else { return };
    let echoing: Vec<_> = headers
        .iter()
        .filter(|(name, value)| {
            key.search.is_in(value.as_bytes()) || key.search.is_in(name.as_str().as_bytes())
        })
        .map(|(name, _)| name.clone())
        .collect();
    for name in echoing {
        headers.remove(name);
    }
}

/// Masks the key in the bytes of a reply as they pass.
#[derive(Debug)]
pub(super) struct EchoMask {
    key: Option<Arc<KeyEcho>>,
    /// The end of what came, which could be the beginning of the key.
    held: Vec<u8>,
    /// The key can be in several events of a stream too.
    events: Option<EventMask>,
}

impl EchoMask {
    /// A mask of a whole reply.
    pub(super) fn new(key: Option<Arc<KeyEcho>>) -> EchoMask {
        EchoMask { key, held: Vec::new(), events: None }
    }

    /// A mask of a stream of events.
    pub(super) fn of_events(key: Option<Arc<KeyEcho>>) -> EchoMask {
        let events = key.as_ref().map(|key| EventMask::new(Arc::clone(key)));
        EchoMask { key, held: Vec::new(), events }
    }

    /// What can be passed on of the bytes so far, without the key.
    pub(super) fn pass(&mut self, data: Bytes) -> Bytes {
        let Some(key) = &self.key else { return data };
        let passed = if self.held.is_empty() {
            let from = key.beginnings.held_from(&data, 1);
            let found = key.search.find(&data);
            if found.is_empty() {
                self.held.extend_from_slice(data.get(from..).unwrap_or_default());
                data.slice(..from)
            } else {
                self.masked(data.to_vec())
            }
        } else {
            let mut seen = std::mem::take(&mut self.held);
            seen.extend_from_slice(&data);
            self.masked(seen)
        };
        match &mut self.events {
            Some(events) => events.pass(&passed),
            None => passed,
        }
    }

    /// What is left once there is no more.
    pub(super) fn finish(&mut self) -> Bytes {
        let Some(key) = &self.key else { return Bytes::new() };
        let mut rest = std::mem::take(&mut self.held);
        let from = key.beginnings.held_from(&rest, LONG_BEGINNING);
        rest.get_mut(from..).unwrap_or_default().fill(MASK);
        match &mut self.events {
            Some(events) => events.finish(&rest),
            None => rest.into(),
        }
    }

    /// Whether something is held back.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty() || self.events.as_ref().is_some_and(EventMask::is_holding)
    }

    fn masked(&mut self, mut seen: Vec<u8>) -> Bytes {
        let Some(key) = &self.key else { return seen.into() };
        for place in key.search.find(&seen) {
            seen.get_mut(place).unwrap_or_default().fill(MASK);
        }
        let from = key.beginnings.held_from(&seen, 1);
        self.held = seen.split_off(from);
        seen.into()
    }
}

#[cfg(test)]
mod tests {
    use memchr::memmem;

    use super::*;

    const KEY: &str = "sk-upstream-1234";

    fn key() -> Arc<KeyEcho> {
        Arc::new(KeyEcho::new(Some(Secret::new(KEY))))
    }

    #[test]
    fn forms_of_a_key_are_masked_too() {
        for form in ["4321-maertspu-ks", "c2stdXBzdHJlYW0tMTIzNA==", "sk%2Dupstream%2D1234"] {
            let mut mask = EchoMask::new(Some(key()));
            let passed = [mask.pass(Bytes::from(format!("a {form} b"))), mask.finish()].concat();
            assert_eq!(passed.len(), form.len() + 4);
            assert!(memmem::find(&passed, &form.as_bytes()[..12]).is_none(), "{form}");
            let mut headers = HeaderMap::new();
            headers.insert("x-echo", form.parse().unwrap());
            without_key(&mut headers, Some(&key()));
            assert!(headers.is_empty());
        }
    }

    #[test]
    fn nothing_of_a_key_passes_however_the_reply_is_cut() {
        let text = b"{\"error\":\"sk-upstream-1234 is not sk-upstream-1234\"}";
        for step in [1, 2, 3, 5, 10, 100] {
            for mut mask in [EchoMask::new(Some(key())), EchoMask::of_events(Some(key()))] {
                let mut passed = Vec::new();
                for chunk in text.chunks(step) {
                    passed.extend_from_slice(&mask.pass(Bytes::copy_from_slice(chunk)));
                    assert!(memmem::find(&passed, b"\"sk").is_none(), "{step}");
                }
                passed.extend_from_slice(&mask.finish());
                let passed = String::from_utf8(passed).unwrap();
                assert_eq!(passed, r#"{"error":"**************** is not ****************"}"#, "{step}");
                assert!(!mask.is_holding());
            }
        }
        let mut headers = HeaderMap::new();
        headers.insert("x-echo", "Bearer sk-upstream-1234".parse().unwrap());
        headers.insert("x-other", "fine".parse().unwrap());
        without_key(&mut headers, Some(&key()));
        assert!(!headers.contains_key("x-echo") && headers.contains_key("x-other"));
    }

    #[test]
    fn what_only_begins_like_a_key_passes_in_the_end() {
        for (text, passed) in
            [("see sk-up", "see sk-up"), ("see sk-upstream", "see ***********"), ("é \\u00", "é \\u00")]
        {
            let mut mask = EchoMask::new(Some(key()));
            let all = [mask.pass(Bytes::from_static(text.as_bytes())), mask.finish()].concat();
            assert_eq!(String::from_utf8(all).unwrap(), passed);
        }
    }

    proptest::proptest! {
        #[test]
        fn a_reply_without_the_key_passes_as_it_came(text: String, step in 1_usize..20) {
            let event = format!("data: {{\"a\":{}}}\n\n", stave_canon::Value::from(text.as_str()));
            for (text, mut mask) in
                [(&text, EchoMask::new(Some(key()))), (&event, EchoMask::of_events(Some(key())))]
            {
                let mut passed = Vec::new();
                for chunk in text.as_bytes().chunks(step) {
                    passed.extend_from_slice(&mask.pass(Bytes::copy_from_slice(chunk)));
                }
                passed.extend_from_slice(&mask.finish());
                proptest::prop_assert_eq!(passed, text.as_bytes());
            }
        }
    }
}
