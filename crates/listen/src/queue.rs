//! Turns that several who ask share fairly: keys of a gateway, tenants of a server.
//!
//! So many turns are there at a time. Each key that has a share is sure of some of them, whatever the others do; the
//! rest is first come, first served. Those that wait are admitted key by key, as often in a row as their key weighs.
//!
//! Invariants: a turn is never lost. It is given to one that waits, or it is free; one that goes away while it is
//! given its turn gives it back. Never more turns are out than there are.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

/// Turns for keys of a kind.
#[derive(Debug)]
pub struct FairQueue<K: QueueKey> {
    turns: usize,
    /// How many of them one key may have.
    of_one_key: usize,
    bounds: Waiting,
    state: Mutex<State<K>>,
    /// Told when the last turn came back and nobody waits.
    idle: Notify,
}

/// What turns are shared by.
pub trait QueueKey: Eq + Hash + Clone + Send + std::fmt::Debug {}

impl<K: Eq + Hash + Clone + Send + std::fmt::Debug> QueueKey for K {}

/// How many may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// All keys together.
    Together(usize),
    /// Each key for itself, so that none takes the places of the others.
    Each(usize),
}

#[derive(Debug)]
struct State<K: QueueKey> {
    /// Turns that are out, in all and by key.
    out: usize,
    held: HashMap<K, usize>,
    /// The turns that a key is sure of, and how much it weighs.
    shares: HashMap<K, Share>,
    waiting: usize,
    /// The keys that have somebody waiting, in the order in which they are admitted.
    order: VecDeque<K>,
    queues: HashMap<K, Line<K>>,
    /// How many of the first key were admitted since it moved to the front.
    in_a_row: u32,
}

/// Those of one key that wait.
#[derive(Debug)]
struct Line<K: QueueKey> {
    /// Those whose work began before the others came.
    begun: VecDeque<oneshot::Sender<Turn<K>>>,
    rest: VecDeque<oneshot::Sender<Turn<K>>>,
}

impl<K: QueueKey> Default for Line<K> {
    fn default() -> Self {
        Line { begun: VecDeque::new(), rest: VecDeque::new() }
    }
}

impl<K: QueueKey> Line<K> {
    fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.rest.is_empty()
    }

    fn pop(&mut self) -> Option<oneshot::Sender<Turn<K>>> {
        self.begun.pop_front().or_else(|| self.rest.pop_front())
    }
}

/// How many turns there are, and how many one key may have.
#[derive(Debug, Clone, Copy)]
struct Most {
    turns: usize,
    of_one_key: usize,
}

#[derive(Debug, Clone, Copy)]
struct Share {
    sure: usize,
    weight: u32,
}

/// The right to proceed, until it is dropped.
#[derive(Debug)]
pub struct Turn<K: QueueKey>(Option<(Arc<FairQueue<K>>, K)>);

/// A place among those that wait, until it is dropped.
#[derive(Debug)]
pub struct QueueTicket<K: QueueKey>(oneshot::Receiver<Turn<K>>);

impl<K: QueueKey> QueueAdmission<K> {
    /// The turn, within a time.
    pub async fn turn(self, patience: Duration) -> Result<Turn<K>, NoTurn> {
        match self {
            QueueAdmission::Turn(turn) => Ok(turn),
            QueueAdmission::Place(place) => {
                tokio::time::timeout(patience, place.turn()).await.ok().flatten().ok_or(NoTurn::Late)
            }
        }
    }
}

impl<K: QueueKey> QueueTicket<K> {
    /// The turn, once it has come; `None` when the queue is gone.
    pub async fn turn(self) -> Option<Turn<K>> {
        self.0.await.ok()
    }
}

