//! What a run may use up, and what it has: the core's ledger behind a lock, and those who wait for it.
//!
//! Invariants: a call is made only after it was reserved, also when steps call at the same time; whether it fits is
//! decided by [`stave_engine::budget::Ledger`]. A call that fits only when others use less than they reserved waits for
//! them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stave_engine::Failure;
use stave_engine::budget::{Allowance, Amounts, CallAnswer, Ledger, PlannedCall, Reservation, TokenPrice};
use stave_exec::baked_policy::BakedBudget;
use stave_llm::Usage;
use stave_llm::prices::{Cost, Price};
use tokio::sync::Notify;

use crate::report::NodeReport;
use crate::spend::Unsettled;
use crate::volume::Volume;

/// Bounds on a whole run; what is absent is not bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunBudget {
    /// Tokens of all model calls, in and out.
    pub tokens: Option<u64>,
    pub cost: Option<Cost>,
    /// Calls to models and hosts, every attempt counted.
    pub calls: Option<u64>,
    /// Time that processes have worked on the run. The time in which it waits for a person is not counted.
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
    /// The reading of the clock when this process took the run up.
    started: Duration,
    /// The time that the run had taken by then and that counts.
    before: Duration,
    account: Mutex<Account>,
    /// Notified when a reservation ends.
    settled: Notify,
}

/// What a run has used and written.
#[derive(Debug)]
pub(crate) struct Account {
    ledger: Ledger,
    /// The bytes that were written. They are counted when they are written; none are reserved.
    pub(crate) volume: Volume,
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
    /// Whether the call may write to the provider's cache, which can cost more than plain input.
    pub(crate) writes_cache: bool,
    /// Whether nothing is charged for the call, as for one to a host.
    pub(crate) is_free: bool,
}

/// What a call may use, held back until it is known what it used. Dropping it leaves all of it spent: the call may
/// have been made.
#[derive(Debug)]
pub(crate) struct Reserved<'s> {
    spending: &'s Spending,
    reservation: Reservation,
    /// What the call used, once it is known.
    used: Option<Amounts>,
    /// The longest answer that was reserved.
    pub(crate) output: u64,
    /// The most that the call costs, when the model has a price.
    pub(crate) cost: Option<Cost>,
}

impl RunBudget {
    /// Whether anything is bounded that steps use up together.
    pub(crate) fn is_shared(&self) -> bool {
        self.tokens.is_some() || self.cost.is_some() || self.calls.is_some() || self.steps.is_some()
    }

    fn allowance(&self) -> Allowance {
        Allowance {
            tokens: self.tokens,
            picodollars: self.cost.map(Cost::picodollars),
            calls: self.calls,
            wall: self.wall,
            steps: self.steps,
        }
    }

    /// The budget of a baked policy.
    pub(crate) fn new(baked: &BakedBudget) -> RunBudget {
        RunBudget {
            tokens: baked.tokens,
            cost: baked.cost_usd.map(|dollars| Cost::from_picodollars((dollars * 1e12) as u128)),
            calls: baked.calls,
            wall: baked.wall_ms.map(Duration::from_millis),
            steps: baked.steps,
        }
    }
}

impl Spending {
    pub(crate) fn new(budget: RunBudget, started: Duration) -> Self {
        Spending::going_on(budget, started, Duration::ZERO, Spent::default())
    }

    /// Of a run that has used something up elsewhere and has gone on for a while.
    pub(crate) fn going_on(budget: RunBudget, started: Duration, before: Duration, spent: Spent) -> Self {
        let ledger = Ledger::new(budget.allowance(), spent.amounts());
        let account = Mutex::new(Account { ledger, volume: spent.volume });
        Spending { started, before, account, settled: Notify::new() }
    }

