//! SHA-256 of canonical bytes, without an intermediate copy of the text.

use sha2::Digest;

use crate::write::Sink;

/// How many bytes gather before they are hashed.
const GATHERED: usize = 4096;

/// A running SHA-256 that a profile can write into directly.
///
/// Writers hand over a few bytes at a time. They are gathered first, since each step of the hash costs more
/// than copying so little.
#[derive(Clone, Default)]
pub struct Sha256 {
    hash: sha2::Sha256,
    /// What is not hashed yet: at most [`GATHERED`] bytes.
    gathered: Vec<u8>,
}

impl Sha256 {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        if self.gathered.len() + bytes.len() <= GATHERED {
            self.gathered.extend_from_slice(bytes);
        } else {
            self.hash_gathered_and(bytes);
        }
    }

    fn hash_gathered_and(&mut self, bytes: &[u8]) {
        self.hash.update(&self.gathered);
        self.gathered.clear();
        self.hash.update(bytes);
    }

    /// The digest as 64 lowercase hexadecimal digits.
    #[must_use]
    pub fn finish_hex(self) -> String {
        hex::encode(self.finish())
    }

    /// The digest itself.
    #[must_use]
    pub fn finish(self) -> [u8; 32] {
        self.hash.chain_update(self.gathered).finalize().into()
    }
}

/// Shows nothing of what was hashed, which may be secret.
impl std::fmt::Debug for Sha256 {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Sha256").finish_non_exhaustive()
    }
}

impl Sink for Sha256 {
    #[inline]
    fn put(&mut self, text: &str) {
        self.update(text.as_bytes());
    }
}

/// SHA-256 of `bytes`.
#[must_use]
pub fn sha256(bytes: impl AsRef<[u8]>) -> [u8; 32] {
    sha2::Sha256::digest(bytes).into()
}

/// SHA-256 of `bytes` as 64 lowercase hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(sha2::Sha256::digest(bytes))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_bytes_are_handed_over_does_not_change_their_hash() {
        let bytes: Vec<u8> = (0..5 * GATHERED).map(|index| (index % 251) as u8).collect();
        for size in [1, 63, 64, 1000, GATHERED - 1, GATHERED, GATHERED + 1, 3 * GATHERED] {
            let mut hash = Sha256::new();
            bytes.chunks(size).for_each(|chunk| hash.update(chunk));
            assert_eq!(hash.finish_hex(), sha256_hex(&bytes), "{size} bytes at a time");
        }
    }
}
