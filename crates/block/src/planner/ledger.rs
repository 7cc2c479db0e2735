//! What plans have cost so far beside what the requests would have cost as they were sent.
//!
//! A write costs before it saves. The ledger lends the planner a little to begin with, and from then on only
//! what earlier plans have saved: guesses that turn out wrong end before they cost more than a small part of
//! the bill.
//!
//! Invariant: a plan that the budgets allow brings the planned cost above the cost as sent by no more than
//! what is lent.

/// How much of the largest request is lent for entries that live shortly, as premium on its price.
const SHORT_LOAN: f64 = 0.26;
/// How much of it is lent for entries that live long, which cost more and are bought on evidence only.
const LONG_LOAN: f64 = 1.6;
/// The part of the bill as sent that may be lost for good.
const LOSS: f64 = 0.002;
/// The part of the bill as sent that is lent where a client has marks of its own, which are a good plan already. There
/// is no other loan, so a conversation of two requests costs no more than as sent either.
const CLIENT_LOSS: f64 = 0.008;
/// How fast what was saved long ago ends to count, per request.
const FADING: f64 = 0.9998;

/// Costs in tokens at the input price.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Ledger {
    planned: f64,
    as_sent: f64,
    largest: f64,
}

/// What a plan for one request may cost more than leaving all of it uncached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Budgets {
    /// For plans whose entries all live shortly.
    pub(crate) short: f64,
    /// For plans with entries that live long.
    pub(crate) long: f64,
    /// What later requests may cost more than as sent because of what this plan leaves unmarked.
    pub(crate) later: f64,
}

impl Budgets {
    #[cfg(test)]
    pub(crate) const ENDLESS: Budgets =
        Budgets { short: f64::INFINITY, long: f64::INFINITY, later: f64::INFINITY };
}

impl Budgets {
    /// What is left when so much is kept for what is owed.
    pub(super) fn without(self, owed: f64) -> Budgets {
        Budgets { short: self.short - owed, long: self.long - owed, later: self.later - owed }
    }
}

impl Ledger {
    /// The budgets for a request of `total` tokens that costs `sent` with its client's own marks, when it has
    /// any.
    pub(super) fn budgets(&self, total: f64, sent: Option<f64>) -> Budgets {
        let as_sent = self.as_sent + sent.unwrap_or(total);
        let saved = as_sent - self.planned - total;
        let largest = self.largest.max(total);
        match sent {
            None => {
                let saved = saved + LOSS * as_sent;
                Budgets { short: saved + SHORT_LOAN * largest, long: saved + LONG_LOAN * largest, later: 0.0 }
            }
            Some(sent) => {
                let saved = saved + CLIENT_LOSS * as_sent;
                Budgets { short: saved, long: saved, later: saved + total - sent }
            }
        }
    }

    pub(super) fn add(&mut self, total: f64, sent: f64, planned: f64) {
        self.planned = self.planned * FADING + planned;
        self.as_sent = self.as_sent * FADING + sent;
        self.largest = (self.largest * FADING).max(total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_never_pay_end_soon() {
        let mut ledger = Ledger::default();
        let mut written = 0;
        for _ in 0..100 {
            let premium = 0.25 * 4000.0;
            let allowed = ledger.budgets(4000.0, None).short >= premium;
            written += u32::from(allowed);
            ledger.add(4000.0, 4000.0, if allowed { 4000.0 + premium } else { 4000.0 });
        }
        assert!((1..=4).contains(&written), "{written}");
        assert!(ledger.planned <= 1.01 * ledger.as_sent);
    }

    #[test]
    fn what_was_saved_can_be_spent() {
        let mut ledger = Ledger::default();
        ledger.add(4000.0, 4000.0, 5000.0);
        ledger.add(4000.0, 4000.0, 5000.0);
        assert!(ledger.budgets(4000.0, None).short < 1000.0);
        ledger.add(4000.0, 4000.0, 400.0);
        assert!(ledger.budgets(4000.0, None).short > 2000.0);
        assert!(ledger.budgets(4000.0, Some(4000.0)).short > 1000.0);
    }
}
