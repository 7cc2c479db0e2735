//! Work whose time grows with a value, away from the threads that serve everybody.
//!
//! Invariants: work on a large value never runs on a thread that others wait for, where the runtime has threads for
//! that. One project has at most [`AT_ONCE`] such jobs at a time; its further ones wait without holding a thread, so
//! the processor stays free for the work of others.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// Below this size the work costs less than moving it elsewhere.
const LARGE: usize = 16 * 1024;

/// How many jobs one project has at the same time.
const AT_ONCE: usize = 1;

/// The large jobs of those who share one limit.
#[derive(Debug)]
pub struct HeavyWork(Semaphore);

impl Default for HeavyWork {
    fn default() -> Self {
        HeavyWork(Semaphore::new(AT_ONCE))
    }
}

impl HeavyWork {
    /// Does the work on a value of so many bytes.
    pub(crate) async fn on_bytes<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.run_if(bytes > LARGE, work).await
    }

    /// Does the work, elsewhere if it is heavy.
    pub(crate) async fn run_if<T>(&self, is_heavy: bool, work: impl FnOnce() -> T) -> T {
        let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
        if !is_heavy || !matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
            return work();
        }
        // The semaphore is never closed, and without a permit the work would still be right.
        let _permit = self.0.acquire().await.ok();
        tokio::task::block_in_place(work)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, mpsc};

    use tokio::task::JoinSet;

    use super::*;

    /// The job ends only after others had their turn, so the test hangs if the job held the only thread.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_a_large_value_is_worked_on() {
        let work = Arc::new(HeavyWork::default());
        let (release, released) = mpsc::channel::<()>();
        let (mut heavy, mut small) = (JoinSet::new(), JoinSet::new());
        let shared = Arc::clone(&work);
        heavy.spawn(async move { shared.on_bytes(LARGE + 1, move || released.recv().is_ok()).await });
        let shared = Arc::clone(&work);
        small.spawn(async move { shared.on_bytes(1, || 1).await });
        assert_eq!(small.join_all().await, [1]);
        release.send(()).unwrap();
        assert_eq!(heavy.join_all().await, [true]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn jobs_of_one_limit_run_one_after_the_other() {
        let work = Arc::new(HeavyWork::default());
        let running = Arc::new(AtomicUsize::new(0));
        let mut jobs = JoinSet::new();
        for _ in 0..8 {
            let (work, running) = (Arc::clone(&work), Arc::clone(&running));
            jobs.spawn(async move {
                work.run_if(true, || {
                    let others = running.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                    others
                })
                .await
            });
        }
        assert_eq!(jobs.join_all().await, [0; 8]);
    }
}
