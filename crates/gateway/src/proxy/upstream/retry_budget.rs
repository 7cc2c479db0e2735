//! How many retries are made over all requests, so that a failing upstream is not asked twice as often.

use std::sync::{Mutex, PoisonError};

use crate::config::Retries;

#[derive(Debug)]
pub(crate) struct RetryBudget {
    share: f64,
    most: f64,
    left: Mutex<f64>,
}

impl RetryBudget {
    pub(crate) fn new(retries: &Retries) -> Self {
        let most = f64::from(retries.burst);
        RetryBudget { share: retries.share.max(0.0), most, left: Mutex::new(most) }
    }

    /// A first attempt pays in.
    pub(crate) fn deposit(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = (*left + self.share).min(self.most);
    }

    /// A retry takes out, when there is enough.
    pub(crate) fn withdraw(&self) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let is_enough = *left >= 1.0;
        if is_enough {
            *left -= 1.0;
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_a_share_of_requests_and_a_burst() {
        let budget = RetryBudget::new(&Retries { share: 0.25, burst: 2, ..Retries::default() });
        assert!(budget.withdraw() && budget.withdraw() && !budget.withdraw());
        (0..3).for_each(|_| budget.deposit());
        assert!(!budget.withdraw());
        budget.deposit();
        assert!(budget.withdraw() && !budget.withdraw());
        (0..100).for_each(|_| budget.deposit());
        assert!(budget.withdraw() && budget.withdraw() && !budget.withdraw());
    }
}
