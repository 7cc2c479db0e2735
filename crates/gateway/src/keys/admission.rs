//! Whether a request may be sent, and what is set aside for it until its answer is known.

use std::sync::Arc;
use std::time::Duration;

use stave_canon::Timestamp;
use stave_llm::prices::Cost;

use super::VirtualKey;
use super::ledger::nanodollars;
use super::meter::Reservation;
use crate::database::{Entry, Queue, Spend};

/// The most that a request may come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Input and output together.
    pub tokens: u64,
    /// `None` when the price of the model is not known.
    pub money: Option<Cost>,
}

impl From<u64> for Estimate {
    fn from(tokens: u64) -> Self {
        Estimate { tokens, money: None }
    }
}

/// Why a request must not be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", .kind.message())]
pub struct Refusal {
    pub kind: RefusalKind,
    /// When the same request may be admitted; `None` when waiting does not help.
    pub retry_after: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    Model,
    RequestRate,
    TokenRate,
    DayBudget,
    MonthBudget,
    /// The key has a budget, and nobody knows what the request would cost.
    Unpriced,
}

impl RefusalKind {
    /// The name in records and metrics.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RefusalKind::Model => "model",
            RefusalKind::RequestRate => "request_rate",
            RefusalKind::TokenRate => "token_rate",
            RefusalKind::DayBudget => "day_budget",
            RefusalKind::MonthBudget => "month_budget",
            RefusalKind::Unpriced => "unpriced",
        }
    }

    /// What the client is told.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            RefusalKind::Model => "this key may not ask for this model",
            RefusalKind::RequestRate => "this key has used up its requests per minute",
            RefusalKind::TokenRate => "this request is beyond what is left of this key's tokens per minute",
            RefusalKind::DayBudget => {
                "this request may cost more than is left of this key's budget for the day"
            }
            RefusalKind::MonthBudget => {
                "this request may cost more than is left of this key's budget for the month"
            }
            RefusalKind::Unpriced => "this key has a budget, and the price of this model is not known",
        }
    }

    /// The HTTP status of the refusal.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            RefusalKind::Model | RefusalKind::Unpriced => 403,
            RefusalKind::RequestRate
            | RefusalKind::TokenRate
            | RefusalKind::DayBudget
            | RefusalKind::MonthBudget => 429,
        }
    }
}

/// A request that may be sent. Dropped without being settled, it gives back the tokens and the money that were
/// set aside; the request itself stays counted.
#[derive(Debug)]
#[must_use = "an admission that is dropped at once holds nothing back"]
pub struct Admission {
    key: Arc<VirtualKey>,
    queue: Arc<Queue>,
    /// Taken when it is settled.
    reservation: Option<Reservation>,
}

impl Admission {
    /// Replaces what was set aside by what the request came to.
    pub fn settle(mut self, tokens: u64, money: Cost) {
        let Some(reservation) = self.reservation.take() else { return };
        let money = nanodollars(money);
        self.key.meter.settle(reservation, tokens, money);
        self.queue.append(Entry::Spend(Spend {
            key: Arc::clone(&self.key.id),
            meter: Arc::clone(&self.key.meter),
            day: reservation.day,
            money,
            tokens,
        }));
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Some(reservation) = self.reservation.take() {
            self.key.meter.give_back(reservation);
        }
    }
}

pub(super) fn admit(
    queue: &Arc<Queue>,
    key: &Arc<VirtualKey>,
    model: &str,
    estimate: Estimate,
    now: Timestamp,
) -> Result<Admission, Refusal> {
    if !key.allows(model) {
        return Err(Refusal { kind: RefusalKind::Model, retry_after: None });
    }
    let has_budget = key.limits.day_budget.is_some() || key.limits.month_budget.is_some();
    if has_budget && estimate.money.is_none() {
        return Err(Refusal { kind: RefusalKind::Unpriced, retry_after: None });
    }
    let money = estimate.money.map_or(0, nanodollars);
    let reservation = key.meter.reserve(&key.limits, estimate.tokens, money, now)?;
    Ok(Admission { key: Arc::clone(key), queue: Arc::clone(queue), reservation: Some(reservation) })
}
