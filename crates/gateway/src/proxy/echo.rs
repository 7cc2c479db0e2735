//! Keeps a reply from repeating the key that the gateway asked its upstream with.
//!
//! Invariant: a mask is as long as what it hides, so that the length of a reply stays what its head says.

use bytes::Bytes;
use hyper::header::HeaderMap;
use memchr::memmem;
use stave_llm::Secret;

use super::entry::Entry;

/// Shorter keys are not looked for: they would be found in ordinary words.
const SHORTEST_KEY: usize = 8;

/// The key of the upstream that answered, where it is one of ours.
pub(super) fn upstream_key(entry: &Entry) -> Option<Secret> {
    let upstream = entry.setup.named(entry.record.upstream.as_deref()?)?;
    upstream.config.key.clone().filter(|key| key.expose().len() >= SHORTEST_KEY)
}

/// Takes out headers that repeat the key.
pub(super) fn without_key(headers: &mut HeaderMap, key: Option<&Secret>) {
    let Some(key) = key.map(|key| key.expose().as_bytes()) else { return };
    let echoing: Vec<_> = headers
        .iter()
        .filter(|(_, value)| memmem::find(value.as_bytes(), key).is_some())
        .map(|(name, _)| name.clone())
        .collect();
    for name in echoing {
        headers.remove(name);
    }
}

/// Masks the key in the bytes of a reply as they pass.
#[derive(Debug)]
pub(super) struct EchoMask {
    key: Option<Secret>,
    /// The end of what passed, shorter than the key.
    tail: Vec<u8>,
}

impl EchoMask {
    pub(super) fn new(key: Option<Secret>) -> EchoMask {
        EchoMask { key, tail: Vec::new() }
    }

    /// The bytes without the key. Of a key that is cut in two, the second part is masked.
    pub(super) fn pass(&mut self, data: Bytes) -> Bytes {
        let Some(key) = self.key.as_ref().map(|key| key.expose().as_bytes()) else { return data };
        let kept = self.tail.len();
        let mut seen = std::mem::take(&mut self.tail);
        seen.extend_from_slice(&data);
        let found: Vec<usize> = memmem::find_iter(&seen, key).collect();
        self.tail = seen[seen.len().saturating_sub(key.len() - 1)..].to_vec();
        if found.is_empty() {
            return data;
        }
        for at in found {
            seen[at..at + key.len()].fill(b'*');
        }
        Bytes::from(seen).slice(kept..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_masked_however_the_reply_is_cut() {
        let text = b"{\"error\":\"sk-upstream-1234 is not sk-upstream-1234\"}";
        for step in [1, 3, 10, 100] {
            let mut mask = EchoMask::new(Some(Secret::new("sk-upstream-1234")));
            let mut passed = Vec::new();
            for chunk in text.chunks(step) {
                passed.extend_from_slice(&mask.pass(Bytes::copy_from_slice(chunk)));
            }
            assert_eq!(passed.len(), text.len());
            assert!(memmem::find(&passed, b"sk-upstream-1234").is_none(), "{step}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("x-echo", "Bearer sk-upstream-1234".parse().unwrap());
        headers.insert("x-other", "fine".parse().unwrap());
        without_key(&mut headers, Some(&Secret::new("sk-upstream-1234")));
        assert!(!headers.contains_key("x-echo") && headers.contains_key("x-other"));
    }
}
