//! Turns for requests: so many at a time, and those that wait are let in key by key.
//!
//! Invariant: a turn is never lost. It is given to a request that waits, or it is free; a request that goes
//! away while it is given its turn gives it back.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

#[derive(Debug)]
pub(crate) struct FairQueue {
    waiting_limit: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    waiting: usize,
    /// The keys that have requests waiting, in the order in which they are let in.
    order: VecDeque<u64>,
    queues: HashMap<u64, VecDeque<oneshot::Sender<Turn>>>,
}

/// The right to go on, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn(Option<Arc<FairQueue>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoTurn {
    /// Too many wait already.
    Full,
    /// The wait took too long.
    Late,
}

impl FairQueue {
    pub(crate) fn new(turns: usize, waiting_limit: usize) -> Arc<Self> {
        let state = State { free: turns, waiting: 0, order: VecDeque::new(), queues: HashMap::new() };
        Arc::new(FairQueue { waiting_limit, state: Mutex::new(state) })
    }

    /// Waits for a turn on behalf of a key.
    pub(crate) async fn enter(self: &Arc<Self>, key: u64, patience: Duration) -> Result<Turn, NoTurn> {
        let waiting = {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Turn(Some(Arc::clone(self))));
            }
            if state.waiting >= self.waiting_limit {
                return Err(NoTurn::Full);
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting += 1;
            let queue = state.queues.entry(key).or_default();
            let is_first = queue.is_empty();
            queue.push_back(sender);
            if is_first {
                state.order.push_back(key);
            }
            receiver
        };
        match tokio::time::timeout(patience, waiting).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(NoTurn::Late),
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Hands a turn to the next that waits; it is free when nobody does.
    fn pass_on(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.lock();
                let Some(key) = state.order.pop_front() else {
                    state.free += 1;
                    return;
                };
                state.waiting = state.waiting.saturating_sub(1);
                let queue = state.queues.get_mut(&key);
                let next = queue.and_then(VecDeque::pop_front);
                match state.queues.get(&key) {
                    Some(queue) if !queue.is_empty() => state.order.push_back(key),
                    _ => {
                        state.queues.remove(&key);
                    }
                }
                next
            };
            let Some(next) = next else { continue };
            match next.send(Turn(Some(Arc::clone(self)))) {
                Ok(()) => return,
                // It went away. The turn goes on from here, not from the copy that comes back.
                Err(mut turn) => turn.0 = None,
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            queue.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    impl FairQueue {
        /// How many wait, and how many turns are free.
        fn standing(&self) -> (usize, usize) {
            let state = self.lock();
            (state.waiting, state.free)
        }
    }

    #[tokio::test]
    async fn keys_take_turns_however_many_requests_one_has() {
        let queue = FairQueue::new(1, 100);
        let first = queue.enter(1, LONG).await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        let order = Arc::new(Mutex::new(Vec::new()));
        for key in [1, 1, 1, 2, 3] {
            let (queue, order) = (Arc::clone(&queue), Arc::clone(&order));
            tasks.spawn(async move {
                let _turn = queue.enter(key, LONG).await.unwrap();
                order.lock().unwrap().push(key);
            });
            tokio::task::yield_now().await;
        }
        assert_eq!(queue.waiting(), 5);
        drop(first);
        while tasks.join_next().await.is_some() {}
        assert_eq!(*order.lock().unwrap(), [1, 2, 3, 1, 1]);
        assert_eq!(queue.standing(), (0, 1));
        assert!(queue.lock().queues.is_empty());
    }

    #[tokio::test]
    async fn those_that_go_away_lose_no_turn() {
        let queue = FairQueue::new(2, 2);
        let turns = (queue.enter(1, LONG).await.unwrap(), queue.enter(1, LONG).await.unwrap());
        assert_eq!(queue.enter(1, Duration::from_millis(1)).await.unwrap_err(), NoTurn::Late);
        {
            let mut waiting = std::pin::pin!(queue.enter(2, LONG));
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
            // One that gave up still counts until its turn comes, so that giving up is cheap.
            assert_eq!(queue.enter(3, LONG).await.unwrap_err(), NoTurn::Full);
        }
        drop(turns);
        assert_eq!(queue.standing(), (0, 2));
        let turns = (queue.enter(1, LONG).await.unwrap(), queue.enter(1, LONG).await.unwrap());
        let mut waiting = Box::pin(queue.enter(2, LONG));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(turns.0);
        // It was given its turn and goes away before it looks.
        drop(waiting);
        drop(turns.1);
        assert_eq!(queue.standing(), (0, 2));
    }
}
