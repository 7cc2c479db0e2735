//! A body with a marked secret at some place, whole, in parts or spread out, is refused or sent without the secret, and
//! judging it takes a number of steps that its length bounds.
//!
//! `crates/lower/tests/body_attacks.rs` holds the same for random choices.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stave_block::{Destination, GateVerdict, DataScope, SensitivityPolicy, Surface};
use stave_lower::{govern_body, read_wire};

#[path = "../generators/body_attack.rs"]
mod body_attack;

use body_attack::{Choices, SECRET};

fuzz_target!(|bytes: &[u8]| {
    let body = body_attack::body(&mut Choices::new(bytes));
    for surface in Surface::ALL {
        let Ok(wire) = read_wire(&body, Some(surface)) else { continue };
        let (policy, scope) = (SensitivityPolicy::default(), DataScope::new("a"));
        let governed = govern_body(&body, &wire, &policy, &scope, Destination::External);
        let steps = body_attack::steps(&body, &wire);
        assert!(steps <= body_attack::most_steps(&body), "{steps} steps for {body}");
        if governed.verdict == GateVerdict::Send {
            let sent = stave_canon::parse(&governed.spliced.body).expect("what is sent is JSON");
            assert!(!body_attack::is_delivered(&sent, SECRET), "{body}");
        }
    }
});
