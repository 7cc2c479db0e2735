//! The planner's memory: bounded, forgetting, and the same after a stay in a store.

use stave_block::{Counters, PlanRequest, Planner, PlannerSettings, WirePrompt};

use crate::wire::request;

fn plan(planner: &mut Planner, wire: &WirePrompt, now: f64) -> stave_block::CachePlan {
    planner.plan(&PlanRequest { wire, body: "text", session: None, now })
}

#[test]
fn memory_stays_within_its_cap_however_many_requests_come() {
    let settings = PlannerSettings { capacity: 500, ..PlannerSettings::default() };
    let mut planner = Planner::new(settings);
    // A million with optimisation; what is slow without it shows the same with fewer.
    let requests: u128 = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
    for number in 0..requests {
        let base = number << 8;
        let wire = request(&[1, base, base + 1, base + 2]);
        let session = format!("session-{number}");
        let now = number as f64 * 0.5;
        planner.plan(&PlanRequest { wire: &wire, body: "text", session: Some(&session), now });
        assert!(planner.record_count() <= planner.record_limit(), "request {number}");
    }
}

#[test]
fn a_conversation_that_grows_is_read_from_its_second_request_on() {
    let mut planner = Planner::new(PlannerSettings::default());
    let mut prefixes = vec![1, 2];
    for turn in 0..10_u128 {
        let plan = plan(&mut planner, &request(&prefixes), turn as f64 * 20.0);
        if turn > 0 {
            assert!(plan.expected.read > 0, "turn {turn}: {plan:?}");
        }
        prefixes.extend([100 + 2 * turn, 101 + 2 * turn]);
    }
}

#[test]
fn reads_that_do_not_happen_end_the_hints() {
    let mut planner = Planner::new(PlannerSettings::default());
    let wire = request(&[1, 2, 3]);
    let mut marked = 0;
    for turn in 0..30_u32 {
        let plan = plan(&mut planner, &wire, f64::from(turn) * 20.0);
        marked = plan.marks.len();
        planner.learn(&plan, Counters { input: 3072, read: 0, written: 3072 }, f64::from(turn) * 20.0);
    }
    assert_eq!(marked, 0);
}
