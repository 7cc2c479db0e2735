//! The hash of a Prompt IR: SHA-256 over its dictionary as Python's `json.dumps` with sorted keys.
//!
//! The id and the creation time are part of the dictionary and therefore of the hash, as specified: a
//! hash names one instance at one stage, which is what links the records of a pipeline run.

use stave_canon::{Layout, python_spaced, sha256_of};

use crate::{PromptIr, to_dict};

/// How many hexadecimal digits of the SHA-256 a transformation record keeps.
pub const HASH_LENGTH: usize = 16;

/// The exact text that is hashed.
#[must_use]
pub fn canonical(ir: &PromptIr) -> String {
    python_spaced(&to_dict(ir))
}

/// The whole SHA-256 as 64 lowercase hexadecimal digits.
#[must_use]
pub fn sha256(ir: &PromptIr) -> String {
    sha256_of(&to_dict(ir), &Layout::PYTHON_SPACED)
}

/// The first [`HASH_LENGTH`] digits, as transformation records carry them.
#[must_use]
pub fn short_hash(ir: &PromptIr) -> String {
    let mut hash = sha256(ir);
    hash.truncate(HASH_LENGTH);
    hash
}
