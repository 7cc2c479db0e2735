//! What a call costs: a table of prices in data, and exact sums.
//!
//! Invariant: money is never a floating-point number. A price is an integer of millionths of a dollar per
//! million tokens, so tokens times price is an exact integer of a millionth of a millionth of a dollar.

mod server_tools;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use thiserror::Error;

use crate::Usage;

pub use server_tools::server_tool_price;

const BUILT_IN: &str = include_str!("prices/table.toml");

/// How many digits after the point a price may have.
const DECIMALS: usize = 6;

/// Prices by model name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices {
    rows: BTreeMap<String, Price>,
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

/// A price table that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PriceError {
    #[error("{0}")]
    Toml(String),
    #[error("`[prices.{model}]`: {message}")]
    Row { model: String, message: String },
}

impl Prices {
    /// The prices that Stave knows; `table.toml` says as of when.
    #[must_use]
    pub fn built_in() -> Self {
        static TABLE: LazyLock<Prices> = LazyLock::new(|| {
            let table = BUILT_IN.parse::<toml::Table>().map_err(|error| PriceError::Toml(error.to_string()));
            let read = table.and_then(|table| Prices::default().with_rows(&table));
            debug_assert!(read.is_ok(), "the embedded price table is valid: {read:?}");
            read.unwrap_or_default()
        });
        TABLE.clone()
    }

    /// These prices with the `[prices.MODEL]` tables of a project's `stave.toml` over them. The rest of the
    /// text is left to others.
    pub fn with_overrides(self, project: &str) -> Result<Self, PriceError> {
        let project = project.parse::<toml::Table>().map_err(|error| PriceError::Toml(error.to_string()))?;
        match project.get("prices") {
            None => Ok(self),
            Some(toml::Value::Table(rows)) => self.with_rows(rows),
            Some(_) => Err(PriceError::Toml("`prices` must be a table of tables".to_owned())),
        }
    }

    fn with_rows(mut self, rows: &toml::Table) -> Result<Self, PriceError> {
        for (model, row) in rows {
            let fault = |message: String| PriceError::Row { model: model.clone(), message };
            let toml::Value::Table(row) = row else { return Err(fault("must be a table".to_owned())) };
            self.rows.insert(model.clone(), Price::read(row).map_err(fault)?);
        }
        Ok(self)
    }

    /// The price of a model. A dated name (`gpt-4o-2024-08-06`), a name with the vendor before it
    /// (`openai/gpt-4o`) and `-latest` mean the model itself.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<&Price> {
        let short = model.rsplit('/').next().unwrap_or(model);
        [model, short, without_date(short)].into_iter().find_map(|name| self.rows.get(name))
    }

    /// What the usage costs; `None` when the model has no price, which is not the same as nothing.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<Cost> {
        self.of(model).map(|price| price.cost(usage))
    }

    /// Model names and prices, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Price)> {
        self.rows.iter().map(|(model, price)| (model.as_str(), price))
    }
}

impl Price {
    fn read(row: &toml::Table) -> Result<Self, String> {
        let known = ["input", "output", "cache_read", "cache_write", "cache_write_1h", "as_of"];
        if let Some(key) = row.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(format!("the field `{key}` is unknown; known are {}", known.join(", ")));
        }
        let amount = |key: &str| match row.get(key) {
            None => Ok(None),
            // The shortest text of a float is the decimal that its author wrote.
            Some(toml::Value::Float(float)) => decimal(&float.to_string()).map(Some),
            Some(toml::Value::Integer(integer)) => decimal(&integer.to_string()).map(Some),
            Some(toml::Value::String(text)) => decimal(text).map(Some),
            Some(_) => Err(format!("`{key}` must be a number")),
        };
        let input = amount("input")?.ok_or("`input` is missing")?;
        let cache_write = amount("cache_write")?.unwrap_or(input);
        let as_of = match row.get("as_of") {
            None => None,
            Some(toml::Value::String(text)) => Some(text.clone()),
            Some(toml::Value::Datetime(date)) => Some(date.to_string()),
            Some(_) => return Err("`as_of` must be a date".to_owned()),
        };
        Ok(Price {
            input,
            output: amount("output")?.ok_or("`output` is missing")?,
            cache_read: amount("cache_read")?.unwrap_or(input),
            cache_write,
            cache_write_1h: amount("cache_write_1h")?.unwrap_or(cache_write),
            as_of,
        })
    }

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

    #[test]
    fn a_project_overrides_and_adds_prices_in_any_way_of_writing_a_number() {
        let project = "[project]\ntenant = \"acme\"\n[prices.gpt-4o]\ninput = 2\noutput = 0.1\n\
                       [prices.house-model]\ninput = \"0.000001\"\noutput = \"1\"\nas_of = 2026-01-02\n";
        let prices = Prices::built_in().with_overrides(project).unwrap();
        let price = prices.of("gpt-4o").unwrap();
        assert_eq!((price.input, price.output, price.cache_read), (2_000_000, 100_000, 2_000_000));
        let price = prices.of("house-model").unwrap();
        assert_eq!((price.input, price.as_of.as_deref()), (1, Some("2026-01-02")));
        assert_eq!(Prices::built_in().with_overrides("").unwrap(), Prices::built_in());
    }

    #[test]
    fn a_bad_price_names_its_model() {
        for (project, says) in [
            ("[prices.m]\ninput = -1\noutput = 1", "`[prices.m]`: `-1` is not an amount"),
            ("[prices.m]\ninput = 1e-7\noutput = 1", "is not an amount"),
            ("[prices.m]\ninput = nan\noutput = 1", "is not an amount"),
            ("[prices.m]\ninput = \"1,5\"\noutput = 1", "is not an amount"),
            ("[prices.m]\ninput = 1", "`output` is missing"),
            ("[prices.m]\ninputs = 1", "the field `inputs` is unknown"),
            ("[prices]\nm = 1", "must be a table"),
            ("prices = 1", "must be a table of tables"),
            ("[", "TOML parse error"),
        ] {
            let message = Prices::default().with_overrides(project).unwrap_err().to_string();
            assert!(message.contains(says), "{message}");
        }
    }
}
