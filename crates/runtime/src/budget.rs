//! What a run may use up, and what it has.
//!
//! Invariant: a call is made only after it was reserved, and it is reserved only while it fits; so a run
//! never makes a call that its budget does not cover, also when steps call at the same time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_llm::Usage;
use stave_llm::prices::Cost;

use crate::failure::{Failure, Kind};
use crate::report::NodeReport;
use crate::volume::Volume;

/// Bounds on a whole run; what is absent is not bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// Tokens of all model calls, in and out.
    pub tokens: Option<u64>,
    pub cost: Option<Cost>,
    /// Calls to models and hosts, every attempt counted.
    pub calls: Option<u64>,
    /// Time since this process took the run up.
    pub wall: Option<Duration>,
    /// Executions of steps.
    pub steps: Option<u64>,
}

/// What has been used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    pub tokens: u64,
    pub cost: Cost,
    pub calls: u64,
    pub steps: u64,
    /// The bytes that were written.
    pub volume: Volume,
}

/// A budget and what is left of it.
#[derive(Debug)]
pub(crate) struct Spending {
    budget: Budget,
    /// The reading of the clock when this process took the run up.
    started: Duration,
    /// The time that the run had taken by then and that counts.
    before: Duration,
    spent: Mutex<Spent>,
}

/// What a call is expected to use, held back until it is known what it used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reserved {
    tokens: u64,
    cost: Cost,
    /// How many attempts the call may make.
    pub(crate) attempts: u64,
}

impl Budget {
    /// Whether anything is bounded that steps use up together.
    pub(crate) fn is_shared(&self) -> bool {
        self.tokens.is_some() || self.cost.is_some() || self.calls.is_some() || self.steps.is_some()
    }

    /// Reads a budget from a document.
    pub(crate) fn read(value: &Value) -> Result<Budget, String> {
        let object = value.as_object().ok_or("`limits.budget` is not an object")?;
        let count = |key: &str| match object.get(key) {
            None => Ok(None),
            Some(value) => {
                let count = value.as_i64().and_then(|count| u64::try_from(count).ok());
                count.map(Some).ok_or_else(|| format!("`limits.budget.{key}` is not a whole number"))
            }
        };
        let cost = match object.get("cost_usd") {
            None => None,
            Some(value) => {
                let dollars = value.as_f64().filter(|dollars| dollars.is_finite() && *dollars >= 0.0);
                Some(dollars.ok_or("`limits.budget.cost_usd` is not an amount")?)
            }
        };
        Ok(Budget {
            tokens: count("tokens")?,
            cost: cost.map(|dollars| Cost::from_picodollars((dollars * 1e12) as u128)),
            calls: count("calls")?,
            wall: count("wall_ms")?.map(Duration::from_millis),
            steps: count("steps")?,
        })
    }
}

impl Spending {
    pub(crate) fn new(budget: Budget, started: Duration) -> Self {
        let spent =
            Spent { tokens: 0, cost: Cost::from_micros(0), calls: 0, steps: 0, volume: Volume::default() };
        Spending { budget, started, before: Duration::ZERO, spent: Mutex::new(spent) }
    }

    /// Of a run that has used something up elsewhere and has gone on for a while.
    pub(crate) fn going_on(budget: Budget, started: Duration, before: Duration, spent: Spent) -> Self {
        Spending { budget, started, before, spent: Mutex::new(spent) }
    }

    /// Adds what the nodes of a run used before it was interrupted.
    pub(crate) fn add_all(&self, reports: &[NodeReport]) {
        for report in reports {
            self.add(report.usage, report.cost, report.calls.into());
        }
        let steps = reports.iter().filter(|report| !report.is_idle() && !report.id.starts_with('_')).count();
        let mut spent = self.lock();
        spent.steps = spent.steps.saturating_add(steps as u64);
        spent.volume = reports.iter().fold(spent.volume, |sum, report| sum.plus(report.volume));
    }

