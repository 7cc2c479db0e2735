//! How the system asks the process to end.

use stave_runtime::{EmbeddedEngine, Engine};
use tokio::sync::watch;

use crate::exit::Exit;

/// Halts runs when the process is asked to end; a second request ends it at once.
pub(crate) fn drain_on_signal(engine: &EmbeddedEngine) -> tokio::task::JoinHandle<()> {
    let engine = engine.clone();
    tokio::spawn(async move {
        asked_to_end().await;
        engine.shut_down();
        asked_to_end().await;
        std::process::exit(Exit::Failed as i32);
    })
}

#[cfg(unix)]
pub(crate) async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        }
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

/// Waits for the second request to end since this was first awaited, and says how many there were. Code that acts on
/// the first one learns of it here: the system may join a second signal with one that nobody has taken yet.
#[cfg(unix)]
pub(crate) async fn asked_to_end_twice(requests: &watch::Sender<u32>) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        let _ = tokio::signal::ctrl_c().await;
        requests.send_replace(1);
        return std::future::pending().await;
    };
    for count in 1..=2 {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        requests.send_replace(count);
    }
}

#[cfg(not(unix))]
pub(crate) async fn asked_to_end() {
    let _ = tokio::signal::ctrl_c().await;
}

#[cfg(not(unix))]
pub(crate) async fn asked_to_end_twice(requests: &watch::Sender<u32>) {
    for count in 1..=2 {
        let _ = tokio::signal::ctrl_c().await;
        requests.send_replace(count);
    }
}
