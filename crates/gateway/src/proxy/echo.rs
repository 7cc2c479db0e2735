//! Keeps a reply from repeating the key that the gateway asked its upstream with.
//!
//! Invariant: a mask is as long as what it hides, so that the length of a reply stays what its head says.

use bytes::Bytes;
use hyper::header::HeaderMap;
use stave_llm::SecretSearch;

use super::entry::Entry;

/// What finds the key of the upstream that answered, where it is one of ours.
pub(super) fn upstream_key(entry: &Entry) -> Option<SecretSearch> {
    let upstream = entry.setup.named(entry.record.upstream.as_deref()?)?;
    Some(upstream.key_search.clone()).filter(|search| !search.is_empty())
}

/// Takes out headers that repeat the key.
pub(super) fn without_key(headers: &mut HeaderMap, key: Option<&SecretSearch>) {
    let Some(key) = key else { return };
    let echoing: Vec<_> = headers
        .iter()
        .filter(|(name, value)| key.is_in(value.as_bytes()) || key.is_in(name.as_str().as_bytes()))
        .map(|(name, _)| name.clone())
        .collect();
    for name in echoing {
        headers.remove(name);
    }
}

/// Masks the key in the bytes of a reply as they pass.
#[derive(Debug)]
pub(super) struct EchoMask {
    key: Option<SecretSearch>,
    /// The end of what passed, shorter than the longest form of the key.
    tail: Vec<u8>,
}

impl EchoMask {
    pub(super) fn new(key: Option<SecretSearch>) -> EchoMask {
        EchoMask { key, tail: Vec::new() }
    }

    /// The bytes without the key. Of a key that is cut in two, the second part is masked.
    pub(super) fn pass(&mut self, data: Bytes) -> Bytes {
        let Some(key) = &self.key else { return data };
        let kept = self.tail.len();
        let mut seen = std::mem::take(&mut self.tail);
        seen.extend_from_slice(&data);
        let found = key.find(&seen);
        // Escaped as `\u0041`, each byte of a form is six.
        let longest = key.longest().saturating_mul(6).saturating_sub(1);
        self.tail = seen.get(seen.len().saturating_sub(longest)..).unwrap_or_default().to_vec();
        if found.is_empty() {
            return data;
        }
        for place in found {
            if let Some(bytes) = seen.get_mut(place) {
                bytes.fill(b'*');
            }
        }
        Bytes::from(seen).slice(kept..)
    }
}

#[cfg(test)]
mod tests {
    use memchr::memmem;
    use stave_llm::Secret;

    use super::*;

    fn key() -> SecretSearch {
        SecretSearch::new([Secret::new("sk-upstream-1234")])
    }

    #[test]
    fn forms_of_a_key_are_masked_too() {
        for form in ["4321-maertspu-ks", "c2stdXBzdHJlYW0tMTIzNA==", "sk%2Dupstream%2D1234"] {
            let mut mask = EchoMask::new(Some(key()));
            let passed = mask.pass(Bytes::from(format!("a {form} b")));
            assert_eq!(passed.len(), form.len() + 4);
            assert!(memmem::find(&passed, &form.as_bytes()[..12]).is_none(), "{form}");
            let mut headers = HeaderMap::new();
            headers.insert("x-echo", form.parse().unwrap());
            without_key(&mut headers, Some(&key()));
            assert!(headers.is_empty());
        }
    }

    #[test]
    fn a_key_is_masked_however_the_reply_is_cut() {
        let text = b"{\"error\":\"sk-upstream-1234 is not sk-upstream-1234\"}";
        for step in [1, 3, 10, 100] {
            let mut mask = EchoMask::new(Some(key()));
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
        without_key(&mut headers, Some(&key()));
        assert!(!headers.contains_key("x-echo") && headers.contains_key("x-other"));
    }
}
