//! What happens when a file would grow beyond the largest that the process may write.
//!
//! By default the system ends the process with a signal in the middle of the write. Invariant: after `report_as_error`
//! the write fails with an error, as it does on a full disk, and the writer can undo its part.

/// Makes writes beyond the limit fail instead of ending the process.
#[cfg(unix)]
pub(crate) fn report_as_error() {
    use tokio::signal::unix::{SignalKind, signal};
    // The handler stays for the life of the process. Where the signal cannot be caught, it ends the process.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    if let Ok(runtime) = runtime {
        let _ = runtime.block_on(async { signal(SignalKind::from_raw(nix::libc::SIGXFSZ)) });
    }
}

#[cfg(not(unix))]
pub(crate) fn report_as_error() {}
