//! Work whose time grows with a value, away from the threads that serve everybody.
//!
//! Invariant: one project has at most one such job at a time, and all projects of a process together so many that
//! threads are left for everything else. Further jobs wait without holding a thread, and are admitted project by
//! project.

use std::sync::Arc;

use stave_listen::Waiting;

/// Below this size the work costs less than moving it elsewhere.
pub(crate) const LARGE: usize = 16 * 1024;

/// How many jobs one project has at the same time.
const AT_ONCE: usize = 1;

/// Those that wait are runs, which have a bound of their own.
const WAITING: Waiting = Waiting::Each(usize::MAX);

/// The large jobs of all projects of a process.
#[derive(Debug, Clone)]
pub struct HeavyPool(Arc<stave_listen::HeavyWorkQueue<Arc<str>>>);

/// The large jobs of one project.
#[derive(Debug)]
pub struct HeavyWork {
    pool: HeavyPool,
    project: Arc<str>,
}

impl HeavyPool {
    /// A pool that leaves half of the threads to everything else.
    #[must_use]
    pub fn beside_others() -> HeavyPool {
        HeavyPool(Arc::new(stave_listen::HeavyWorkQueue::beside_others(AT_ONCE, WAITING)))
    }

    /// The share of a project.
    #[must_use]
    pub fn of(&self, project: &str) -> HeavyWork {
        HeavyWork { pool: self.clone(), project: project.into() }
    }
}

impl Default for HeavyWork {
    fn default() -> Self {
        HeavyPool(Arc::new(stave_listen::HeavyWorkQueue::new(AT_ONCE, AT_ONCE, WAITING))).of("")
    }
}

impl HeavyWork {
    /// Does the work on a value of so many bytes.
    pub(crate) async fn on_bytes<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.run_if(bytes > LARGE, work).await
    }

    /// Does the work, elsewhere if it is heavy.
    pub(crate) async fn run_if<T>(&self, is_heavy: bool, work: impl FnOnce() -> T) -> T {
        if !is_heavy {
            return work();
        }
        match self.pool.0.turn(Arc::clone(&self.project)).await {
            Ok(turn) => turn.run(work),
            // Nobody is turned away, and without a turn the work would still be right.
            Err(_) => work(),
        }
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
