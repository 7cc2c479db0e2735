//! The hash of a Prompt IR: SHA-256 over its dictionary as Python's `json.dumps` with sorted keys.
//!
//! The id and the creation time are part of the dictionary and therefore of the hash, as specified: a
//! hash names one instance at one stage, which is what links the records of a pipeline run.

use stave_canon::{Layout, Value, python_spaced, sha256_hex, write, write_object, write_string};

use crate::{PromptIr, to_dict};

/// How many hexadecimal digits of the SHA-256 a transformation record keeps.
pub const HASH_LENGTH: usize = 16;

/// The exact text that is hashed.
#[must_use]
pub fn canonical(ir: &PromptIr) -> String {
    // Fields of a later version would have to be sorted in between.
    if ir.later_fields.is_empty() { written(ir) } else { python_spaced(&to_dict(ir)) }
}

/// The whole SHA-256 as 64 lowercase hexadecimal digits.
#[must_use]
pub fn sha256(ir: &PromptIr) -> String {
    sha256_hex(canonical(ir))
}

/// The first [`HASH_LENGTH`] digits, as transformation records carry them.
#[must_use]
pub fn short_hash(ir: &PromptIr) -> String {
    let mut hash = sha256(ir);
    hash.truncate(HASH_LENGTH);
    hash
}

/// The text of a prompt with the fields of version 1.0, without the dictionary in between.
fn written(ir: &PromptIr) -> String {
    const LAYOUT: Layout = Layout::PYTHON_SPACED;
    let texts = ir.context_refs.iter().chain(&ir.constraints).map(|text| text.len() + 4).sum::<usize>();
    let mut out = String::with_capacity(texts + ir.intent.len() + 512);
    list(r#"{"constraints": ["#, &ir.constraints, &mut out);
    list(r#", "context_refs": ["#, &ir.context_refs, &mut out);
    text(r#", "created_at": "#, &ir.created_at.to_string(), &mut out);
    text(r#", "intent": "#, &ir.intent, &mut out);
    text(r#", "ir_id": "#, &ir.ir_id, &mut out);
    text(r#", "ir_version": "#, &ir.ir_version, &mut out);
    out.push_str(r#", "metadata": "#);
    write_object(&ir.metadata, &LAYOUT, &mut out);
    match &ir.model_hint {
        Some(hint) => text(r#", "model_hint": "#, hint, &mut out),
        None => out.push_str(r#", "model_hint": null"#),
    }
    out.push_str(r#", "output_requirements": "#);
    write_object(&ir.output_requirements, &LAYOUT, &mut out);
    text(r#", "phase": "#, ir.phase.word(), &mut out);
    out.push_str(r#", "priority": "#);
    write(&Value::from(ir.priority), &LAYOUT, &mut out);
    text(r#", "role": "#, &ir.role, &mut out);
    text(r#", "schema_id": "#, &ir.schema_id, &mut out);
    out.push_str(r#", "temperature_hint": "#);
    write(&Value::from(&ir.temperature_hint), &LAYOUT, &mut out);
    out.push_str(r#", "token_budget": "#);
    write(&Value::from(&ir.token_budget), &LAYOUT, &mut out);
    out.push('}');
    out
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
