//! The attempts of one execution of a step: `apply(event)` answers whether another one follows, and after which wait.
//!
//! An execution is that of a node, of a tool that a model called or of one item of a list, so it is a machine beside
//! the run's own. Every executor performs its actions: it makes the attempt, sleeps, or ends the execution.
//!
//! Invariants: the machine reads no clock and draws nothing; the draw that places a wait comes with the failure, so
//! the same events give the same actions. An execution makes at most one attempt more than its rules have retries.

use std::time::Duration;

use stave_diag::codes::run as codes;
use stave_exec::contract::StepContract;
use stave_retry::{AttemptFailure, RetryPolicy};

use crate::failure::{Failure, FailureKind};

/// What the attempts of an execution are bound by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttemptRules<'r> {
    /// What the node asks for.
    pub policy: RetryPolicy,
    /// The contract that may allow less.
    pub contract: Option<&'r StepContract>,
}

/// What happened to an execution.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptEvent {
    /// The execution begins.
    Begun,
    /// The last attempt failed. `draw` is a random number that places the wait within its bound.
    Failed { failure: Failure, draw: u64 },
    /// The wait before the next attempt is over.
    Waited,
}

/// What an executor has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptAction {
    /// Make an attempt, counted from 1. A success ends the execution; a failure is reported as
    /// [`AttemptEvent::Failed`].
    Attempt { number: u32 },
    /// Wait, and report [`AttemptEvent::Waited`].
    Retry { after: Duration },
    /// The execution failed.
    Fail(Failure),
}

/// The attempts of one execution.
#[derive(Debug)]
pub struct Attempts<'r> {
    rules: AttemptRules<'r>,
    made: u32,
}

impl AttemptRules<'_> {
    /// How often the work may be tried again, by the node's settings and by its contract.
    #[must_use]
    pub fn retries(&self) -> u32 {
        let allowed = self.contract.and_then(|contract| contract.max_steps);
        let allowed =
            allowed.map_or(u32::MAX, |most| u32::try_from(most.saturating_sub(1)).unwrap_or(u32::MAX));
        self.policy.retries.min(allowed)
    }

    /// Whether the contract lets the work be tried at all.
    pub fn may_begin(&self) -> Result<(), Failure> {
        match self.contract {
            Some(contract) if contract.max_steps == Some(0) => {
                Err(contract_exceeded(contract, "it allows no attempt"))
            }
            _ => Ok(()),
        }
    }

    /// The failure of work whose contract is the reason that it is not tried again; `None` when it has had all
    /// the attempts that it asks for.
    fn cut_short(&self, made: u32, last: &Failure) -> Option<Failure> {
        let contract = self.contract?;
        let is_cut = last.retryable && made <= self.policy.retries && made > self.retries();
        is_cut.then(|| {
            let what = format!("attempt {made} was the last it allows, and failed: {}", last.message);
            contract_exceeded(contract, &what)
        })
    }
}

impl<'r> Attempts<'r> {
    #[must_use]
    pub fn new(rules: AttemptRules<'r>) -> Self {
        Attempts { rules, made: 0 }
    }

    /// Takes up what happened, and gives what has to be done now.
    #[must_use]
    pub fn apply(&mut self, event: AttemptEvent) -> AttemptAction {
        match event {
            AttemptEvent::Begun => match self.rules.may_begin() {
                Ok(()) => self.next(),
                Err(failure) => AttemptAction::Fail(failure),
            },
            AttemptEvent::Waited => self.next(),
            AttemptEvent::Failed { failure, draw } => self.after_failure(failure, draw),
        }
    }

    fn next(&mut self) -> AttemptAction {
        self.made = self.made.saturating_add(1);
        AttemptAction::Attempt { number: self.made }
    }

    fn after_failure(&self, failure: Failure, draw: u64) -> AttemptAction {
        let failed = AttemptFailure { may_pass: failure.retryable, retry_after: failure.retry_after };
        let policy = RetryPolicy { retries: self.rules.retries(), ..self.rules.policy };
        match policy.wait(self.made, failed, draw) {
            Some(after) => AttemptAction::Retry { after },
            None => AttemptAction::Fail(self.rules.cut_short(self.made, &failure).unwrap_or(failure)),
        }
    }
}

/// The failure of a step that has used up what its contract allows.
#[must_use]
pub fn contract_exceeded(contract: &StepContract, what: &str) -> Failure {
    let message = format!("contract `{}` is exhausted: {what}", contract.contract_id);
    Failure::new(codes::BUDGET_EXCEEDED, FailureKind::Budget, message)
}