    /// Adds what the nodes of a run used before it was interrupted.
    pub(crate) fn add_all(&self, reports: &[NodeReport]) {
        for report in reports {
            self.add(report.usage, report.cost, report.calls.into());
            self.add_unsettled(report.unsettled);
        }
        let was_done =
            |report: &&NodeReport| !report.is_idle() && !report.reused && !report.id.starts_with('_');
        let steps = reports.iter().filter(was_done).count() as u64;
        let mut account = self.lock();
        account.ledger.charge(Amounts { steps, ..Amounts::default() });
        account.volume = reports.iter().fold(account.volume, |sum, report| sum.plus(report.volume));
    }

    pub(crate) fn spent(&self) -> Spent {
        let account = self.lock();
        let Amounts { tokens, picodollars, calls, steps } = account.ledger.used();
        Spent { tokens, cost: Cost::from_picodollars(picodollars), calls, steps, volume: account.volume }
    }

    /// Adds what was used before the run was interrupted.
    pub(crate) fn add(&self, usage: Option<Usage>, cost: Option<Cost>, calls: u64) {
        self.lock().ledger.charge(amounts(usage, cost, calls));
    }

    /// Adds what calls may have used whose answer nobody has.
    pub(crate) fn add_unsettled(&self, unsettled: Option<Unsettled>) {
        if let Some(unsettled) = unsettled {
            self.add(Some(unsettled.usage), unsettled.cost, 0);
        }
    }

    /// Makes room for a step. `now` is the reading of the clock.
    pub(crate) fn step(&self, now: Duration) -> Result<(), Failure> {
        self.lock().ledger.step(self.wall(now))
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
        match self.lock().ledger.reserve(planned.call(), self.wall(now)) {
            CallAnswer::Granted(reservation) => Ok(Some(Reserved {
                spending: self,
                output: reservation.output,
                cost: reservation.picodollars.map(Cost::from_picodollars),
                reservation,
                used: None,
            })),
            CallAnswer::Wait => Ok(None),
            CallAnswer::Refused(failure) => Err(failure),
        }
    }

    /// The time that the run has taken and that counts.
    fn wall(&self, now: Duration) -> Duration {
        self.before.saturating_add(now.saturating_sub(self.started))
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Planned<'static> {
    /// A call to a host: no tokens, and no cost that the price table knows.
    pub(crate) fn free() -> Self {
        Planned { input: 0, output: None, longest: 0, price: None, writes_cache: false, is_free: true }
    }
}

impl Planned<'_> {
    fn call(&self) -> PlannedCall {
        if self.is_free {
            return PlannedCall::Host;
        }
        // Millionths of a dollar per million tokens are picodollars per token.
        let price = self.price.map(|price| {
            let written = if self.writes_cache { price.cache_write.max(price.cache_write_1h) } else { 0 };
            TokenPrice { input: price.input.max(written), output: price.output }
        });
        PlannedCall::Model { input: self.input, output: self.output, longest: self.longest, price }
    }
}

impl Reserved<'_> {
    /// Reserves another attempt of the same call, unless the run has made as many calls as it may.
    pub(crate) fn add_attempt(&mut self) -> bool {
        self.spending.lock().ledger.add_attempt(&mut self.reservation)
    }

    /// How many attempts are reserved.
    pub(crate) fn attempts(&self) -> u64 {
        self.reservation.attempts()
    }

    /// Puts what the call used in the place of what was held back for it.
    pub(crate) fn settle(mut self, usage: Option<Usage>, cost: Option<Cost>, attempts: u64) {
        self.used = Some(amounts(usage, cost, attempts));
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.spending.lock().ledger.settle(&self.reservation, self.used);
        self.spending.settled.notify_waiters();
    }
}

impl Spent {
    fn amounts(self) -> Amounts {
        let Spent { tokens, cost, calls, steps, .. } = self;
        Amounts { tokens, picodollars: cost.picodollars(), calls, steps }
    }
}

/// What a call used: the tokens that were read, from the cache or not, and those that were written.
fn amounts(usage: Option<Usage>, cost: Option<Cost>, calls: u64) -> Amounts {
    Amounts {
        tokens: usage.map_or(0, |usage| usage.input.saturating_add(usage.output)),
        picodollars: cost.unwrap_or_default().picodollars(),
        calls,
        steps: 0,
    }
}

#[cfg(test)]
mod tests;
