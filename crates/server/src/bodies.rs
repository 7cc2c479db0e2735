//! Room for the bodies of requests in progress.
//!
//! Invariant: each tenant has room of its own, so that bodies which one tenant sends slowly or in number keep nobody
//! else waiting. A tenant's room holds at least one body of the largest size.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::keys::Keys;
use crate::server::ServerLimits;

/// How many bytes one place holds.
const PLACE: usize = 1024;

#[derive(Debug)]
pub(crate) struct Bodies {
    /// Those of everyone, on a server without keys.
    all: usize,
    rooms: Mutex<Rooms>,
}

#[derive(Debug, Default)]
struct Rooms {
    /// The bytes that each tenant of the keys has.
    shares: BTreeMap<String, usize>,
    taken: HashMap<String, Arc<Semaphore>>,
}

impl Bodies {
    pub(crate) fn new(keys: &Keys, limits: &ServerLimits) -> Bodies {
        let bodies = Bodies { all: limits.held_body_bytes, rooms: Mutex::default() };
        bodies.share(keys, limits);
        bodies
    }

    /// Divides the room among the tenants of these keys. Bodies that are there keep the room that they were given.
    pub(crate) fn share(&self, keys: &Keys, limits: &ServerLimits) {
        let weights = keys.weights();
        let sum: usize = weights.values().map(|weight| *weight as usize).sum();
        let share = |weight: u32| limits.held_body_bytes / sum.max(1) * weight as usize;
        let least = limits.body_bytes.min(limits.held_body_bytes);
        let shares = weights.iter().map(|(tenant, weight)| (tenant.clone(), share(*weight).max(least)));
        let rooms = Rooms { shares: shares.collect(), taken: HashMap::new() };
        *self.rooms.lock().unwrap_or_else(PoisonError::into_inner) = rooms;
    }

    /// Waits until a tenant has room for a body of so many bytes.
    pub(crate) async fn hold(&self, tenant: Option<&str>, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let tenant = tenant.unwrap_or_default();
        let (room, share) = {
            let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
            let share = rooms.shares.get(tenant).copied().unwrap_or(self.all);
            let room = rooms.taken.entry(tenant.to_owned());
            let room = room.or_insert_with(|| Arc::new(Semaphore::new(places(share))));
            (Arc::clone(room), share)
        };
        let wanted = u32::try_from(places(bytes.min(share))).unwrap_or(u32::MAX);
        room.acquire_many_owned(wanted).await.ok()
    }
}

/// The places that so many bytes take.
fn places(bytes: usize) -> usize {
    bytes.div_ceil(PLACE).clamp(1, Semaphore::MAX_PERMITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_tenant_that_fills_its_room_leaves_the_others_theirs() {
        let keys = Keys::parse("a 0123456789abcdef\nb fedcba9876543210\nb weight=3\n").unwrap();
        let limits = ServerLimits { body_bytes: 1024, held_body_bytes: 8 * 1024, ..ServerLimits::default() };
        let bodies = Bodies::new(&keys, &limits);
        let first = bodies.hold(Some("a"), 1024).await.unwrap();
        let second = bodies.hold(Some("a"), 1024).await.unwrap();
        let mut third = Box::pin(bodies.hold(Some("a"), 1));
        assert!(futures_util::poll!(third.as_mut()).is_pending());
        let mut others = Vec::new();
        for _ in 0..6 {
            others.push(bodies.hold(Some("b"), 1024).await.unwrap());
        }
        drop(first);
        assert!(third.await.is_some());
        drop((second, others));
    }
}
