//! One row of a price table, as `stave.toml` and the embedded table write it.

use stave_canon::Number;
use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, Value, ValueKind, ValueNode};

use super::{DECIMALS, Price, decimal};

/// What a model costs, in US dollars per million tokens, and how much it takes. `input` and `output` come together; a row
/// with `context` alone leaves the price as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Shape)]
#[shape(not_null, check = check)]
pub struct PriceRow {
    /// A million tokens of the prompt, such as `"2.50"`.
    #[shape(with = dollars)]
    pub input: Option<u64>,
    /// A million tokens of the answer.
    #[shape(with = dollars)]
    pub output: Option<u64>,
    /// A million tokens read from the provider's cache; `input` when absent.
    #[shape(with = dollars)]
    pub cache_read: Option<u64>,
    /// A million tokens written to the provider's cache; `input` when absent.
    #[shape(with = dollars)]
    pub cache_write: Option<u64>,
    /// A million tokens written to the cache for an hour; `cache_write` when absent.
    #[shape(with = dollars)]
    pub cache_write_1h: Option<u64>,
    /// When the price was looked up.
    #[shape(with = date)]
    pub as_of: Option<String>,
    /// How many tokens prompt and answer may have together.
    #[shape(min = 1)]
    pub context: Option<u64>,
}

impl PriceRow {
    /// The price, when the row has one.
    pub(super) fn price(&self) -> Option<Price> {
        let (input, output) = (self.input?, self.output?);
        let cache_write = self.cache_write.unwrap_or(input);
        Some(Price {
            input,
            output,
            cache_read: self.cache_read.unwrap_or(input),
            cache_write,
            cache_write_1h: self.cache_write_1h.unwrap_or(cache_write),
            as_of: self.as_of.clone(),
        })
    }
}

/// Half a price says nothing, and neither does an empty row.
fn check<N: ValueNode>(_: Option<&PriceRow>, node: N, at: &Place<'_>, reader: &mut Reader) {
    let has = |key: &&str| node.member(key).is_some();
    let is_priced = ["input", "output", "cache_read", "cache_write", "cache_write_1h"].iter().any(has);
    if is_priced || !has(&"context") {
        for key in ["input", "output"].into_iter().filter(|key| !has(key)) {
            reader.fault(at, node.span(), FaultKind::MissingKey(key));
        }
    }
}

/// An exact amount: a number or its text, read as millionths.
mod dollars {
    use super::*;

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<u64> {
        let text = match (node.text(), node.number()) {
            (Some(text), _) => text.to_owned(),
            // The shortest text of a float is the decimal that its author wrote.
            (None, Some(Number::Float(float))) => float.to_string(),
            (None, Some(number)) => Value::Number(number).to_string(),
            (None, None) => {
                reader.wrong_type(node, at, "a number");
                return None;
            }
        };
        let amount = decimal(&text).ok();
        if amount.is_none() {
            let wanted = "an amount such as 2.50 with at most 6 digits after the point";
            reader.fault(at, node.span(), FaultKind::WrongForm { wanted, found: text });
        }
        amount
    }

    pub(super) fn write(amount: &u64) -> Value {
        let unit = 10_u64.pow(DECIMALS as u32);
        format!("{}.{:0DECIMALS$}", amount / unit, amount % unit).into()
    }

    pub(super) fn schema(_: &mut Definitions) -> Value {
        let number = Value::from_iter([("type", Value::from("number")), ("minimum", 0_u64.into())]);
        let text = Value::from_iter([("type", "string"), ("pattern", "^[0-9]+(\\.[0-9]{0,6})?$")]);
        Value::from_iter([("anyOf", vec![number, text])])
    }
}

/// A date of TOML, or a text such as `2026-05`.
mod date {
    use super::*;

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<String> {
        if node.kind() == ValueKind::Time {
            return node.to_value().as_str().map(str::to_owned);
        }
        String::read(node, at, reader)
    }

    pub(super) fn write(date: &str) -> Value {
        date.into()
    }

    pub(super) fn schema(definitions: &mut Definitions) -> Value {
        String::schema(definitions)
    }
}
