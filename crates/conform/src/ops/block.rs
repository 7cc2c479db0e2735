//! Ops of the block line. The header of [`super`] says how one is added.

use stave_block::{CachePricing, canonicalize_json, normalize_whitespace};
use stave_canon::{Value, prefixed_sha256};

use super::{Outcome, Refusal, Table, member, output, text};

pub(super) const OPS: Table = &[("block.canonicalize", canonicalize), ("block.economics", economics)];

fn canonicalize(input: &Value) -> Outcome {
    let (key, canonical) = match input.get("json") {
        Some(_) => ("canonical", canonicalize_json(text(input, "json")?)?),
        None => ("normalized", normalize_whitespace(text(input, "text")?)),
    };
    let sha256 = prefixed_sha256(&canonical).into();
    Ok(output([(key, canonical.into()), ("sha256", sha256)]))
}

fn economics(input: &Value) -> Outcome {
    let prices = member(input, "pricing")?;
    let pricing = CachePricing {
        read_multiplier: number(prices, "read_multiplier")?,
        write_short_multiplier: number(prices, "write_short_multiplier")?,
        write_long_multiplier: match prices.get("write_long_multiplier") {
            None | Some(Value::Null) => None,
            Some(_) => Some(number(prices, "write_long_multiplier")?),
        },
    };
    let savings = pricing.marginal_net_savings(number(input, "tokens")?, number(input, "expected_reads")?);
    Ok(output([
        ("breakeven_reads_short", reads(pricing.breakeven_reads_short())),
        ("breakeven_reads_long", pricing.breakeven_reads_long().map(reads).into()),
        ("marginal_net_savings", savings.into()),
    ]))
}

/// A count of reads; infinity, which JSON lacks, is a word.
fn reads(reads: f64) -> Value {
    if reads.is_infinite() { "inf".into() } else { reads.into() }
}

fn number(input: &Value, key: &str) -> Result<f64, Refusal> {
    let value = member(input, key)?;
    value.as_f64().ok_or_else(|| Refusal(format!("`{key}` must be a number, not {}", value.kind())))
}
