//! The providers' cache rules, read from the tables in `data/`.
//!
//! Invariant: no number of a provider is in code. A new model or a changed price is a changed row.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::{CachePricing, Surface};

/// A cache whose entries are written where the request has marks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkedRules {
    pub as_of: String,
    pub marks: usize,
    pub look_back: usize,
    pub write_short: f64,
    pub write_long: f64,
    pub read: f64,
    pub short_seconds: f64,
    pub long_seconds: f64,
    pub readable_after_seconds: f64,
    default_minimum: u64,
    minimum: BTreeMap<String, u64>,
}

/// A cache that the provider fills by itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutomaticRules {
    pub as_of: String,
    pub minimum: u64,
    pub step: u64,
    pub requests_per_minute: u64,
    pub readable_after_seconds: f64,
    default: AutomaticFamily,
    families: BTreeMap<String, AutomaticFamily>,
}

/// What an automatic cache charges for a family of models, in multiples of the input price.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutomaticFamily {
    pub read: f64,
    pub write: f64,
    /// How long an entry stays after its last use.
    pub idle_seconds: f64,
}

/// The rules of the provider behind a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CacheRules {
    Marked(&'static MarkedRules),
    Automatic(&'static AutomaticRules),
}

static ANTHROPIC: LazyLock<MarkedRules> =
    LazyLock::new(|| embedded(include_str!("../data/anthropic.toml"), "anthropic"));
static OPENAI: LazyLock<AutomaticRules> =
    LazyLock::new(|| embedded(include_str!("../data/openai.toml"), "openai"));
static GEMINI: LazyLock<AutomaticRules> =
    LazyLock::new(|| embedded(include_str!("../data/gemini.toml"), "gemini"));

impl CacheRules {
    #[must_use]
    pub fn of(surface: Surface) -> Self {
        match surface {
            Surface::AnthropicMessages => CacheRules::Marked(MarkedRules::anthropic()),
            Surface::OpenAiChat | Surface::OpenAiResponses => CacheRules::Automatic(AutomaticRules::openai()),
            Surface::GeminiGenerateContent => CacheRules::Automatic(AutomaticRules::gemini()),
        }
    }
}

impl MarkedRules {
    #[must_use]
    pub fn anthropic() -> &'static Self {
        &ANTHROPIC
    }

    /// The fewest tokens that are cached for a model.
    #[must_use]
    pub fn minimum(&self, model: &str) -> u64 {
        let name = family_name(model);
        let family = self.minimum.iter().filter(|(family, _)| is_of_family(&name, family));
        family.max_by_key(|(family, _)| family.len()).map_or(self.default_minimum, |(_, minimum)| *minimum)
    }

    #[must_use]
    pub fn pricing(&self) -> CachePricing {
        CachePricing {
            read_multiplier: self.read,
            write_short_multiplier: self.write_short,
            write_long_multiplier: Some(self.write_long),
        }
    }
}

impl AutomaticRules {
    #[must_use]
    pub fn openai() -> &'static Self {
        &OPENAI
    }

    #[must_use]
    pub fn gemini() -> &'static Self {
        &GEMINI
    }

    /// What a model's family is charged.
    #[must_use]
    pub fn family(&self, model: &str) -> AutomaticFamily {
        let name = model.rsplit('/').next().unwrap_or(model);
        let named = self.families.iter().filter(|(family, _)| name.starts_with(family.as_str()));
        named.max_by_key(|(family, _)| family.len()).map_or(self.default, |(_, family)| *family)
    }
}

/// A model's name as the table writes it: without vendor and region, with dashes, without date and version
/// marks. `us.anthropic.claude-opus-4-5-20251101-v1:0` and `claude-opus-4.5` are both `claude-opus-4-5`.
fn family_name(model: &str) -> String {
    let start = model.rfind("claude").unwrap_or(0);
    let name = model[start..].split([':', '@']).next().unwrap_or_default().replace('.', "-");
    let is_date = |part: &str| part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = |part: &str| part.strip_prefix('v').is_some_and(|rest| rest.parse::<u8>().is_ok());
    let kept = name.split('-').filter(|part| !is_date(part) && !is_version(part) && *part != "latest");
    kept.collect::<Vec<_>>().join("-")
}

/// Whether a name is the family itself or a variant of it; a further number makes it another family.
fn is_of_family(name: &str, family: &str) -> bool {
    match name.strip_prefix(family) {
        None => false,
        Some("") => true,
        Some(rest) => {
            let mut rest = rest.chars();
            rest.next() == Some('-') && rest.next().is_some_and(|next| !next.is_ascii_digit())
        }
    }
}

#[expect(clippy::panic, reason = "the tables are part of the program, and a test reads each of them")]
pub(crate) fn embedded<T: serde::de::DeserializeOwned>(text: &str, name: &str) -> T {
    match toml::from_str(text) {
        Ok(rules) => rules,
        Err(error) => panic!("the table `{name}` of the program is broken: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashed_and_dated_names_find_their_family() {
        let rules = MarkedRules::anthropic();
        for (model, minimum) in [
            ("claude-opus-4-5-20251101", 4096),
            ("claude-opus-4.5", 4096),
            ("claude-opus-4-6", 4096),
            ("claude-opus-4-20250514", 1024),
            ("claude-opus-4-7-latest", 2048),
            ("claude-opus-5", 512),
            ("claude-opus-5-fast", 512),
            ("claude-haiku-4-5", 4096),
            ("claude-3-5-haiku-20241022", 2048),
            ("claude-3-7-sonnet-latest", 1024),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", 4096),
            ("anthropic/claude-haiku-4.5", 4096),
            ("claude-opus-4-6@20260101", 4096),
            ("claude-opus-4-9", 1024),
            ("other", 1024),
        ] {
            assert_eq!(rules.minimum(model), minimum, "{model}");
        }
    }

    #[test]
    fn automatic_families_have_their_prices() {
        let rules = AutomaticRules::openai();
        for (model, read, write) in [
            ("gpt-4o-mini", 0.5, 1.0),
            ("openai/gpt-5-nano", 0.1, 1.0),
            ("gpt-5.6-mini", 0.1, 1.25),
            ("o3-mini", 0.5, 1.0),
            ("o3", 0.25, 1.0),
            ("unknown", 0.5, 1.0),
        ] {
            let family = rules.family(model);
            assert_eq!((family.read, family.write), (read, write), "{model}");
        }
        assert_eq!(AutomaticRules::gemini().family("gemini-2.5-pro").read, 0.1);
    }

    #[test]
    fn every_surface_has_rules() {
        for surface in Surface::ALL {
            match CacheRules::of(surface) {
                CacheRules::Marked(rules) => assert!(rules.pricing().breakeven_reads_short() < 1.0),
                CacheRules::Automatic(rules) => assert!(rules.minimum > 0 && rules.step > 0),
            }
        }
    }
}
