//! Any bytes are a request of some interface or refused. What is read has its bytes where it says, plans and
//! rewrites of it can be taken back byte for byte, and a plan changes no prefix.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stave_block::{
    Destination, MarkedRules, PlanRequest, Planner, PlannerSettings, Position, DataScope, SensitivityPolicy,
    Surface, refusal,
};
use stave_canon::{CountingIds, FixedClock, Timestamp, parse};
use stave_lower::{
    RewritePolicy, Spliced, govern_body, read_wire, request_to_block, rewrite_body, splice_plan,
};

fuzz_target!(|bytes: &[u8]| {
    let Ok(body) = std::str::from_utf8(bytes) else { return };
    let clock = FixedClock(Timestamp::UNIX_EPOCH);
    for surface in Surface::ALL.iter().map(|surface| Some(*surface)).chain([None]) {
        let Ok(wire) = read_wire(body, surface) else { continue };
        // Half a surrogate pair is left as it is; canonical JSON has no such thing.
        let is_canonical = parse(body).is_ok();
        let whole = |position: &Position| parse(&body[position.range.clone()]).is_ok();
        assert!(!is_canonical || wire.positions.iter().all(whole));
        if let Ok(blocks) = request_to_block(body, surface, None, &CountingIds::new(), &clock) {
            let covered: usize = blocks.places.iter().map(|place| place.positions.len()).sum();
            assert_eq!((covered, blocks.places.len()), (wire.positions.len(), blocks.prompt.blocks.len()));
        }
        let restored = |spliced: &Spliced| Spliced::new(&spliced.body, spliced.inverse(body)).body;
        let mut planner =
            Planner::new(PlannerSettings { bytes_per_token: 0.001, ..PlannerSettings::default() });
        for now in [0.0, 10.0] {
            let plan = planner.plan(&PlanRequest { wire: &wire, body, session: None, now });
            let spliced = splice_plan(body, &wire, &plan);
            assert_eq!(restored(&spliced), body);
            let again = read_wire(&spliced.body, Some(wire.surface)).expect("a planned body is a body");
            assert_eq!(again.positions.len(), wire.positions.len());
            for (before, after) in wire.positions.iter().zip(&again.positions) {
                assert_eq!(before.prefix, after.prefix);
            }
            if wire.surface == Surface::AnthropicMessages {
                assert_eq!(refusal(&again, &again.client_marks(), MarkedRules::anthropic()), None);
            }
        }
        let rewritten = rewrite_body(body, &wire, RewritePolicy { move_volatile: true, order_tools: true });
        assert_eq!(restored(&rewritten), body);
        let governed =
            govern_body(body, &wire, &SensitivityPolicy::default(), &DataScope::new("a"), Destination::External);
        assert_eq!(restored(&governed.spliced), body);
        assert!(!is_canonical || parse(&governed.spliced.body).is_ok());
    }
});
