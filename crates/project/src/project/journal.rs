//! `[journal]` and `[budget]`: what is kept of runs, and what runs may use up.

use std::time::Duration;

use stave_canon::{Object, Value};
use stave_runtime::journal::RunRetention;
use stave_shape::Shape;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What is kept of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Shape)]
#[shape(not_null, name = "Journal")]
pub struct JournalSettings {
    /// The largest result or request that is kept, in bytes.
    #[shape(min = 1)]
    pub record_bytes: Option<u64>,
    /// Days after which `stave run` and `stave serve` remove ended runs; they are kept when absent.
    #[shape(min = 1)]
    pub keep_days: Option<u64>,
    /// The number of newest runs that are kept whatever their age.
    #[shape(min = 1)]
    pub keep_runs: Option<u64>,
    /// The size of the journal above which `stave run` and `stave serve` remove the oldest ended runs; without a limit when absent.
    #[shape(min = 1)]
    pub max_bytes: Option<u64>,
    /// Whether what models were asked is kept.
    #[shape(unset = true)]
    pub prompts: Option<bool>,
}

impl JournalSettings {
    /// What `stave run` takes away before it begins, and `stave serve` while it serves; `None` when the project says nothing.
    pub fn retention(&self) -> Option<RunRetention> {
        if self.keep_days.is_none() && self.max_bytes.is_none() {
            return None;
        }
        Some(RunRetention {
            older_than: self
                .keep_days
                .map(|days| DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX))),
            keep: self.keep_runs.map_or(0, |runs| usize::try_from(runs).unwrap_or(usize::MAX)),
            max_bytes: self.max_bytes,
        })
    }
}

/// What every run may use up.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct BudgetTable {
    /// The tokens of all model calls of a run together.
    #[shape(min = 1)]
    tokens: Option<u64>,
    /// The calls of models and hosts of a run.
    #[shape(min = 1)]
    calls: Option<u64>,
    /// The time of a run, in milliseconds.
    #[shape(min = 1)]
    wall_ms: Option<u64>,
    /// The cost of all model calls of a run, in US dollars.
    #[shape(with = dollars)]
    cost_usd: Option<f64>,
}

impl BudgetTable {
    /// The budget as documents have it.
    pub(super) fn object(&self) -> Object {
        match self.write() {
            Value::Object(budget) => budget,
            _ => Object::new(),
        }
    }
}

/// Amounts above 0.
mod dollars {
    use stave_canon::Value;
    use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<f64> {
        let amount = f64::read(node, at, reader)?;
        if amount <= 0.0 {
            let found = node.to_value().to_string();
            reader.fault(at, node.span(), FaultKind::OutOfRange { wanted: "above 0".to_owned(), found });
            return None;
        }
        Some(amount)
    }

    pub(super) fn write(amount: &f64) -> Value {
        (*amount).into()
    }

    pub(super) fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", Value::from("number")), ("exclusiveMinimum", 0.into())])
    }
}
