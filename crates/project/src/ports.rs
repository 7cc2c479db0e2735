//! The system's clock and randomness behind the ports that the other crates take.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use stave_canon::{Clock, Ids, Timestamp};

#[derive(Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    #[cfg(unix)]
    fn computed(&self) -> Duration {
        use nix::time::{ClockId, clock_gettime};
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or_else(|_| self.elapsed(), Duration::from)
    }
}

/// How many random bytes an id takes.
const ID_BYTES: usize = 16;

#[derive(Debug)]
pub struct RandomIds;

impl Ids for RandomIds {
    #[expect(
        clippy::expect_used,
        reason = "without randomness no id is safe to hand out, and there is no way on"
    )]
    fn fresh(&self) -> u128 {
        thread_local!(static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        // Asking the system costs more than everything else about an id, so each thread asks for many at once.
        BYTES.with_borrow_mut(|bytes| {
            if bytes.len() < ID_BYTES {
                bytes.resize(256 * ID_BYTES, 0);
                getrandom::fill(bytes).expect("the system's random source failed");
            }
            let from = bytes.len() - ID_BYTES;
            bytes.drain(from..).fold(0, |id, byte| (id << 8) | u128::from(byte))
        })
    }
}