    pub(crate) fn spent(&self) -> Spent {
        *self.lock()
    }

    /// Adds what was used before the run was interrupted.
    pub(crate) fn add(&self, usage: Option<Usage>, cost: Option<Cost>, calls: u64) {
        let mut spent = self.lock();
        spent.tokens = spent.tokens.saturating_add(usage.map_or(0, total));
        if let Some(cost) = cost {
            spent.cost = spent.cost + cost;
        }
        spent.calls = spent.calls.saturating_add(calls);
    }

    /// Makes room for a step. `now` is the reading of the clock.
    pub(crate) fn step(&self, now: Duration) -> Result<(), Failure> {
        let mut spent = self.lock();
        let wall = now.saturating_sub(self.started);
        let message = if let Some(limit) = self.budget.steps.filter(|limit| spent.steps >= *limit) {
            format!("the run's budget does not cover another step: {} of {limit} steps", spent.steps)
        } else if let Some(limit) = self.budget.wall.filter(|limit| wall >= *limit) {
            let (used, limit) = (wall.as_millis(), limit.as_millis());
            format!("the run's budget does not cover another step: {used} ms of {limit} ms")
        } else {
            spent.steps = spent.steps.saturating_add(1);
            return Ok(());
        };
        let details = self.details(*spent, wall);
        Err(Failure::new(codes::BUDGET_EXCEEDED, Kind::Budget, message).details(details))
    }

    /// Makes room for a call that takes at least `tokens`, costs at least `cost` and may be tried again
    /// `retries` times. `now` is the reading of the clock. A model without a price can not be kept to a
    /// budget of money.
    pub(crate) fn reserve(
        &self,
        tokens: u64,
        cost: Option<Cost>,
        retries: u32,
        now: Duration,
    ) -> Result<Reserved, Failure> {
        let mut spent = self.lock();
        let over = |what: &str, used: String, limit: String| {
            let message = format!("the run's budget does not cover another call: {what} {used} of {limit}");
            Failure::new(codes::BUDGET_EXCEEDED, Kind::Budget, message)
        };
        let budget = &self.budget;
        let failure = if let Some(limit) = budget.calls.filter(|limit| spent.calls >= *limit) {
            Some(over("calls:", spent.calls.to_string(), limit.to_string()))
        } else if let Some(limit) = budget
            .tokens
            .filter(|limit| spent.tokens >= *limit || spent.tokens.saturating_add(tokens) > *limit)
        {
            let used = format!("{} and at least {tokens} more", spent.tokens);
            Some(over("tokens:", used, limit.to_string()))
        } else if let Some(limit) = budget.cost {
            let more = cost.map(|cost| spent.cost + cost);
            match more {
                None => Some(over(
                    "the model has no price, so its cost is not known;",
                    String::new(),
                    dollars(limit),
                )),
                Some(more) if more > limit => Some(over("it would cost", dollars(more), dollars(limit))),
                Some(_) => None,
            }
        } else {
            None
        };
        let wall = self.before.saturating_add(now.saturating_sub(self.started));
        let failure = failure.or_else(|| {
            let limit = budget.wall.filter(|limit| wall >= *limit)?;
            let limit = format!("{} ms", limit.as_millis());
            Some(over("time:", format!("{} ms", wall.as_millis()), limit))
        });
        if let Some(failure) = failure {
            return Err(failure.details(self.details(*spent, wall)));
        }
        let left = budget.calls.map_or(u64::MAX, |limit| limit - spent.calls);
        let attempts = u64::from(retries).saturating_add(1).min(left);
        let cost = cost.unwrap_or(Cost::from_micros(0));
        spent.tokens = spent.tokens.saturating_add(tokens);
        spent.cost = spent.cost + cost;
        spent.calls = spent.calls.saturating_add(attempts);
        Ok(Reserved { tokens, cost, attempts })
    }

