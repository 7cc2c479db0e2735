//! The hash of a Prompt IR: SHA-256 over its dictionary as Python's `json.dumps` with sorted keys.
//!
//! The id and the creation time are part of the dictionary and therefore of the hash, as specified: a
//! hash names one instance at one stage, which is what links the records of a pipeline run.
//!
//! Sorted, the keys that hold most of a prompt's text (constraints, references, time, intent) come before the
//! first key that every change touches, the id. [`Hasher`] remembers SHA-256 at that point, so that the next
//! stage of the same prompt costs only the rest.

use std::fmt;
use std::ops::Deref;

use sha2::{Digest, Sha256};
use stave_canon::{Layout, Value, python_spaced, sha256_hex, write, write_object, write_string};

use crate::{PromptIr, to_dict};

/// How many hexadecimal digits of the SHA-256 a transformation record keeps.
pub const HASH_LENGTH: usize = 16;

/// SHA-256 works on so many bytes at a time.
const BLOCK: usize = 64;

/// The first [`HASH_LENGTH`] hexadecimal digits of a SHA-256. It reads as a `str`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShortHash([u8; HASH_LENGTH]);

/// The exact text that is hashed.
#[must_use]
pub fn canonical(ir: &PromptIr) -> String {
    // Fields of a later version would have to be sorted in between.
    if !ir.later_fields.is_empty() {
        return python_spaced(&to_dict(ir));
    }
    let mut out = String::with_capacity(capacity(ir));
    write_beginning(ir, &mut out);
    write_rest(ir, &mut out);
    out
}

/// The whole SHA-256 as 64 lowercase hexadecimal digits.
#[must_use]
pub fn sha256(ir: &PromptIr) -> String {
    sha256_hex(canonical(ir))
}

/// The first [`HASH_LENGTH`] digits, as transformation records carry them.
#[must_use]
pub fn short_hash(ir: &PromptIr) -> ShortHash {
    ShortHash::of(&Sha256::digest(canonical(ir)))
}

/// Hashes the stages of one prompt one after the other.
#[derive(Clone, Default)]
pub(crate) struct Hasher {
    /// The text of the last stage up to its id.
    text: String,
    /// SHA-256 of the whole blocks of `text`.
    blocks: Sha256,
}

impl Hasher {
    /// The hash of a stage whose beginning nothing is known about.
    pub(crate) fn first(&mut self, ir: &PromptIr) -> ShortHash {
        self.text.clear();
        if !ir.later_fields.is_empty() {
            return short_hash(ir);
        }
        self.text.reserve(capacity(ir));
        write_beginning(ir, &mut self.text);
        self.blocks = Sha256::new().chain_update(self.whole_blocks());
        self.finish(ir)
    }

    /// The hash of the stage after `before`, which was hashed last.
    pub(crate) fn next(&mut self, before: &PromptIr, ir: &PromptIr) -> ShortHash {
        let is_same = !self.text.is_empty()
            && ir.later_fields.is_empty()
            && before.created_at == ir.created_at
            && before.intent == ir.intent
            && before.constraints == ir.constraints
            && before.context_refs == ir.context_refs;
        if is_same { self.finish(ir) } else { self.first(ir) }
    }

    fn whole_blocks(&self) -> &[u8] {
        let bytes = self.text.as_bytes();
        bytes.get(..bytes.len() / BLOCK * BLOCK).unwrap_or_default()
    }

    fn finish(&mut self, ir: &PromptIr) -> ShortHash {
        let (beginning, hashed) = (self.text.len(), self.whole_blocks().len());
        write_rest(ir, &mut self.text);
        let rest = self.text.as_bytes().get(hashed..).unwrap_or_default();
        let hash = ShortHash::of(&self.blocks.clone().chain_update(rest).finalize());
        self.text.truncate(beginning);
        hash
    }
}

/// Shows nothing of the prompt, which may be secret.
impl fmt::Debug for Hasher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Hasher").finish_non_exhaustive()
    }
}

impl ShortHash {
    fn of(digest: &[u8]) -> ShortHash {
        const DIGITS: [u8; 16] = *b"0123456789abcdef";
        let mut out = [0; HASH_LENGTH];
        for (digits, byte) in out.chunks_exact_mut(2).zip(digest) {
            let values = [byte >> 4, byte & 0xf];
            digits.iter_mut().zip(values).for_each(|(digit, value)| *digit = DIGITS[usize::from(value)]);
        }
        ShortHash(out)
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        // Hexadecimal digits are ASCII, whatever the hash.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Deref for ShortHash {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for ShortHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl fmt::Debug for ShortHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.as_str())
    }
}

impl PartialEq<str> for ShortHash {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for ShortHash {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl From<ShortHash> for Value {
    fn from(hash: ShortHash) -> Self {
        Value::from(hash.as_str())
    }
}

/// About as many bytes as the text of a prompt has.
fn capacity(ir: &PromptIr) -> usize {
    let texts = ir.context_refs.iter().chain(ir.constraints.iter()).map(|text| text.len() + 4);
    texts.sum::<usize>() + ir.intent.len() + 512
}

/// The fields before the id. Fields of a later version are not among them.
fn write_beginning(ir: &PromptIr, out: &mut String) {
    list(r#"{"constraints": ["#, &ir.constraints, out);
    list(r#", "context_refs": ["#, &ir.context_refs, out);
    out.push_str(r#", "created_at": ""#);
    ir.created_at.put(out);
    text(r#"", "intent": "#, &ir.intent, out);
}

/// The id and the fields after it.
fn write_rest(ir: &PromptIr, out: &mut String) {
    const LAYOUT: Layout = Layout::PYTHON_SPACED;
    text(r#", "ir_id": "#, &ir.ir_id, out);
    text(r#", "ir_version": "#, &ir.ir_version, out);
    out.push_str(r#", "metadata": "#);
    write_object(&ir.metadata, &LAYOUT, out);
    match &ir.model_hint {
        Some(hint) => text(r#", "model_hint": "#, hint, out),
        None => out.push_str(r#", "model_hint": null"#),
    }
    out.push_str(r#", "output_requirements": "#);
    write_object(&ir.output_requirements, &LAYOUT, out);
    text(r#", "phase": "#, ir.phase.word(), out);
    out.push_str(r#", "priority": "#);
    write(&Value::from(ir.priority), &LAYOUT, out);
    text(r#", "role": "#, &ir.role, out);
    text(r#", "schema_id": "#, &ir.schema_id, out);
    out.push_str(r#", "temperature_hint": "#);
    write(&Value::from(&ir.temperature_hint), &LAYOUT, out);
    out.push_str(r#", "token_budget": "#);
    write(&Value::from(&ir.token_budget), &LAYOUT, out);
    out.push('}');
}

fn text(key: &str, value: &str, out: &mut String) {
    out.push_str(key);
    write_string(value, &Layout::PYTHON_SPACED, out);
}

fn list(opening: &str, texts: &[String], out: &mut String) {
    out.push_str(opening);
    for (index, value) in texts.iter().enumerate() {
        text(if index == 0 { "" } else { ", " }, value, out);
    }
    out.push(']');
}