/// What one that asks for a turn is given.
#[derive(Debug)]
pub enum QueueAdmission<K: QueueKey> {
    Turn(Turn<K>),
    Place(QueueTicket<K>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTurn {
    /// Too many wait already.
    Full,
    /// The wait took too long.
    Late,
}

impl<K: QueueKey> FairQueue<K> {
    #[must_use]
    pub fn new(turns: usize, bounds: Waiting) -> Arc<Self> {
        FairQueue::with_most_of_one_key(turns, turns, bounds)
    }

    /// The same where one key never has more turns than that, whether others want them or not.
    #[must_use]
    pub fn with_most_of_one_key(turns: usize, of_one_key: usize, bounds: Waiting) -> Arc<Self> {
        let state = State {
            out: 0,
            held: HashMap::new(),
            shares: HashMap::new(),
            waiting: 0,
            order: VecDeque::new(),
            queues: HashMap::new(),
            in_a_row: 0,
        };
        Arc::new(FairQueue { turns, of_one_key, bounds, state: Mutex::new(state), idle: Notify::new() })
    }

    /// Names the keys that are sure of turns, with their weights: half of all turns are divided among them, one key
    /// alone has no need to be sure of any. Where there are too few turns to divide, nobody is sure of one.
    pub fn share(self: &Arc<Self>, weights: impl IntoIterator<Item = (K, u32)>) {
        let weights: HashMap<K, u32> =
            weights.into_iter().map(|(key, weight)| (key, weight.max(1))).collect();
        let all: usize = weights.values().map(|weight| *weight as usize).sum();
        let sure = |weight: u32| match weights.len() {
            0 | 1 => 0,
            _ => (self.turns / 2).saturating_mul(weight as usize) / all.max(1),
        };
        let shares =
            weights.iter().map(|(key, weight)| (key.clone(), Share { sure: sure(*weight), weight: *weight }));
        self.lock().shares = shares.collect();
        // Who has a share now may proceed.
        self.let_in();
    }

    /// A turn on behalf of a key, or a place among those that wait for one.
    pub fn ask(self: &Arc<Self>, key: K) -> Result<QueueAdmission<K>, NoTurn> {
        let mut state = self.lock();
        let is_alone = state.queues.get(&key).is_none_or(Line::is_empty);
        if is_alone && state.has_turn(&key, self.most()) {
            state.give(&key);
            return Ok(QueueAdmission::Turn(Turn(Some((Arc::clone(self), key)))));
        }
        let (count, most) = match self.bounds {
            Waiting::Together(most) => (state.waiting, most),
            Waiting::Each(most) => (state.queues.get(&key).map_or(0, |line| line.rest.len()), most),
        };
        if count >= most {
            return Err(NoTurn::Full);
        }
        Ok(QueueAdmission::Place(state.wait(key, |line| &mut line.rest)))
    }

    /// The same for work that began before those that wait came: it is admitted before the others of its key, in the
    /// order in which such work asks, and no bound of those that wait keeps it out.
    pub fn ask_begun(self: &Arc<Self>, key: K) -> QueueAdmission<K> {
        let mut state = self.lock();
        let is_next = state.queues.get(&key).is_none_or(|line| line.begun.is_empty());
        if is_next && state.has_turn(&key, self.most()) {
            state.give(&key);
            return QueueAdmission::Turn(Turn(Some((Arc::clone(self), key))));
        }
        QueueAdmission::Place(state.wait(key, |line| &mut line.begun))
    }

    /// Waits for a turn on behalf of a key.
    pub async fn enter(self: &Arc<Self>, key: K, patience: Duration) -> Result<Turn<K>, NoTurn> {
        self.ask(key)?.turn(patience).await
    }

    /// A turn, if there is one at once.
    pub fn try_enter(self: &Arc<Self>, key: K) -> Option<Turn<K>> {
        let mut state = self.lock();
        let is_alone = state.queues.get(&key).is_none_or(Line::is_empty);
        if !is_alone || !state.has_turn(&key, self.most()) {
            return None;
        }
        state.give(&key);
        drop(state);
        Some(Turn(Some((Arc::clone(self), key))))
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// How many have a turn.
    pub fn out(&self) -> usize {
        self.lock().out
    }

    /// Waits until no turn is out and nobody waits for one.
    pub async fn idle(&self) {
        loop {
            let told = self.idle.notified();
            {
                let state = self.lock();
                if state.out == 0 && state.waiting == 0 {
                    return;
                }
            }
            told.await;
        }
    }

    fn give_back(self: &Arc<Self>, key: &K) {
        self.lock().take_back(key);
        self.let_in();
    }

    /// Hands free turns to those that wait, for as long as one of them may have one.
    fn let_in(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.lock();
                let Some((key, next)) = state.next(self.most()) else {
                    if state.out == 0 && state.waiting == 0 {
                        self.idle.notify_waiters();
                    }
                    return;
                };
                state.give(&key);
                (key, next)
            };
            let (key, sender) = next;
            if let Err(mut turn) = sender.send(Turn(Some((Arc::clone(self), key.clone())))) {
                // The receiver went away. The turn passes on from here, not from the copy that comes back.
                turn.0 = None;
                self.lock().take_back(&key);
            }
        }
    }

    fn most(&self) -> Most {
        Most { turns: self.turns, of_one_key: self.of_one_key }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: QueueKey> State<K> {
    /// Whether a key may have one more turn: one that it is sure of, or one that no other key is sure of.
    fn has_turn(&self, key: &K, most: Most) -> bool {
        let held = |key: &K| self.held.get(key).copied().unwrap_or(0);
        if self.out >= most.turns || held(key) >= most.of_one_key {
            return false;
        }
        let own = self.shares.get(key).map_or(0, |share| share.sure);
        if held(key) < own {
            return true;
        }
        let others = self.shares.iter().filter(|(other, _)| *other != key);
        let kept: usize = others.map(|(other, share)| share.sure.saturating_sub(held(other))).sum();
        self.out + kept < most.turns
    }

    /// A place at the end of a line.
    fn wait(
        &mut self,
        key: K,
        which: impl FnOnce(&mut Line<K>) -> &mut VecDeque<oneshot::Sender<Turn<K>>>,
    ) -> QueueTicket<K> {
        let (sender, receiver) = oneshot::channel();
        self.waiting += 1;
        let line = self.queues.entry(key.clone()).or_default();
        let is_first = line.is_empty();
        which(line).push_back(sender);
        if is_first {
            self.order.push_back(key);
        }
        QueueTicket(receiver)
    }

    fn give(&mut self, key: &K) {
        self.out += 1;
        *self.held.entry(key.clone()).or_default() += 1;
    }

    fn take_back(&mut self, key: &K) {
        self.out = self.out.saturating_sub(1);
        if let Some(held) = self.held.get_mut(key) {
            *held = held.saturating_sub(1);
            if *held == 0 {
                self.held.remove(key);
            }
        }
    }

    /// The next that waits and may have a turn.
    fn next(&mut self, most: Most) -> Option<(K, oneshot::Sender<Turn<K>>)> {
        let place = self.order.iter().position(|key| self.has_turn(key, most))?;
        let key = self.order.get(place)?.clone();
        let queue = self.queues.get_mut(&key)?;
        let sender = queue.pop()?;
        let is_empty = queue.is_empty();
        self.waiting = self.waiting.saturating_sub(1);
        self.in_a_row = if place == 0 { self.in_a_row + 1 } else { 1 };
        let weight = self.shares.get(&key).map_or(1, |share| share.weight);
        if is_empty {
            self.queues.remove(&key);
        }
        if is_empty || self.in_a_row >= weight {
            self.order.remove(place);
            self.in_a_row = 0;
            if !is_empty {
                self.order.push_back(key.clone());
            }
        } else if place != 0 {
            self.order.remove(place);
            self.order.push_front(key.clone());
        }
        Some((key, sender))
    }
}

impl<K: QueueKey> Drop for Turn<K> {
    fn drop(&mut self) {
        if let Some((queue, key)) = self.0.take() {
            queue.give_back(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    impl<K: QueueKey> FairQueue<K> {
        /// How many wait, and how many turns are out.
        fn standing(&self) -> (usize, usize) {
            let state = self.lock();
            (state.waiting, state.out)
        }
    }

    /// Lets these keys wait one after the other, and gives the order in which they are admitted once a turn is free.
    async fn order_of(queue: &Arc<FairQueue<u64>>, keys: &[u64]) -> Vec<u64> {
        let first = queue.enter(0, LONG).await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        let order = Arc::new(Mutex::new(Vec::new()));
        for (count, key) in keys.iter().copied().enumerate() {
            let (waits, order) = (Arc::clone(queue), Arc::clone(&order));
            tasks.spawn(async move {
                let _turn = waits.enter(key, LONG).await.unwrap();
                order.lock().unwrap().push(key);
            });
            while queue.waiting() <= count {
                tokio::task::yield_now().await;
            }
        }
        drop(first);
        while tasks.join_next().await.is_some() {}
        Arc::try_unwrap(order).unwrap().into_inner().unwrap()
    }

    #[tokio::test]
    async fn keys_take_turns_however_many_requests_one_has() {
        let queue = FairQueue::new(1, Waiting::Together(100));
        assert_eq!(order_of(&queue, &[1, 1, 1, 2, 3]).await, [1, 2, 3, 1, 1]);
        assert_eq!(queue.standing(), (0, 0));
        assert!(queue.lock().queues.is_empty() && queue.lock().held.is_empty());
    }

    #[tokio::test]
    async fn a_key_is_let_in_as_often_in_a_row_as_it_weighs() {
        let queue = FairQueue::new(1, Waiting::Together(100));
        queue.share([(1, 2), (2, 1)]);
        assert_eq!(order_of(&queue, &[1, 1, 1, 1, 2, 2, 2]).await, [1, 1, 2, 1, 1, 2, 2]);
    }

    #[tokio::test]
    async fn a_key_is_sure_of_its_turns_whatever_another_takes() {
        let queue = FairQueue::new(8, Waiting::Each(2));
        queue.share([("a", 1), ("b", 1)]);
        let mut flood = Vec::new();
        while let Some(turn) = queue.try_enter("a") {
            flood.push(turn);
        }
        // Two of the eight are kept for the other.
        assert_eq!(flood.len(), 6);
        let mut waiting = [Box::pin(queue.enter("a", LONG)), Box::pin(queue.enter("a", LONG))];
        for one in &mut waiting {
            assert!(futures_util::poll!(one.as_mut()).is_pending());
        }
        assert_eq!(queue.enter("a", LONG).await.unwrap_err(), NoTurn::Full);
        let sure = (queue.try_enter("b").unwrap(), queue.try_enter("b").unwrap());
        assert!(queue.try_enter("b").is_none());
        drop(sure);
        assert_eq!(queue.standing(), (2, 6));
        // Alone, a key has all of them.
        queue.share([("a", 1)]);
        assert_eq!(queue.standing(), (0, 8));
        drop(waiting);
        drop(flood);
        assert_eq!(queue.standing(), (0, 0));
        queue.idle().await;
    }

    #[tokio::test]
    async fn work_that_began_before_comes_first_also_when_nobody_else_may_wait() {
        let queue = FairQueue::new(1, Waiting::Each(2));
        let turn = queue.enter("a", LONG).await.unwrap();
        let place = |asked| match asked {
            QueueAdmission::Place(place) => place,
            QueueAdmission::Turn(_) => panic!("there is one turn only"),
        };
        let late = [place(queue.ask("a").unwrap()), place(queue.ask("a").unwrap())];
        assert!(matches!(queue.ask("a"), Err(NoTurn::Full)));
        let begun = [place(queue.ask_begun("a")), place(queue.ask_begun("a"))];
        drop(turn);
        for place in begun.into_iter().chain(late) {
            let turn = tokio::time::timeout(LONG, place.turn()).await.unwrap();
            assert_eq!(queue.out(), 1);
            drop(turn);
        }
        assert_eq!(queue.standing(), (0, 0));
    }

    #[tokio::test]
    async fn those_that_go_away_lose_no_turn() {
        let queue = FairQueue::new(2, Waiting::Together(2));
        let turns = (queue.enter(1, LONG).await.unwrap(), queue.enter(1, LONG).await.unwrap());
        assert_eq!(queue.enter(1, Duration::from_millis(1)).await.unwrap_err(), NoTurn::Late);
        {
            let mut waiting = std::pin::pin!(queue.enter(2, LONG));
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
            // One that gave up still counts until its turn comes, so that giving up is cheap.
            assert_eq!(queue.enter(3, LONG).await.unwrap_err(), NoTurn::Full);
        }
        drop(turns);
        assert_eq!(queue.standing(), (0, 0));
        let turns = (queue.enter(1, LONG).await.unwrap(), queue.enter(1, LONG).await.unwrap());
        let mut waiting = Box::pin(queue.enter(2, LONG));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(turns.0);
        // It was given its turn and goes away before it looks.
        drop(waiting);
        drop(turns.1);
        assert_eq!(queue.standing(), (0, 0));
    }
}
