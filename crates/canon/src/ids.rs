//! Id formats, and the port through which fresh ids come in.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many hexadecimal digits a short id of the prompt line has.
pub const SHORT_ID_LENGTH: usize = 8;

/// The port for fresh, unpredictable ids. The command line supplies random ones, tests counted ones.
pub trait Ids: Send + Sync + std::fmt::Debug {
    /// 128 fresh bits.
    fn fresh(&self) -> u128;

    /// A version 4 UUID in its usual text form.
    fn uuid(&self) -> String {
        let bits = (self.fresh() & !(0xf << 76) & !(0b11 << 62)) | (0x4 << 76) | (0b10 << 62);
        let text = format!("{bits:032x}");
        format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
    }

    /// The first eight hexadecimal digits of a UUID, as the prompt line names its documents.
    fn short(&self) -> String {
        // The leading 32 bits are the same in a UUID's text.
        let leading = self.fresh() >> 96;
        format!("{leading:0SHORT_ID_LENGTH$x}")
    }
}

/// Counts `00000001`, `00000002`, … in the short form: reproducible ids for tests and conformance.
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl CountingIds {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Ids for CountingIds {
    fn fresh(&self) -> u128 {
        // The counter is in the leading 32 bits, so that the short form shows it.
        u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1) << 96
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of `text`.
#[must_use]
pub fn short_hash(text: impl AsRef<[u8]>) -> String {
    let mut hash = crate::sha256_hex(text);
    hash.truncate(16);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_ids_show_their_count_and_are_well_formed_version_4_uuids() {
        let ids = CountingIds::new();
        assert_eq!(ids.short(), "00000001");
        assert_eq!(ids.uuid(), "00000002-0000-4000-8000-000000000000");
    }
}
