//! The planner's memory: bounded, forgetting, and the same after a stay in a store.

use proptest::prelude::*;
use stave_block::{
    Counters, Mark, MarkedRules, PlanRequest, Planner, PlannerSettings, PositionKind, PromptRole,
    Strategy as PlanStrategy, TracedRequest, Ttl, WirePrompt, refusal, simulate, tokens_by_bytes,
};

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

/// A client's marks: how far apart, from which position on, and how many of them for an hour.
fn marked(mut wire: WirePrompt, from: usize, apart: usize, long: usize) -> WirePrompt {
    let markable = |position: &stave_block::Position| position.markable;
    let places: Vec<usize> = (from..wire.positions.len())
        .step_by(apart)
        .filter(|at| markable(&wire.positions[*at]))
        .take(4)
        .collect();
    for (number, at) in places.into_iter().enumerate() {
        let ttl = if number < long { Ttl::Long } else { Ttl::Short };
        wire.positions[at].mark = Some(Mark { ttl, member: 0..1, value: 0..1, nested: false });
    }
    wire
}

/// A conversation that grows, begins anew, or loses what it ended with, with gaps of every length.
fn trace() -> impl Strategy<Value = Vec<TracedRequest>> {
    let gap = prop_oneof![
        4 => (1..200_u32).prop_map(f64::from),
        2 => (300..3500_u32).prop_map(f64::from),
        1 => (3600..9000_u32).prop_map(f64::from),
    ];
    let step = (gap, 0..8_u8, 1..4_usize);
    let marks = (0..3_usize, 1..4_usize, 0..5_usize, any::<bool>());
    (prop::collection::vec(step, 2..40), marks, 100..9000_u32).prop_map(
        |(steps, (from, apart, long, marks), length)| {
            let mut prefixes: Vec<u128> = vec![1, 2];
            let (mut time, mut fresh) = (0.0, 10);
            let mut trace = Vec::new();
            for (gap, kind, grown) in steps {
                match kind {
                    0 => prefixes.truncate(2),
                    1 => prefixes.truncate(prefixes.len().div_ceil(2)),
                    _ => {}
                }
                for _ in 0..grown {
                    fresh += 1;
                    prefixes.push(fresh);
                }
                let mut wire = request(&prefixes);
                for (index, position) in wire.positions.iter_mut().enumerate() {
                    position.length = length;
                    if index % 5 == 4 {
                        position.kind = PositionKind::Thinking;
                        position.markable = false;
                    }
                }
                let wire = if marks { marked(wire, from, apart, long) } else { wire };
                let tokens = tokens_by_bytes(&wire, 4.0);
                let session = Some("one".to_owned());
                trace.push(TracedRequest { time, session, body: "text".to_owned(), wire, tokens });
                time += gap;
            }
            trace
        },
    )
}

/// Conversations one after another that share their instructions, from a client that marks those and its newest
/// message, each for a lifetime of its own.
fn marked_conversations() -> impl Strategy<Value = Vec<TracedRequest>> {
    let pause = prop_oneof![
        Just(vec![(280_u32, 320)]),
        Just(vec![(420_u32, 1200)]),
        Just(vec![(5_u32, 60)]),
        Just(vec![(20_u32, 21), (20_u32, 21), (20_u32, 21), (900_u32, 1500)]),
        Just(vec![(30_u32, 31), (1000_u32, 5000), (5000_u32, 8000)]),
    ];
    let pauses = pause.prop_flat_map(|pauses| {
        let pauses: Vec<_> = pauses.into_iter().map(|(from, to)| (from..to).boxed()).collect();
        prop::collection::vec(prop::strategy::Union::new(pauses), 72)
    });
    let marks = prop_oneof![
        Just((Some(Ttl::Long), Some(Ttl::Short))),
        Just((Some(Ttl::Long), None)),
        Just((None, Some(Ttl::Short))),
        Just((Some(Ttl::Short), Some(Ttl::Short))),
        Just((Some(Ttl::Long), Some(Ttl::Long))),
    ];
    let lengths = (prop_oneof![500..2000_u32, 7000..9000_u32, 30_000..50_000_u32], 100..2500_u32);
    (pauses, marks, lengths, 1..7_usize, prop_oneof![Just(2_usize), Just(4), Just(12)]).prop_map(
        |(pauses, (instructions, newest), (system, message), conversations, turns)| {
            let (mut time, mut pauses, mut trace) = (0.0, pauses.into_iter().cycle(), Vec::new());
            for conversation in 0..conversations as u128 {
                for turn in 0..turns as u128 {
                    let mut prefixes = vec![1];
                    prefixes.extend((0..=2 * turn).map(|message| (conversation + 1) * 1000 + message));
                    let mut wire = request(&prefixes);
                    let mark = |ttl| Mark { ttl, member: 0..1, value: 0..1, nested: false };
                    wire.shape.turns = turn > 0;
                    for (index, position) in wire.positions.iter_mut().enumerate() {
                        position.length = if index == 0 { system } else { message + 37 * index as u32 };
                        position.role = match index {
                            0 => PromptRole::System,
                            index if index % 2 == 1 => PromptRole::User,
                            _ => PromptRole::Assistant,
                        };
                    }
                    wire.positions[0].mark = instructions.map(mark);
                    if let Some(last) = wire.positions.last_mut() {
                        last.mark = newest.map(mark);
                    }
                    let tokens = tokens_by_bytes(&wire, 4.0);
                    let session = Some(format!("c{conversation}"));
                    trace.push(TracedRequest { time, session, body: "text".to_owned(), wire, tokens });
                    time += f64::from(pauses.next().unwrap_or(60));
                }
            }
            trace
        },
    )
}

proptest! {
    #[test]
    fn a_client_with_marks_pays_no_more_than_as_sent(trace in marked_conversations()) {
        let cost = |strategy| simulate(&trace, strategy, PlannerSettings::default()).total.cost;
        let (sent, planned) = (cost(PlanStrategy::AsSent), cost(PlanStrategy::Planned));
        prop_assert!(planned <= 1.01 * sent, "{planned} instead of {sent}");
    }

    #[test]
    fn a_clients_hour_stays_an_hour_and_every_plan_is_valid(trace in trace()) {
        let rules = MarkedRules::anthropic();
        let mut planner = Planner::new(PlannerSettings::default());
        for TracedRequest { time, session, body, wire, .. } in &trace {
            let plan = planner.plan(&PlanRequest { wire, body, session: session.as_deref(), now: *time });
            prop_assert_eq!(refusal(wire, &plan.marks, rules), None);
            prop_assert!(plan.marks.windows(2).all(|marks| marks[0].0 < marks[1].0), "{:?}", plan.marks);
            for mark in wire.client_marks().into_iter().filter(|(_, ttl)| *ttl == Ttl::Long) {
                prop_assert!(plan.marks.contains(&mark), "{mark:?} is not in {:?}", plan.marks);
            }
        }
    }
}
