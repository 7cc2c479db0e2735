//! What happens when a file would grow beyond the largest that the process may write.
//!
//! By default the system ends the process with a signal in the middle of the write. Invariant: after `report_as_error`
//! the write fails with an error, as it does on a full disk, and whoever wrote can undo its part.

/// Has writes beyond the limit fail instead of ending the process. Called inside the asynchronous runtime.
#[cfg(unix)]
pub(crate) fn report_as_error() {
    use tokio::signal::unix::{SignalKind, signal};
    // Where the signal cannot be caught, the process ends as it would have before.
    drop(signal(SignalKind::from_raw(nix::libc::SIGXFSZ)));
}

#[cfg(not(unix))]
pub(crate) fn report_as_error() {}