    /// Puts what a call used in the place of what was held back for it.
    pub(crate) fn settle(&self, reserved: Reserved, usage: Option<Usage>, cost: Option<Cost>, attempts: u64) {
        let mut spent = self.lock();
        spent.tokens = spent.tokens.saturating_sub(reserved.tokens);
        let without = spent.cost.picodollars().saturating_sub(reserved.cost.picodollars());
        spent.cost = Cost::from_picodollars(without);
        spent.calls = spent.calls.saturating_sub(reserved.attempts);
        drop(spent);
        self.add(usage, cost, attempts);
    }

    /// What was used and what was allowed, for whoever reads the failure.
    fn details(&self, spent: Spent, wall: Duration) -> Value {
        let mut used = Object::new();
        used.insert("tokens".into(), spent.tokens.into());
        used.insert("cost_usd".into(), (spent.cost.micros() as f64 / 1e6).into());
        used.insert("calls".into(), spent.calls.into());
        used.insert("steps".into(), spent.steps.into());
        used.insert("wall_ms".into(), u64::try_from(wall.as_millis()).unwrap_or(u64::MAX).into());
        let mut allowed = Object::new();
        let mut insert = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                allowed.insert(key.to_owned(), value);
            }
        };
        let budget = &self.budget;
        insert("tokens", budget.tokens.map(Value::from));
        insert("cost_usd", budget.cost.map(|cost| (cost.micros() as f64 / 1e6).into()));
        insert("calls", budget.calls.map(Value::from));
        insert("steps", budget.steps.map(Value::from));
        insert("wall_ms", budget.wall.map(|wall| u64::try_from(wall.as_millis()).unwrap_or(u64::MAX).into()));
        Value::from_iter([("used", Value::Object(used)), ("allowed", Value::Object(allowed))])
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tokens of a call: what was read, from the cache or not, and what was written.
fn total(usage: Usage) -> u64 {
    usage.input.saturating_add(usage.output)
}

fn dollars(cost: Cost) -> String {
    format!("{:.6} $", cost.micros() as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spending(budget: Budget) -> Spending {
        Spending::new(budget, Duration::ZERO)
    }

    #[test]
    fn calls_at_the_same_time_do_not_share_what_is_left() {
        let spending = spending(Budget { calls: Some(2), tokens: Some(100), ..Budget::default() });
        let first = spending.reserve(40, None, 0, Duration::ZERO).unwrap();
        spending.reserve(40, None, 0, Duration::ZERO).unwrap();
        assert_eq!(spending.reserve(1, None, 0, Duration::ZERO).unwrap_err().code, codes::BUDGET_EXCEEDED);
        spending.settle(first, Some(Usage { input: 5, output: 5, ..Usage::default() }), None, 0);
        let again = spending.reserve(50, None, 9, Duration::ZERO).unwrap();
        assert_eq!(again.attempts, 1, "retries count as calls");
    }

    #[test]
    fn money_and_time_are_bounded_and_an_unknown_price_is_refused() {
        let budget = Budget {
            cost: Some(Cost::from_micros(100)),
            wall: Some(Duration::from_secs(1)),
            ..Budget::default()
        };
        let spending = spending(budget);
        assert!(spending.reserve(1, None, 0, Duration::ZERO).is_err());
        assert!(spending.reserve(1, Some(Cost::from_micros(101)), 0, Duration::ZERO).is_err());
        assert!(spending.reserve(1, Some(Cost::from_micros(100)), 0, Duration::from_secs(1)).is_err());
        let kept = spending.reserve(1, Some(Cost::from_micros(100)), 0, Duration::from_millis(999)).unwrap();
        assert!(spending.reserve(1, Some(Cost::from_micros(1)), 0, Duration::ZERO).is_err());
        spending.settle(kept, None, Some(Cost::from_micros(10)), 1);
        let failure = spending.reserve(1, Some(Cost::from_micros(91)), 0, Duration::ZERO).unwrap_err();
        assert_eq!(failure.details.pointer("/used/calls").and_then(Value::as_i64), Some(1));
    }
}
