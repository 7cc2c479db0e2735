//! Ops of the block line. The header of [`super`] says how one is added.

use stave_block::{BlockContentType, CachePricing, Surface, canonicalize_json, normalize_whitespace};
use stave_canon::{CountingIds, FixedClock, Timestamp, Value, prefixed_sha256};
use stave_lower::request_to_block;

use super::{Outcome, Refusal, Table, member, output, text};

pub(super) const OPS: Table =
    &[("block.build", build), ("block.canonicalize", canonicalize), ("block.economics", economics)];

fn build(input: &Value) -> Outcome {
    let word = text(input, "surface")?;
    let surface = match word {
        "gemini" | "gemini_generateContent" => Some(Surface::GeminiGenerateContent),
        _ => Surface::from_word(word),
    };
    let surface = surface.ok_or_else(|| Refusal(format!("`{word}` is not a known surface")))?;
    let body = member(input, "request")?.to_string();
    let clock = FixedClock(Timestamp::UNIX_EPOCH);
    let blocks = request_to_block(&body, Some(surface), None, &CountingIds::new(), &clock)?;
    let rows = blocks.prompt.blocks.iter().zip(&blocks.places).map(|(block, place)| {
        // The vectors have the specification's words.
        let content_type = block.content_type.specified();
        let plain = place.plain && content_type == BlockContentType::Text;
        output([
            ("sequence_index", block.sequence_index.into()),
            ("role", block.role.word().into()),
            ("content_type", content_type.word().into()),
            ("provenance", block.provenance.word().into()),
            ("sensitivity", block.sensitivity.word().into()),
            ("content", if plain { block.content.as_str().into() } else { Value::Null }),
        ])
    });
    Ok(output([("blocks", Value::Array(rows.collect()))]))
}

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
