//! `[journal]` and `[budget]`: what is kept of runs, and what runs may use up.

use std::time::Duration;

use stave_canon::{Object, Value};
use stave_runtime::journal::Retention;
use toml::de::DeValue;

use super::read::{Reader, Table};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What a project sets about its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct JournalSettings {
    /// The largest result or request that is kept.
    pub(crate) record_bytes: Option<u64>,
    pub(crate) keep_days: Option<u64>,
    pub(crate) keep_runs: Option<u64>,
    pub(crate) max_bytes: Option<u64>,
    /// Whether it is kept what models were asked; it is, unless the project says otherwise.
    pub(crate) prompts: Option<bool>,
}

impl JournalSettings {
    /// What `stave run` takes away before it begins; `None` when the project says nothing.
    pub(crate) fn retention(&self) -> Option<Retention> {
        if self.keep_days.is_none() && self.max_bytes.is_none() {
            return None;
        }
        Some(Retention {
            older_than: self
                .keep_days
                .map(|days| DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX))),
            keep: self.keep_runs.map_or(0, |runs| usize::try_from(runs).unwrap_or(usize::MAX)),
            max_bytes: self.max_bytes,
        })
    }
}

impl Reader<'_> {
    pub(super) fn journal(&mut self, root: &Table<'_>) -> JournalSettings {
        let Some(journal) = self.table(root, "journal") else { return JournalSettings::default() };
        self.known(journal, "journal.", &["record_bytes", "keep_days", "keep_runs", "max_bytes", "prompts"]);
        JournalSettings {
            record_bytes: self.positive(journal, "record_bytes"),
            keep_days: self.positive(journal, "keep_days"),
            keep_runs: self.positive(journal, "keep_runs"),
            max_bytes: self.positive(journal, "max_bytes"),
            prompts: self.flag(journal, "prompts"),
        }
    }

    /// The budget of every run, as documents have it.
    pub(super) fn budget(&mut self, root: &Table<'_>) -> Object {
        let Some(budget) = self.table(root, "budget") else { return Object::new() };
        self.known(budget, "budget.", &["tokens", "cost_usd", "calls", "wall_ms"]);
        let mut values = Object::new();
        for key in ["tokens", "calls", "wall_ms"] {
            if let Some(count) = self.positive(budget, key) {
                values.insert(key.to_owned(), count.into());
            }
        }
        let amount = budget.get("cost_usd").map(|value| match value.get_ref() {
            DeValue::Integer(integer) => integer.as_str().parse::<f64>().ok(),
            DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
            _ => None,
        });
        match amount {
            None => {}
            Some(Some(dollars)) if dollars.is_finite() && dollars > 0.0 => {
                values.insert("cost_usd".to_owned(), Value::from(dollars));
            }
            Some(_) => self.bad_value(budget, "cost_usd", "an amount above 0, in US dollars"),
        }
        values
    }
}
