//! A body with a marked secret at some place, whole or in parts, is refused or sent without the secret, and judging it
//! takes time that its length bounds.
//!
//! `crates/lower/tests/body_attacks.rs` holds the same for random choices.

#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use stave_block::{Destination, GateVerdict, Scope, SensitivityPolicy, Surface};
use stave_lower::{govern_body, read_wire};

#[path = "../generators/body_attack.rs"]
mod body_attack;

use body_attack::{Choices, SECRET};

/// What judging may take: some hundred times what it does, since this build is slow and the machine is shared.
const SLOWEST_PER_BYTE: Duration = Duration::from_micros(50);
const LEAST: Duration = Duration::from_secs(2);

fuzz_target!(|bytes: &[u8]| {
    let body = body_attack::body(&mut Choices::new(bytes));
    for surface in Surface::ALL {
        let Ok(wire) = read_wire(&body, Some(*surface)) else { continue };
        let started = Instant::now();
        let (policy, scope) = (SensitivityPolicy::default(), Scope::new("a"));
        let governed = govern_body(&body, &wire, &policy, &scope, Destination::External);
        let limit = LEAST + SLOWEST_PER_BYTE * u32::try_from(body.len()).unwrap_or(u32::MAX);
        assert!(started.elapsed() < limit, "{body}");
        if governed.verdict == GateVerdict::Send {
            let sent = stave_canon::parse(&governed.spliced.body).expect("what is sent is JSON");
            assert!(!body_attack::is_delivered(&sent, SECRET), "{body}");
        }
    }
});
