//! Reservations of calls that are made at the same time, and what is left for those that follow.

use stave_canon::Value;
use stave_diag::codes::run as codes;

use super::*;

fn spending(budget: RunBudget) -> Spending {
    Spending::new(budget, Duration::ZERO)
}

fn planned(input: u64, output: Option<u64>) -> Planned<'static> {
    Planned { input, output, longest: 1000, price: None, writes_cache: false, is_free: false }
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
    let spending = spending(RunBudget { calls: Some(3), tokens: Some(100), ..RunBudget::default() });
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
    let spending = spending(RunBudget { tokens: Some(300), ..RunBudget::default() });
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
    let spending = spending(RunBudget { calls: Some(4), ..RunBudget::default() });
    let all: Vec<_> =
        (0..4).map(|_| spending.try_reserve(planned(1, None), Duration::ZERO).unwrap().unwrap()).collect();
    assert!(spending.try_reserve(Planned::free(), Duration::ZERO).unwrap().is_none());
    all.into_iter().for_each(|reserved| reserved.settle(None, None, 1));
    assert!(spending.try_reserve(Planned::free(), Duration::ZERO).is_err());
}

#[tokio::test]
async fn a_waiting_call_goes_on_when_another_one_settles() {
    let spending = spending(RunBudget { tokens: Some(100), ..RunBudget::default() });
    let first = spending.reserve(planned(20, None), || Duration::ZERO).await.unwrap();
    let second = spending.reserve(planned(20, None), || Duration::ZERO);
    let settle = async { first.settle(used(30), None, 1) };
    let (second, ()) = tokio::join!(second, settle);
    assert_eq!(second.unwrap().output, 50);
}

#[test]
fn money_and_time_are_bounded_and_an_unknown_price_is_refused() {
    let budget = RunBudget {
        cost: Some(Cost::from_micros(100)),
        wall: Some(Duration::from_secs(1)),
        ..RunBudget::default()
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

#[test]
fn the_time_before_this_process_counts_for_steps_as_for_calls() {
    let budget = RunBudget { wall: Some(Duration::from_secs(10)), ..RunBudget::default() };
    let started = Duration::from_secs(100);
    let resumed = |before| Spending::going_on(budget, started, Duration::from_secs(before), Spent::default());
    let now = started + Duration::from_secs(1);
    assert!(resumed(8).step(now).is_ok());
    assert_eq!(resumed(9).step(now).unwrap_err().code, codes::BUDGET_EXCEEDED);
    assert!(resumed(9).try_reserve(Planned::free(), now).is_err());
}

/// The ledger counts in picodollars per token what the price table says in millionths per million tokens.
#[test]
fn the_ledger_and_the_price_table_agree_on_what_a_call_costs() {
    let price = Price { input: 3_000_001, output: 15_000_007, ..price() };
    let spending = spending(RunBudget::default());
    for (input, output) in [(0, 0), (1, 1), (12_345, 678), (u64::MAX, u64::MAX)] {
        let planned = Planned { price: Some(&price), ..planned(input, Some(output)) };
        let reserved = spending.try_reserve(planned, Duration::ZERO).unwrap().unwrap();
        let usage = Usage { input, output, ..Usage::default() };
        assert_eq!(reserved.cost, Some(price.cost(&usage)));
    }
}
