//! What a call costs and how much a model takes: a table in data, and exact sums.
//!
//! Invariant: money is never a floating-point number. A price is an integer of millionths of a dollar per
//! million tokens, so tokens times price is an exact integer of a millionth of a millionth of a dollar.

mod row;
mod server_tools;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use stave_canon::Value;

use crate::Usage;

pub use row::PriceRow;
pub use server_tools::server_tool_price;

const BUILT_IN: &str = include_str!("prices/table.toml");

/// How many digits after the point a price may have.
const DECIMALS: usize = 6;

/// Prices and context windows by model name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices {
    rows: BTreeMap<String, Known>,
}

/// What is known about a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Known {
    price: Option<Price>,
    context: Option<u64>,
}

/// Millionths of a dollar per million tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cache_write_1h: u64,
    /// When the price was last looked up, as the table says it.
    pub as_of: Option<String>,
}

/// An amount of dollars, exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cost {
    picodollars: u128,
}

impl Prices {
    /// The prices that Stave knows; `table.toml` says as of when.
    #[must_use]
    pub fn built_in() -> Self {
        static TABLE: LazyLock<Prices> = LazyLock::new(|| {
            let table = BUILT_IN.parse::<toml::Table>().unwrap_or_default();
            let rows = stave_shape::read(&value_of(toml::Value::Table(table)));
            debug_assert!(rows.is_ok(), "the embedded price table is valid: {rows:?}");
            Prices::default().with_rows(&rows.unwrap_or_default())
        });
        TABLE.clone()
    }

    /// These prices with the rows of a project over them. What a row leaves out stays as it is.
    #[must_use]
    pub fn with_rows(mut self, rows: &BTreeMap<String, PriceRow>) -> Self {
        for (model, row) in rows {
            let known = self.rows.entry(model.clone()).or_default();
            known.price = row.price().or(known.price.take());
            known.context = row.context.or(known.context);
        }
        self
    }

    /// The price of a model. A dated name (`gpt-4o-2024-08-06`), a name with the vendor before it
    /// (`openai/gpt-4o`) and `-latest` mean the model itself.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<&Price> {
        self.known(model, |known| known.price.as_ref())
    }

    /// How many tokens prompt and answer of a model may have together, where that is known.
    #[must_use]
    pub fn context(&self, model: &str) -> Option<u64> {
        self.known(model, |known| known.context)
    }

    fn known<'p, T>(&'p self, model: &str, part: impl Fn(&'p Known) -> Option<T>) -> Option<T> {
        let short = model.rsplit('/').next().unwrap_or(model);
        [model, short, without_date(short)].into_iter().find_map(|name| self.rows.get(name).and_then(&part))
    }

    /// What the usage costs; `None` when the model has no price, which is not the same as nothing.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<Cost> {
        self.of(model).map(|price| price.cost(usage))
    }

    /// Model names and prices, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Price)> {
        self.rows.iter().filter_map(|(model, known)| Some((model.as_str(), known.price.as_ref()?)))
    }
}

impl Price {
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Cost {
        let uncached = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let short_writes = usage.cache_write.saturating_sub(usage.cache_write_1h);
        let picodollars = [
            (uncached, self.input),
            (usage.cache_read, self.cache_read),
            (short_writes, self.cache_write),
            (usage.cache_write_1h, self.cache_write_1h),
            (usage.output, self.output),
        ]
        .into_iter()
        .map(|(tokens, price)| u128::from(tokens) * u128::from(price))
        .fold(0, u128::saturating_add);
        Cost { picodollars }
    }
}

impl Cost {
    #[must_use]
    pub fn from_micros(micros: u64) -> Self {
        Cost { picodollars: u128::from(micros) * 1_000_000 }
    }

    #[must_use]
    pub fn from_picodollars(picodollars: u128) -> Self {
        Cost { picodollars }
    }

    /// Millionths of a dollar, rounded up: a budget must not be exceeded by what rounding hides.
    #[must_use]
    pub fn micros(self) -> u64 {
        u64::try_from(self.picodollars.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// The exact amount in millionths of a millionth of a dollar.
    #[must_use]
    pub fn picodollars(self) -> u128 {
        self.picodollars
    }
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost { picodollars: self.picodollars.saturating_add(other.picodollars) }
    }
}

impl std::ops::Mul<u64> for Cost {
    type Output = Cost;

    fn mul(self, times: u64) -> Cost {
        Cost { picodollars: self.picodollars.saturating_mul(u128::from(times)) }
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), std::ops::Add::add)
    }
}

/// Dollars with six digits after the point, rounded up.
impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.micros();
        write!(out, "${}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }
}

/// Dollars with at most six digits after the point, such as `2.50`.
impl std::str::FromStr for Cost {
    type Err = String;

    fn from_str(text: &str) -> Result<Cost, String> {
        decimal(text).map(Cost::from_micros)
    }
}

/// Reads a decimal as millionths, exactly.
fn decimal(text: &str) -> Result<u64, String> {
    let fault =
        || format!("`{text}` is not an amount such as 2.50 with at most {DECIMALS} digits after the point");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > DECIMALS {
        return Err(fault());
    }
    format!("{whole}{fraction:0<DECIMALS$}").parse().map_err(|_| fault())
}

/// The embedded table as a value that shapes are read from. It has texts and integers only.
fn value_of(toml: toml::Value) -> Value {
    match toml {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(integer) => integer.into(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, value_of(value))).collect(),
        _ => Value::Null,
    }
}

