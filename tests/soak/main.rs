//! The gateway under load while its upstream misbehaves: no byte of a stream is lost or doubled, every request
//! leaves exactly one record, and memory and descriptors stay level.
//!
//! Runs for a few seconds; `STAVE_SOAK_SECONDS` sets how many, `STAVE_SOAK_CLIENTS` how many clients ask at the same
//! time, and `STAVE_SOAK_PROGRAM` which program is the gateway, such as that of a release build.

#![cfg(target_os = "linux")]
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test starts processes, reads the environment, and stops where something is not as it should be"
)]

mod client;
mod gateway;
mod random;
mod script;
mod upstream;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use self::client::{Client, Tally};
use self::gateway::{Gateway, Level};
use self::upstream::Upstream;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gateway_holds_while_its_upstream_misbehaves() {
    let length = Duration::from_secs(setting("STAVE_SOAK_SECONDS", 12));
    let clients = setting("STAVE_SOAK_CLIENTS", 48);
    let (faulty, steady) = (Upstream::faulty().await, Upstream::steady().await);
    let gateway = Gateway::start(&faulty, &steady).await;
    let before = gateway.level();

    let (tally, next) = (Arc::new(Tally::default()), Arc::new(AtomicU64::new(0)));
    let end = Instant::now() + length;
    let mut asking = JoinSet::new();
    for _ in 0..clients {
        let client = Client::new(gateway.address(), Arc::clone(&faulty), Arc::clone(&tally));
        let next = Arc::clone(&next);
        asking.spawn(async move {
            let mut client = client;
            while Instant::now() < end {
                client.ask(next.fetch_add(1, Ordering::Relaxed)).await;
            }
        });
    }
    let watching = watch(&gateway, end);
    let levels = watching.await;
    while let Some(ended) = asking.join_next().await {
        ended.expect("no client found a fault");
    }
    let asked = tally.asked();
    tally.is_varied();

    let after = gateway.level();
    println!(
        "{asked} requests in {length:?}: {tally:?}\nbefore {before:?}, after {after:?}\n{}",
        told(&levels)
    );
    // A client has one connection to the gateway, and the gateway at most one for it to each of the upstreams.
    let allowed = before.descriptors + 3 * usize::try_from(clients).expect("few clients") + 32;
    let most = levels.iter().map(|level| level.descriptors).max().unwrap_or(0);
    assert!(most <= allowed, "{most} descriptors, and no more than {allowed} are needed");
    level_memory(&levels);

    let records = gateway.stop().await;
    assert_eq!(records.count, asked, "every request leaves one record");
    assert_eq!((records.ids, records.sessions), (asked, asked), "and no two requests leave the same one");
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// What the process holds, from time to time.
async fn watch(gateway: &Gateway, end: Instant) -> Vec<Level> {
    let mut levels = Vec::new();
    while Instant::now() < end {
        levels.push(gateway.level());
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    levels
}

/// The last third of the time needs no more memory than the middle third, but for what a busy allocator and the
/// planner's first memories take.
fn level_memory(levels: &[Level]) {
    let third = levels.len() / 3;
    let most = |levels: &[Level]| levels.iter().map(|level| level.memory).max().unwrap_or(0);
    let (middle, last) = (most(&levels[third..2 * third]), most(&levels[2 * third..]));
    assert!(last <= middle + middle / 5 + (24 << 20), "memory grows from {middle} to {last} bytes");
}

/// Ten of the levels, evenly spaced.
fn told(levels: &[Level]) -> String {
    let every = (levels.len() / 10).max(1);
    let lines = levels
        .iter()
        .step_by(every)
        .map(|level| format!("  {:6.1} MB, {} descriptors", level.memory as f64 / 1e6, level.descriptors));
    lines.collect::<Vec<_>>().join("\n")
}
