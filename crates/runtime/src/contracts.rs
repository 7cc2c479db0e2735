//! The runtime contracts of the system line, where a document carries them: what one execution of a step may
//! use up, and which keys go in and out.
//!
//! Invariant: a run that would break a contract is stopped by a failure that no error route takes, and what was
//! done before stays.

use std::time::Duration;

use stave_canon::Object;
use stave_diag::Code;
use stave_diag::codes::run as codes;

use crate::plan::PlannedNode;
use crate::port::Side;
use stave_engine::{Failure, FailureKind, contract_exceeded};

impl PlannedNode {
    /// The time that all attempts together may take.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.contract.as_ref()?.max_seconds.map(Duration::from_secs)
    }

    /// What the node's models may still write, when the contract bounds it.
    pub(crate) fn tokens_left(&self, written: u64) -> Result<Option<u64>, Failure> {
        let Some((contract, most)) = self.contract.as_ref().and_then(|one| Some((one, one.max_tokens?)))
        else {
            return Ok(None);
        };
        match most.saturating_sub(written) {
            0 => Err(contract_exceeded(contract, &format!("{written} of {most} tokens are written"))),
            left => Ok(Some(left)),
        }
    }

    /// A reply that is longer than the node's contract allows breaks it, although the model was asked for less.
    pub(crate) fn check_written(&self, written: u64) -> Result<(), Failure> {
        match self.contract.as_ref().and_then(|one| Some((one, one.max_tokens?))) {
            Some((contract, most)) if written > most => Err(contract_exceeded(
                contract,
                &format!("{written} tokens are written, and it allows {most}"),
            )),
            _ => Ok(()),
        }
    }

    /// Whether the node's contract bounds what its models may write.
    pub(crate) fn counts_written(&self) -> bool {
        self.contract.as_ref().is_some_and(|contract| contract.max_tokens.is_some())
    }

    pub(crate) fn took_too_long(&self, limit: Duration) -> Failure {
        let what = format!("no result within {} s", limit.as_secs());
        match &self.contract {
            Some(contract) => contract_exceeded(contract, &what),
            None => Failure::new(codes::BUDGET_EXCEEDED, FailureKind::Budget, what),
        }
    }

    /// The keys of values are among those that the contract names.
    pub(crate) fn check_keys(&self, side: Side, values: &Object) -> Result<(), Failure> {
        let Some(contract) = &self.contract else { return Ok(()) };
        let (keys, code, word): (&[String], Code, &str) = match side {
            Side::Input => (&contract.input_keys, codes::INVALID_INPUT, "input"),
            Side::Output => (&contract.output_keys, codes::INVALID_OUTPUT, "output"),
        };
        let Some(stranger) = values.keys().find(|key| !keys.contains(key)) else { return Ok(()) };
        let id = &contract.contract_id;
        let message =
            format!("{word} `{stranger}` is not among those of contract `{id}`: {}", keys.join(", "));
        // Not a mishap of the step: what follows from it must not be handled away.
        Err(Failure::new(code, FailureKind::Refused, message))
    }
}
