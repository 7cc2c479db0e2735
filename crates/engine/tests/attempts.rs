//! The attempts of an execution: how many there are, how long the waits are, and what ends them.

use std::time::Duration;

use proptest::prelude::*;
use stave_diag::codes::run as codes;
use stave_engine::{AttemptAction, AttemptEvent, AttemptRules, Attempts, Failure, FailureKind};
use stave_exec::contract::StepContract;
use stave_retry::RetryPolicy;

fn policy(retries: u32) -> RetryPolicy {
    RetryPolicy { retries, backoff: Duration::from_millis(100), ..RetryPolicy::default() }
}

fn failure(retryable: bool, retry_after: Option<Duration>) -> Failure {
    let mut failure = Failure::new(codes::HTTP_FAILED, FailureKind::Upstream, "no");
    failure.retryable = retryable;
    failure.retry_after = retry_after;
    failure
}

fn contract(max_steps: u64) -> StepContract {
    StepContract { contract_id: "c".to_owned(), max_steps: Some(max_steps), ..StepContract::default() }
}

/// Every action of an execution whose attempts fail as the list says, the last one again and again.
fn actions(rules: AttemptRules<'_>, failures: &[(Failure, u64)]) -> Vec<AttemptAction> {
    let mut attempts = Attempts::new(rules);
    let mut actions = vec![attempts.apply(AttemptEvent::Begun)];
    let mut failures = failures.iter();
    let mut last = failures.next();
    loop {
        let event = match actions.last() {
            Some(AttemptAction::Attempt { .. }) => {
                let Some((failure, draw)) = last else { return actions };
                last = failures.next().or(last);
                AttemptEvent::Failed { failure: failure.clone(), draw: *draw }
            }
            Some(AttemptAction::Retry { .. }) => AttemptEvent::Waited,
            _ => return actions,
        };
        actions.push(attempts.apply(event));
    }
}

#[test]
fn a_failure_that_may_pass_is_tried_again_until_the_retries_are_used() {
    let rules = AttemptRules { policy: policy(2), contract: None };
    let last = failure(true, None);
    let half = 1 << 63;
    assert_eq!(
        actions(rules, &[(last.clone(), half)]),
        [
            AttemptAction::Attempt { number: 1 },
            AttemptAction::Retry { after: Duration::from_millis(50) },
            AttemptAction::Attempt { number: 2 },
            AttemptAction::Retry { after: Duration::from_millis(100) },
            AttemptAction::Attempt { number: 3 },
            AttemptAction::Fail(last),
        ]
    );
    let stays = failure(false, None);
    let once = [AttemptAction::Attempt { number: 1 }, AttemptAction::Fail(stays.clone())];
    assert_eq!(actions(rules, &[(stays, half)]), once);
}

#[test]
fn the_other_sides_wish_replaces_the_draw_and_too_long_a_wish_ends_the_execution() {
    let rules = AttemptRules { policy: policy(1), contract: None };
    let asks = |seconds| failure(true, Some(Duration::from_secs(seconds)));
    let tried = actions(rules, &[(asks(7), u64::MAX)]);
    assert_eq!(tried.get(1), Some(&AttemptAction::Retry { after: Duration::from_secs(7) }));
    assert_eq!(actions(rules, &[(asks(61), 0)]).get(1), Some(&AttemptAction::Fail(asks(61))));
}

#[test]
fn a_contract_that_allows_fewer_attempts_is_named_as_the_reason() {
    let (two, none, many) = (contract(2), contract(0), contract(9));
    let rules = |contract| AttemptRules { policy: policy(5), contract: Some(contract) };
    let failed = |actions: &[AttemptAction]| match actions.last() {
        Some(AttemptAction::Fail(failure)) => (failure.code, failure.message.clone()),
        other => panic!("it ends with {other:?}"),
    };
    let passing = [(failure(true, None), 0)];
    let cut = actions(rules(&two), &passing);
    assert_eq!(cut.len(), 4);
    let (code, message) = failed(&cut);
    assert_eq!(code, codes::BUDGET_EXCEEDED);
    assert!(message.contains("attempt 2 was the last it allows"), "{message}");
    let refused = actions(rules(&none), &passing);
    assert_eq!(refused.len(), 1);
    assert_eq!(failed(&refused).0, codes::BUDGET_EXCEEDED);
    // A failure that stays has nothing to do with the contract, nor has one after all attempts asked for.
    assert_eq!(failed(&actions(rules(&two), &[(failure(false, None), 0)])).0, codes::HTTP_FAILED);
    assert_eq!(failed(&actions(rules(&many), &passing)).0, codes::HTTP_FAILED);
}

proptest! {
    #[test]
    fn attempts_are_bounded_numbered_and_repeatable(
        retries in 0_u32..6,
        most in proptest::option::of(0_u64..6),
        failures in proptest::collection::vec(
            (any::<bool>(), proptest::option::of(0_u64..90), any::<u64>()), 1..8),
    ) {
        let contract = most.map(contract);
        let rules = AttemptRules { policy: policy(retries), contract: contract.as_ref() };
        let failures: Vec<(Failure, u64)> = failures
            .into_iter()
            .map(|(retryable, wish, draw)| (failure(retryable, wish.map(Duration::from_secs)), draw))
            .collect();
        let first = actions(rules, &failures);
        prop_assert_eq!(&first, &actions(rules, &failures));
        let numbers: Vec<u32> = first
            .iter()
            .filter_map(|action| match action {
                AttemptAction::Attempt { number } => Some(*number),
                _ => None,
            })
            .collect();
        let made = u32::try_from(numbers.len()).unwrap();
        prop_assert_eq!(numbers, (1..=made).collect::<Vec<_>>());
        prop_assert!(made <= retries + 1);
        prop_assert!(most.is_none_or(|most| u64::from(made) <= most));
        prop_assert!(matches!(first.last(), Some(AttemptAction::Fail(_))));
        for action in &first {
            if let AttemptAction::Retry { after } = action {
                prop_assert!(*after <= Duration::from_secs(60));
            }
        }
    }
}
