//! Whether a request may be sent, and what is set aside for it until its answer is known.

use std::sync::Arc;
use std::time::Duration;

use stave_canon::Timestamp;
use stave_llm::prices::Cost;

use super::VirtualKey;
use super::ledger::nanodollars;
use super::meter::Reservation;
use crate::database::{Entry, Hold, Queue, Spend};

/// An upper bound of what a request may use.
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
    /// The request alone is beyond a limit of the key, so waiting does not help.
    BeyondLimit,
    /// The key has a budget, and nobody knows what the request would cost.
    Unpriced,
    /// The key has a budget, and what the request may cost cannot be written down.
    Unwritten,
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
            RefusalKind::BeyondLimit => "beyond_limit",
            RefusalKind::Unpriced => "unpriced",
            RefusalKind::Unwritten => "busy",
        }
    }

    /// The message for the client.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            RefusalKind::Model => "this key may not ask for this model",
            RefusalKind::RequestRate => "this key has used up its requests per minute",
            RefusalKind::TokenRate => "this request is beyond what is left of this key's tokens per minute",
            RefusalKind::DayBudget => {
                "this request may cost more than is left of this key's budget for the day; a smaller `max_tokens` sets less aside"
            }
            RefusalKind::MonthBudget => {
                "this request may cost more than is left of this key's budget for the month; a smaller `max_tokens` sets less aside"
            }
            RefusalKind::BeyondLimit => {
                "this request alone may exceed a whole limit of this key, its tokens per minute or its budget, so waiting does not help; a smaller `max_tokens` sets less aside"
            }
            RefusalKind::Unpriced => {
                "this key has a budget, and nobody knows what this request may cost: the model or the service tier has no price, or a stored prompt, a provider's shell, a plugin or `provider` adds to it unseen"
            }
            RefusalKind::Unwritten => "what the request may cost cannot be written down",
        }
    }

    /// The HTTP status of the refusal.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            RefusalKind::Model | RefusalKind::BeyondLimit | RefusalKind::Unpriced => 403,
            RefusalKind::Unwritten => 503,
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
    /// How much of it is in the file, in rows that are taken away when it is settled.
    held: i64,
    holds: Vec<i64>,
}

impl Admission {
    /// Writes what is set aside to the file and waits until it is there. A process that ends before the request is
    /// settled leaves it there, and processes that share the file see what the others have set aside. Without a
    /// budget there is nothing to write.
    pub async fn hold(&mut self) -> Result<(), Refusal> {
        let limits = &self.key.limits;
        let Some(reservation) = self.reservation else { return Ok(()) };
        let money = reservation.money.saturating_sub(self.held);
        if (limits.day_budget.is_none() && limits.month_budget.is_none()) || money <= 0 {
            return Ok(());
        }
        let (answer, held) = tokio::sync::oneshot::channel();
        self.queue.append_at_once(Entry::Hold(Hold {
            key: Arc::clone(&self.key.id),
            day: reservation.day,
            money,
            month: reservation.month,
            day_budget: limits.day_budget.map(nanodollars),
            month_budget: limits.month_budget.map(nanodollars),
            answer: std::sync::Mutex::new(Some(answer)),
        }));
        match held.await {
            Ok(Ok(hold)) => {
                self.held = self.held.saturating_add(money);
                self.holds.push(hold);
                Ok(())
            }
            // Another process has set aside or spent what was left.
            Ok(Err(kind)) => Err(Refusal { kind, retry_after: None }),
            Err(_) => Err(Refusal { kind: RefusalKind::Unwritten, retry_after: None }),
        }
    }

    /// Sets more aside for the same request, or nothing.
    pub fn add(&mut self, more: Estimate, now: Timestamp) -> Result<(), Refusal> {
        let Some(reservation) = &mut self.reservation else { return Ok(()) };
        let money = more.money.map_or(0, nanodollars);
        let added = self.key.meter.reserve_more(&self.key.limits, *reservation, money, now)?;
        reservation.money = reservation.money.saturating_add(added);
        Ok(())
    }

    /// Replaces what was set aside by what the request used.
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
            holds: std::mem::take(&mut self.holds),
        }));
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Some(reservation) = self.reservation.take() {
            self.key.meter.give_back(reservation);
        }
        if !self.holds.is_empty() {
            self.queue.append(Entry::Release(std::mem::take(&mut self.holds)));
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
    Ok(Admission {
        key: Arc::clone(key),
        queue: Arc::clone(queue),
        reservation: Some(reservation),
        held: 0,
        holds: Vec::new(),
    })
}