/// Cuts `-YYYY-MM-DD`, `-YYYYMMDD`, `-latest` and `@YYYYMMDD` off a name.
fn without_date(model: &str) -> &str {
    let digits =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(name) = model.strip_suffix("-latest") {
        return name;
    }
    if let Some((name, date)) = model.rsplit_once(['-', '@'])
        && digits(date, 8)
    {
        return name;
    }
    let mut pieces = model.rsplitn(4, '-');
    match (pieces.next(), pieces.next(), pieces.next(), pieces.next()) {
        (Some(day), Some(month), Some(year), Some(name))
            if digits(day, 2) && digits(month, 2) && digits(year, 4) =>
        {
            name
        }
        _ => model,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage() -> Usage {
        Usage {
            input: 1000,
            output: 10,
            cache_read: 600,
            cache_write: 300,
            cache_write_1h: 100,
            reasoning: 5,
        }
    }

    #[test]
    fn every_kind_of_token_has_its_own_price_and_the_sum_is_exact() {
        let prices = Prices::built_in();
        let cost = prices.cost("claude-sonnet-4-5", &usage()).unwrap();
        let exact =
            100 * 3_000_000 + 600 * 300_000 + 200 * 3_750_000 + 100 * 6_000_000 + 10 * 15_000_000_u128;
        assert_eq!(cost.picodollars(), exact);
        assert_eq!(cost.to_string(), "$0.001980");
        let tiny = prices.cost("gpt-5-nano", &Usage { cache_read: 1, input: 1, ..Usage::default() }).unwrap();
        assert_eq!((tiny.picodollars(), tiny.micros()), (5_000, 1));
    }

    #[test]
    fn a_model_without_a_price_has_none() {
        let prices = Prices::built_in();
        for model in ["", "gpt-4o-mini-tts", "gpt-4o-2024", "llama3", "claude-opus-4-9", "gpt-4"] {
            assert_eq!(prices.cost(model, &usage()), None, "{model}");
        }
    }

    #[test]
    fn dated_and_prefixed_names_mean_the_model() {
        let prices = Prices::built_in();
        for (alias, model) in [
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("openai/gpt-4o-mini", "gpt-4o-mini"),
            ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            ("claude-opus-4-20250514", "claude-opus-4"),
            ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
            ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ] {
            assert!(prices.of(alias).is_some(), "{alias}");
            assert_eq!(prices.of(alias), prices.of(model), "{alias}");
        }
    }

    fn rows(json: &str) -> Result<BTreeMap<String, PriceRow>, stave_shape::Faults> {
        stave_shape::read(&stave_canon::parse(json).unwrap())
    }

    #[test]
    fn a_project_overrides_and_adds_prices_in_any_way_of_writing_a_number() {
        let rows = rows(
            r#"{"gpt-4o": {"input": 2, "output": 0.1}, "gpt-4o-mini": {"context": 9},
                "house-model": {"input": "0.000001", "output": "1", "as_of": "2026-01-02", "context": 32768}}"#,
        );
        let prices = Prices::built_in().with_rows(&rows.unwrap());
        let price = prices.of("gpt-4o").unwrap();
        assert_eq!((price.input, price.output, price.cache_read), (2_000_000, 100_000, 2_000_000));
        assert_eq!(prices.context("gpt-4o"), Some(128_000), "a price leaves the context as it is");
        let price = prices.of("house-model").unwrap();
        assert_eq!((price.input, price.as_of.as_deref()), (1, Some("2026-01-02")));
        assert_eq!(prices.context("house-model"), Some(32_768));
        assert_eq!(prices.context("gpt-4o-mini"), Some(9));
        assert_eq!(prices.of("gpt-4o-mini"), Prices::built_in().of("gpt-4o-mini"));
    }

    #[test]
    fn every_fault_of_a_row_is_reported() {
        for (json, says) in [
            (r#"{"m": {"input": -1, "output": 1}}"#, "/m/input: must be an amount such as 2.50"),
            (r#"{"m": {"input": 1e-7, "output": 1}}"#, "/m/input: must be an amount"),
            (r#"{"m": {"input": "1,5", "output": true}}"#, "/m/output: must be a number, not a boolean"),
            (r#"{"m": {"input": 1}}"#, "/m: `output` is missing"),
            (r#"{"m": {}}"#, "/m: `input` is missing; /m: `output` is missing"),
            (r#"{"m": {"cache_read": 1, "context": 5}}"#, "/m: `input` is missing; /m: `output` is missing"),
            (r#"{"m": {"inputs": 1, "context": 5}}"#, "/m/inputs: `inputs` is not a key"),
            (r#"{"m": {"context": 0}}"#, "/m/context: must be at least 1"),
            (r#"{"m": 1}"#, "/m: must be an object"),
        ] {
            let message = rows(json).unwrap_err().to_string();
            assert!(message.contains(says), "{message}");
        }
    }

    #[test]
    fn windows_are_known_by_the_names_that_prices_are_known_by() {
        let prices = Prices::built_in();
        for (model, context) in [
            ("gpt-4", Some(8_192)),
            ("gpt-4-0613", Some(8_192)),
            ("gpt-3.5-turbo", Some(16_385)),
            ("gpt-4-turbo-2024-04-09", Some(128_000)),
            ("openai/gpt-4o-2024-08-06", Some(128_000)),
            ("claude-3-opus-20240229", Some(200_000)),
            ("claude-3-7-sonnet-latest", Some(200_000)),
            ("claude-opus-5", Some(1_000_000)),
            ("gpt-5", Some(400_000)),
            ("gpt-5.5", None),
            ("house-model", None),
        ] {
            assert_eq!(prices.context(model), context, "{model}");
        }
        assert_eq!(prices.of("gpt-4"), None, "a window is not a price");
    }
}
