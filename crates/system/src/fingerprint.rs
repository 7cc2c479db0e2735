//! Fingerprints: SHA-256 over the canonical text.

use stave_canon::{Layout, Sha256, Value, sha256_of};

use crate::codec::{canonical, node_value};
use crate::{SystemDocument, SystemNode};

/// The fingerprint of any JSON value: 64 lowercase hexadecimal digits.
#[must_use]
pub fn stable_json_fingerprint(value: &Value) -> String {
    sha256_of(value, &Layout::COMPACT_UTF8)
}

impl SystemDocument {
    /// The fingerprint of the document in its canonical form. The version is part of it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        canonical(self, &mut hash);
        hash.finish_hex()
    }
}

impl SystemNode {
    /// The fingerprint of the node in its canonical form.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        stable_json_fingerprint(&node_value(self))
    }
}
