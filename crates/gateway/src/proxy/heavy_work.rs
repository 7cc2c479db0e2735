//! Work on large bodies, away from the threads that serve everybody's connections, and key by key.
//!
//! Invariant: a small body waits for no large one. A key has one large body worked on at a time, and a few more that
//! wait; beyond that its requests are asked to retry later.

use std::time::Duration;

use hyper::StatusCode;
use stave_listen::{NoTurn, Waiting};

use super::gateway::Core;
use super::interface::Fault;

/// Bodies below this size cost less than moving their work elsewhere.
const LARGE: usize = 64 * 1024;

/// How many large bodies of one key are worked on at a time.
const OF_ONE_KEY: usize = 1;

/// How many more of one key may wait.
const WAITING: usize = 16;

/// The large bodies of all keys.
pub(crate) type HeavyWork = stave_listen::HeavyWorkQueue<u64>;

pub(crate) fn heavy_work() -> HeavyWork {
    HeavyWork::beside_others(OF_ONE_KEY, Waiting::Each(WAITING))
}

/// Does the work on a body of this size for a key, and says how long it waited.
pub(crate) async fn on_body<T>(
    core: &Core,
    key: u64,
    bytes: usize,
    work: impl FnOnce() -> T,
) -> Result<(T, Duration), Fault> {
    if bytes <= LARGE {
        return Ok((work(), Duration::ZERO));
    }
    let began = core.clock.elapsed();
    let patience = core.setup().config.limits.queue;
    let turn = core.heavy_work.turn_within(key, patience).await.map_err(|reason| {
        let (status, message) = match reason {
            NoTurn::Full => {
                (StatusCode::TOO_MANY_REQUESTS, "too many large requests of this key wait already")
            }
            NoTurn::Late => {
                (StatusCode::SERVICE_UNAVAILABLE, "the large request waited too long for its turn")
            }
        };
        Fault::new(status, "busy", message).after(Some(Duration::from_secs(1)))
    })?;
    let waited = core.clock.elapsed().saturating_sub(began);
    Ok((turn.run(work), waited))
}
