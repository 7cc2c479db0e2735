//! What a run may use up, and what it has.
//!
//! Invariants: a call is made only after it was reserved, and it is reserved only while it fits with the longest answer
//! that it may get; so a run never makes a call that its budget does not cover, also when steps call at the same time.
//! A call that fits only when others use less than they reserved waits for them. Whoever holds a reservation waits for
//! no other, so nobody waits for ever.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_llm::Usage;
use stave_llm::prices::{Cost, Price};
use tokio::sync::Notify;

use crate::report::NodeReport;
use crate::volume::Volume;
use stave_engine::{Failure, Kind};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    ledger: Mutex<Ledger>,
    /// Notified when a reservation ends.
    settled: Notify,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    /// What was used, reservations included.
    pub(crate) spent: Spent,
    /// The part of it that is reserved and may yet come to less.
    held: Spent,
    reservations: usize,
}

/// What a call may use at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned<'p> {
    pub(crate) input: u64,
    /// The longest answer that the request asks for, when it says so.
    pub(crate) output: Option<u64>,
    /// The longest answer that the model can give.
    pub(crate) longest: u64,
    /// `None` for a model without a price.
    pub(crate) price: Option<&'p Price>,
    /// Whether nothing is charged for the call, as for one to a host.
    pub(crate) is_free: bool,
}

/// What a call may use, held back until it is known what it used. Dropping it leaves all of it spent: the call may
/// have been made.
#[derive(Debug)]
pub(crate) struct Reserved<'s> {
    spending: &'s Spending,
    held: Spent,
    /// The longest answer that was reserved.
    pub(crate) output: u64,
    /// The most that the call costs, when the model has a price.
    pub(crate) cost: Option<Cost>,
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
        Spending::going_on(budget, started, Duration::ZERO, Spent::default())
    }

    /// Of a run that has used something up elsewhere and has gone on for a while.
    pub(crate) fn going_on(budget: Budget, started: Duration, before: Duration, spent: Spent) -> Self {
        let ledger = Ledger { spent, held: Spent::default(), reservations: 0 };
        Spending { budget, started, before, ledger: Mutex::new(ledger), settled: Notify::new() }
    }

    /// Adds what the nodes of a run used before it was interrupted.
    pub(crate) fn add_all(&self, reports: &[NodeReport]) {
        for report in reports {
            self.add(report.usage, report.cost, report.calls.into());
        }
        let was_done =
            |report: &&NodeReport| !report.is_idle() && !report.reused && !report.id.starts_with('_');
        let steps = reports.iter().filter(was_done).count();
        let spent = &mut self.lock().spent;
        spent.steps = spent.steps.saturating_add(steps as u64);
        spent.volume = reports.iter().fold(spent.volume, |sum, report| sum.plus(report.volume));
    }

    pub(crate) fn spent(&self) -> Spent {
        self.lock().spent
    }

    /// Adds what was used before the run was interrupted.
    pub(crate) fn add(&self, usage: Option<Usage>, cost: Option<Cost>, calls: u64) {
        let used = Spent {
            tokens: usage.map_or(0, total),
            cost: cost.unwrap_or_default(),
            calls,
            ..Spent::default()
        };
        let spent = &mut self.lock().spent;
        *spent = spent.with(used);
    }

    /// Makes room for a step. `now` is the reading of the clock.
    pub(crate) fn step(&self, now: Duration) -> Result<(), Failure> {
        let spent = &mut self.lock().spent;
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

    /// Makes room for one call. It waits while the call could fit once others have used less than they reserved, and
    /// fails when it cannot. `now` reads the clock.
    pub(crate) async fn reserve(
        &self,
        planned: Planned<'_>,
        now: impl Fn() -> Duration,
    ) -> Result<Reserved<'_>, Failure> {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // What ends between the look at the ledger and the wait must not be missed.
            settled.as_mut().enable();
            if let Some(reserved) = self.try_reserve(planned, now())? {
                return Ok(reserved);
            }
            settled.await;
        }
    }

    /// The reservation, or `None` when the call has to wait for others.
    fn try_reserve(&self, planned: Planned<'_>, now: Duration) -> Result<Option<Reserved<'_>>, Failure> {
        let ledger = &mut *self.lock();
        let wanted = planned.output.unwrap_or(planned.longest);
        let output = match self.room(ledger.spent, planned, now) {
            // A shorter answer than the model may give is asked for only when nobody can give anything back.
            Ok(output) if output < wanted && ledger.reservations > 0 => return Ok(None),
            Ok(output) => output,
            Err(failure) => {
                let settled = ledger.spent.without(ledger.held);
                let could_fit = ledger.reservations > 0 && self.room(settled, planned, now).is_ok();
                return if could_fit { Ok(None) } else { Err(failure) };
            }
        };
        let cost = planned.cost(output);
        let tokens = if planned.is_free { 0 } else { planned.input.saturating_add(output) };
        let held = Spent { tokens, cost: cost.unwrap_or_default(), calls: 1, ..Spent::default() };
        ledger.spent = ledger.spent.with(held);
        ledger.held = ledger.held.with(held);
        ledger.reservations += 1;
        Ok(Some(Reserved { spending: self, held, output, cost }))
    }

    /// The longest answer of a call that fits beside what is spent. A model without a price cannot be kept to a
    /// budget of money.
    fn room(&self, spent: Spent, planned: Planned<'_>, now: Duration) -> Result<u64, Failure> {
        let wall = self.before.saturating_add(now.saturating_sub(self.started));
        let over = |what: &str, used: String, limit: String| {
            let message = format!("the run's budget does not cover another call: {what} {used} of {limit}");
            let failure = Failure::new(codes::BUDGET_EXCEEDED, Kind::Budget, message);
            failure.details(self.details(spent, wall))
        };
        let budget = &self.budget;
        if let Some(limit) = budget.calls.filter(|limit| spent.calls >= *limit) {
            return Err(over("calls:", spent.calls.to_string(), limit.to_string()));
        }
        if let Some(limit) = budget.wall.filter(|limit| wall >= *limit) {
            let limit = format!("{} ms", limit.as_millis());
            return Err(over("time:", format!("{} ms", wall.as_millis()), limit));
        }
        if planned.is_free {
            return Ok(0);
        }
        // An answer has one token at least.
        let least = planned.output.unwrap_or(1);
        let mut output = planned.output.unwrap_or(planned.longest);
        if let Some(limit) = budget.tokens {
            let needed = planned.input.saturating_add(least);
            let left = limit.saturating_sub(spent.tokens);
            if needed > left || left == 0 {
                let used = format!("{} and at least {needed} more", spent.tokens);
                return Err(over("tokens:", used, limit.to_string()));
            }
            output = output.min(left.saturating_sub(planned.input));
        }
        if let Some(limit) = budget.cost {
            let Some((price, cost)) = planned.price.zip(planned.cost(least)) else {
                let message = format!(
                    "the run has a cost budget of {}, and the model has no price, so its calls cannot be counted; \
                     give its price under `[prices]` in stave.toml, or use a budget of tokens",
                    dollars(limit)
                );
                let failure = Failure::new(codes::BUDGET_EXCEEDED, Kind::Budget, message);
                return Err(failure.details(self.details(spent, wall)));
            };
            let more = spent.cost + cost;
            if more > limit {
                return Err(over("it would cost", dollars(more), dollars(limit)));
            }
            let left = limit.picodollars().saturating_sub(more.picodollars());
            let longer = left.checked_div(price.output.into()).unwrap_or(u128::MAX);
            output = output.min(least.saturating_add(u64::try_from(longer).unwrap_or(u64::MAX)));
        }
        Ok(output)
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

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Planned<'static> {
    /// A call to a host: no tokens, and no cost that the price table knows.
    pub(crate) fn free() -> Self {
        Planned { input: 0, output: None, longest: 0, price: None, is_free: true }
    }
}

impl Planned<'_> {
    /// What the call costs with an answer of that many tokens.
    fn cost(&self, output: u64) -> Option<Cost> {
        let usage = Usage { input: self.input, output, ..Usage::default() };
        self.price.map(|price| price.cost(&usage))
    }
}

