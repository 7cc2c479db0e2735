//! The system's clock and randomness behind the ports that the other crates take.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use stave_canon::{Clock, Ids, Timestamp};

#[derive(Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

#[derive(Debug)]
pub(crate) struct RandomIds;

impl Ids for RandomIds {
    #[expect(
        clippy::expect_used,
        reason = "without randomness no id is safe to hand out, and there is no way on"
    )]
    fn fresh(&self) -> u128 {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system's random source failed");
        u128::from_ne_bytes(bytes)
    }
}
