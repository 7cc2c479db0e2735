//! Work on large bodies, away from the threads that serve everybody's connections.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Bodies below this size cost less than moving their work elsewhere.
const LARGE: usize = 64 * 1024;

/// Does the work on a body of this size; a large one on a thread that nobody else waits for.
pub(crate) fn on_body<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_threads =
        Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if bytes > LARGE && has_threads { tokio::task::block_in_place(work) } else { work() }
}
