//! SHA-256 of canonical bytes, without an intermediate copy of the text.

use sha2::Digest;

use crate::write::Sink;

/// A running SHA-256 that a profile can write into directly.
#[derive(Debug, Clone, Default)]
pub struct Sha256(sha2::Sha256);

impl Sha256 {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest as 64 lowercase hexadecimal digits.
    #[must_use]
    pub fn finish_hex(self) -> String {
        hex::encode(self.0.finalize())
    }
}

impl Sink for Sha256 {
    fn put(&mut self, text: &str) {
        self.update(text.as_bytes());
    }
}

/// SHA-256 of `bytes` as 64 lowercase hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    let mut hash = Sha256::new();
    hash.update(bytes.as_ref());
    hash.finish_hex()
}

/// SHA-256 in the `sha256:<hex>` form that the block line and the manifest use.
#[must_use]
pub fn prefixed_sha256(bytes: impl AsRef<[u8]>) -> String {
    format!("sha256:{}", sha256_hex(bytes))
}

/// SHA-256 of a value in the given layout, streamed: the canonical text is never held whole.
#[must_use]
pub fn sha256_of(value: &crate::Value, layout: &crate::Layout) -> String {
    let mut hash = Sha256::new();
    crate::write(value, layout, &mut hash);
    hash.finish_hex()
}
