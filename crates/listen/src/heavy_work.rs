//! Work whose time grows with a value, away from the threads that serve everybody.
//!
//! Invariants: heavy work never runs on a thread that others wait for, where the runtime has threads for that. Only so
//! many jobs run at a time, and only so many of one key; further ones wait without holding a thread and are admitted
//! key by key, so that a key with many jobs delays its own only. Work that is not heavy waits for nobody.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::queue::{FairQueue, NoTurn, QueueAdmission, QueueKey, Turn, Waiting};

/// The heavy work of keys that share one machine.
#[derive(Debug)]
pub struct HeavyWorkQueue<K: QueueKey> {
    turns: Arc<FairQueue<K>>,
}

impl<K: QueueKey> HeavyWorkQueue<K> {
    /// So many jobs at a time, so many of them of one key, and so many that wait.
    #[must_use]
    pub fn new(jobs: usize, of_one_key: usize, waiting: Waiting) -> HeavyWorkQueue<K> {
        HeavyWorkQueue { turns: FairQueue::with_most_of_one_key(jobs.max(1), of_one_key.max(1), waiting) }
    }

    /// As many jobs at a time as leave half of the threads to everything else.
    #[must_use]
    pub fn beside_others(of_one_key: usize, waiting: Waiting) -> HeavyWorkQueue<K> {
        let threads = Handle::try_current().map_or(2, |runtime| runtime.metrics().num_workers());
        HeavyWorkQueue::new(threads / 2, of_one_key, waiting)
    }

    /// Waits for a turn, as long as it takes.
    pub async fn turn(&self, key: K) -> Result<HeavyTurn<K>, NoTurn> {
        if !has_threads() {
            return Ok(HeavyTurn(None));
        }
        match self.turns.ask(key)? {
            QueueAdmission::Turn(turn) => Ok(HeavyTurn(Some(turn))),
            QueueAdmission::Place(place) => {
                place.turn().await.map(|turn| HeavyTurn(Some(turn))).ok_or(NoTurn::Late)
            }
        }
    }

    /// The same for somebody who does not wait longer than that.
    pub async fn turn_within(&self, key: K, patience: Duration) -> Result<HeavyTurn<K>, NoTurn> {
        if !has_threads() {
            return Ok(HeavyTurn(None));
        }
        self.turns.enter(key, patience).await.map(|turn| HeavyTurn(Some(turn)))
    }
}

/// The right to do one heavy job; without threads to do it on there is nothing to wait for.
#[derive(Debug)]
pub struct HeavyTurn<K: QueueKey>(Option<Turn<K>>);

impl<K: QueueKey> HeavyTurn<K> {
    /// Does the job on a thread that nobody else waits for.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(_) => tokio::task::block_in_place(work),
            None => work(),
        }
    }
}

/// Does work that may wait, without holding up what else the runtime does, where the runtime has threads for that.
pub fn without_blocking<T>(work: impl FnOnce() -> T) -> T {
    if has_threads() { tokio::task::block_in_place(work) } else { work() }
}

fn has_threads() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use tokio::task::JoinSet;

    use super::*;

    /// The job ends only after others had their turn, so the test hangs if the job held the only thread.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_a_job_runs() {
        let work = Arc::new(HeavyWorkQueue::new(1, 1, Waiting::Each(1)));
        let (release, released) = mpsc::channel::<()>();
        let (mut heavy, mut other) = (JoinSet::new(), JoinSet::new());
        heavy
            .spawn(async move { work.turn("a").await.map(|turn| turn.run(move || released.recv().is_ok())) });
        other.spawn(async { 1 });
        assert_eq!(other.join_all().await, [1]);
        release.send(()).unwrap();
        assert_eq!(heavy.join_all().await, [Ok(true)]);
    }

    /// One key has many jobs; another comes last and is next.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_key_with_many_jobs_delays_its_own_only() {
        let work = Arc::new(HeavyWorkQueue::new(2, 1, Waiting::Each(3)));
        let (release, released) = mpsc::channel::<()>();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut jobs = JoinSet::new();
        let shared = Arc::clone(&work);
        jobs.spawn(async move {
            shared.turn("flood").await.map(|turn| turn.run(move || released.recv().is_ok()))
        });
        while work.turns.out() == 0 {
            tokio::task::yield_now().await;
        }
        for count in 0..3 {
            let (shared, order) = (Arc::clone(&work), Arc::clone(&order));
            jobs.spawn(async move {
                let note = || {
                    order.lock().unwrap().push("flood");
                    true
                };
                shared.turn("flood").await.map(|turn| turn.run(note))
            });
            while work.turns.waiting() <= count {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(work.turn("flood").await.unwrap_err(), NoTurn::Full);
        // A turn is free, and the flood may not have it.
        assert_eq!(work.turns.out(), 1);
        let other = work.turn("other").await.unwrap();
        assert_eq!(other.run(|| order.lock().unwrap().len()), 0);
        release.send(()).unwrap();
        assert_eq!(jobs.join_all().await, [Ok(true); 4]);
        assert_eq!(order.lock().unwrap().len(), 3);
        assert_eq!((work.turns.out(), work.turns.waiting()), (0, 0));
    }

    #[tokio::test]
    async fn without_threads_the_work_is_done_in_place() {
        let work = HeavyWorkQueue::beside_others(1, Waiting::Each(0));
        assert_eq!(work.turn(1).await.unwrap().run(|| 2), 2);
        assert_eq!(work.turn_within(1, Duration::ZERO).await.unwrap().run(|| 3), 3);
    }
}
