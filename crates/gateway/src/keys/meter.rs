//! What a key has used: its two rates and its money, under one lock.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stave_canon::Timestamp;

use super::KeyLimits;
use super::admission::{Refusal, RefusalKind};
use super::bucket::Bucket;
use super::ledger::{Calendar, InFlight, Ledger, nanodollars};

/// How long a client waits for requests in flight to be settled.
const UNTIL_SETTLED: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<Used>);

#[derive(Debug, Default)]
struct Used {
    requests: Bucket,
    tokens: Bucket,
    money: Ledger,
}

/// What is set aside for a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reservation {
    pub(super) day: i32,
    /// The days of its month.
    pub(super) month: (i32, i32),
    /// Zero when the key has no limit of that kind.
    pub(super) tokens: u64,
    pub(super) money: i64,
}

impl Meter {
    /// Sets everything aside, or nothing.
    pub(super) fn reserve(
        &self,
        limits: &KeyLimits,
        tokens: u64,
        money: i64,
        now: Timestamp,
    ) -> Result<Reservation, Refusal> {
        let calendar = Calendar::of(now);
        let mut used = self.lock();
        let refuse = |kind, retry_after| Err(Refusal { kind, retry_after });
        budgets(limits, &used.money, calendar, (money, money), now)?;
        if let Some(limit) = limits.requests_per_minute {
            let wait = used.requests.wait(limit, 1, now);
            if wait != Some(Duration::ZERO) {
                return refuse(RefusalKind::RequestRate, wait);
            }
        }
        if let Some(limit) = limits.tokens_per_minute {
            match used.tokens.wait(limit, tokens, now) {
                Some(Duration::ZERO) => {}
                None => return refuse(RefusalKind::BeyondLimit, None),
                wait => return refuse(RefusalKind::TokenRate, wait),
            }
            used.tokens.take(tokens as f64);
        }
        if limits.requests_per_minute.is_some() {
            used.requests.take(1.0);
        }
        used.money.reserve(calendar.day, money);
        let tokens = if limits.tokens_per_minute.is_some() { tokens } else { 0 };
        let month = (calendar.month_starts, calendar.next_month);
        Ok(Reservation { day: calendar.day, month, tokens, money })
    }

    /// Sets more money aside on the day of a reservation.
    pub(super) fn reserve_more(
        &self,
        limits: &KeyLimits,
        reservation: Reservation,
        money: i64,
        now: Timestamp,
    ) -> Result<i64, Refusal> {
        let mut used = self.lock();
        let (month_starts, next_month) = reservation.month;
        let calendar = Calendar { day: reservation.day, month_starts, next_month };
        let whole = reservation.money.saturating_add(money);
        budgets(limits, &used.money, calendar, (money, whole), now)?;
        used.money.reserve(calendar.day, money);
        Ok(money)
    }

    /// Replaces what was set aside by what came of it.
    pub(super) fn settle(&self, reservation: Reservation, tokens: u64, money: i64) {
        let mut used = self.lock();
        used.tokens.take(tokens as f64 - reservation.tokens as f64);
        used.money.reserve(reservation.day, reservation.money.saturating_neg());
        used.money.spend(reservation.day, money);
    }

    pub(super) fn give_back(&self, reservation: Reservation) {
        let mut used = self.lock();
        used.tokens.take(-(reservation.tokens as f64));
        used.money.reserve(reservation.day, reservation.money.saturating_neg());
    }

    /// What was spent on a day is in the file.
    pub(crate) fn committed(&self, day: i32, money: i64, total: i64) {
        self.lock().money.committed(day, money, total);
    }

    /// What the file has of the month: what was spent, and what others have set aside.
    pub(super) fn replace_committed(&self, committed: BTreeMap<i32, i64>, held: BTreeMap<i32, i64>) {
        self.lock().money.replace_committed(committed, held);
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the budgets have this much money left for a request that costs `whole`.
fn budgets(
    limits: &KeyLimits,
    spent: &Ledger,
    calendar: Calendar,
    (money, whole): (i64, i64),
    now: Timestamp,
) -> Result<(), Refusal> {
    let smallest = [limits.day_budget, limits.month_budget].into_iter().flatten().map(nanodollars).min();
    if smallest.is_some_and(|limit| whole > limit) {
        return Err(Refusal { kind: RefusalKind::BeyondLimit, retry_after: None });
    }
    // A budget whose end is further away decides how long to wait.
    if let Some(limit) = limits.month_budget.map(nanodollars) {
        let missing = spent.month(calendar).saturating_add(money).saturating_sub(limit);
        if missing > 0 {
            let in_flight = spent.in_flight_of_month(calendar);
            let retry_after = when_released(missing, in_flight, calendar.until_next_month(now));
            return Err(Refusal { kind: RefusalKind::MonthBudget, retry_after });
        }
    }
    if let Some(limit) = limits.day_budget.map(nanodollars) {
        let missing = spent.day(calendar).saturating_add(money).saturating_sub(limit);
        if missing > 0 {
            let in_flight = spent.in_flight(calendar);
            let retry_after = when_released(missing, in_flight, calendar.until_tomorrow(now));
            return Err(Refusal { kind: RefusalKind::DayBudget, retry_after });
        }
    }
    Ok(())
}

/// How long to wait for the money that is missing. Requests in flight give back most of what is set aside for them, and
/// this process settles its own soon. When other processes do is not known.
fn when_released(missing: i64, in_flight: InFlight, until_renewed: Duration) -> Option<Duration> {
    if missing <= in_flight.own {
        Some(UNTIL_SETTLED)
    } else if missing <= in_flight.own.saturating_add(in_flight.foreign) {
        None
    } else {
        Some(until_renewed)
    }
}