impl Reserved<'_> {
    /// Reserves another attempt of the same call, unless the run has made as many calls as it may. The calls of
    /// others are made for certain, so there is nothing to wait for.
    pub(crate) fn add_attempt(&mut self) -> bool {
        let ledger = &mut *self.spending.lock();
        if self.spending.budget.calls.is_some_and(|limit| ledger.spent.calls >= limit) {
            return false;
        }
        let one = Spent { calls: 1, ..Spent::default() };
        self.held = self.held.with(one);
        ledger.spent = ledger.spent.with(one);
        ledger.held = ledger.held.with(one);
        true
    }

    /// How many attempts are reserved.
    pub(crate) fn attempts(&self) -> u64 {
        self.held.calls
    }

    /// Puts what the call used in the place of what was held back for it.
    pub(crate) fn settle(self, usage: Option<Usage>, cost: Option<Cost>, attempts: u64) {
        let used = Spent {
            tokens: usage.map_or(0, total),
            cost: cost.unwrap_or_default(),
            calls: attempts,
            ..Spent::default()
        };
        let mut ledger = self.spending.lock();
        ledger.spent = ledger.spent.without(self.held).with(used);
        // Dropping the reservation takes the lock again.
        drop(ledger);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut ledger = self.spending.lock();
        ledger.held = ledger.held.without(self.held);
        ledger.reservations = ledger.reservations.saturating_sub(1);
        drop(ledger);
        self.spending.settled.notify_waiters();
    }
}

impl Spent {
    fn with(self, more: Spent) -> Spent {
        Spent {
            tokens: self.tokens.saturating_add(more.tokens),
            cost: self.cost + more.cost,
            calls: self.calls.saturating_add(more.calls),
            steps: self.steps.saturating_add(more.steps),
            volume: self.volume.plus(more.volume),
        }
    }

    fn without(self, less: Spent) -> Spent {
        let cost = self.cost.picodollars().saturating_sub(less.cost.picodollars());
        Spent {
            tokens: self.tokens.saturating_sub(less.tokens),
            cost: Cost::from_picodollars(cost),
            calls: self.calls.saturating_sub(less.calls),
            steps: self.steps.saturating_sub(less.steps),
            // Bytes are counted when they are written; none are reserved.
            volume: self.volume,
        }
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

    fn planned(input: u64, output: Option<u64>) -> Planned<'static> {
        Planned { input, output, longest: 1000, price: None, is_free: false }
    }

    /// A dollar per million tokens, both ways.
    fn price() -> Price {
        Price {
            input: 1_000_000,
            output: 1_000_000,
            cache_read: 0,
            cache_write: 0,
            cache_write_1h: 0,
            as_of: None,
        }
    }

    fn used(tokens: u64) -> Option<Usage> {
        Some(Usage { input: tokens, ..Usage::default() })
    }

    #[test]
    fn calls_at_the_same_time_do_not_share_what_is_left() {
        let spending = spending(Budget { calls: Some(3), tokens: Some(100), ..Budget::default() });
        let reserve = |tokens: u64| spending.try_reserve(planned(tokens - 1, Some(1)), Duration::ZERO);
        let first = reserve(40).unwrap().unwrap();
        let second = reserve(40).unwrap().unwrap();
        assert!(reserve(30).unwrap().is_none(), "it fits once the others have used less");
        assert_eq!(reserve(101).unwrap_err().code, codes::BUDGET_EXCEEDED, "it can never fit");
        first.settle(used(10), None, 1);
        drop(second);
        assert!(reserve(51).is_err(), "what is dropped stays spent");
        let mut last = reserve(50).unwrap().unwrap();
        assert!(!last.add_attempt(), "retries count as calls");
    }

    #[test]
    fn a_call_without_a_limit_gets_what_is_left_and_others_wait_for_it() {
        let spending = spending(Budget { tokens: Some(300), ..Budget::default() });
        let open = || spending.try_reserve(planned(20, None), Duration::ZERO);
        let first = open().unwrap().unwrap();
        assert_eq!(first.output, 280);
        assert!(open().unwrap().is_none());
        first.settle(used(250), None, 1);
        let second = open().unwrap().unwrap();
        assert_eq!(second.output, 30);
        second.settle(used(50), None, 1);
        assert_eq!(open().unwrap_err().code, codes::BUDGET_EXCEEDED);
        assert_eq!(spending.spent().tokens, 300);
    }

    #[test]
    fn as_many_calls_as_the_budget_has_are_made_whatever_the_retries() {
        let spending = spending(Budget { calls: Some(4), ..Budget::default() });
        let all: Vec<_> = (0..4)
            .map(|_| spending.try_reserve(planned(1, None), Duration::ZERO).unwrap().unwrap())
            .collect();
        assert!(spending.try_reserve(Planned::free(), Duration::ZERO).unwrap().is_none());
        all.into_iter().for_each(|reserved| reserved.settle(None, None, 1));
        assert!(spending.try_reserve(Planned::free(), Duration::ZERO).is_err());
    }

    #[tokio::test]
    async fn a_waiting_call_goes_on_when_another_one_settles() {
        let spending = spending(Budget { tokens: Some(100), ..Budget::default() });
        let first = spending.reserve(planned(20, None), || Duration::ZERO).await.unwrap();
        let second = spending.reserve(planned(20, None), || Duration::ZERO);
        let settle = async { first.settle(used(30), None, 1) };
        let (second, ()) = tokio::join!(second, settle);
        assert_eq!(second.unwrap().output, 50);
    }

    #[test]
    fn money_and_time_are_bounded_and_an_unknown_price_is_refused() {
        let budget = Budget {
            cost: Some(Cost::from_micros(100)),
            wall: Some(Duration::from_secs(1)),
            ..Budget::default()
        };
        let (spending, price) = (spending(budget), price());
        let reserve = |tokens: u64, now| {
            let planned = Planned { price: Some(&price), ..planned(tokens - 1, Some(1)) };
            spending.try_reserve(planned, now)
        };
        assert!(spending.try_reserve(planned(1, Some(1)), Duration::ZERO).is_err());
        assert!(reserve(101, Duration::ZERO).is_err());
        assert!(reserve(100, Duration::from_secs(1)).is_err());
        let kept = reserve(100, Duration::from_millis(999)).unwrap().unwrap();
        assert!(reserve(2, Duration::ZERO).unwrap().is_none());
        kept.settle(None, Some(Cost::from_micros(10)), 1);
        let failure = reserve(91, Duration::ZERO).unwrap_err();
        assert_eq!(failure.details.pointer("/used/calls").and_then(Value::as_i64), Some(1));
        let open = Planned { price: Some(&price), ..planned(30, None) };
        assert_eq!(spending.try_reserve(open, Duration::ZERO).unwrap().unwrap().output, 60);
    }
}
