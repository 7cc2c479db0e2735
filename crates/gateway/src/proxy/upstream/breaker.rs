//! Takes a model of an upstream out for a while when it fails again and again.
//!
//! Invariant: what fails for one tenant, or with one model, takes nothing out for another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::config::BreakerConfig;

/// How many models of a tenant are watched. Clients name models, so they must not be able to fill the memory.
const MODELS_PER_TENANT: usize = 64;

type ByModel = HashMap<Arc<str>, Arc<Breaker>>;

/// The breakers of one upstream, by tenant and model.
#[derive(Debug)]
pub(crate) struct Breakers {
    config: BreakerConfig,
    by_tenant: Mutex<HashMap<Arc<str>, ByModel>>,
}

impl Breakers {
    pub(crate) fn new(config: BreakerConfig) -> Self {
        Breakers { config, by_tenant: Mutex::default() }
    }

    pub(crate) fn of(&self, tenant: &Arc<str>, model: &Arc<str>) -> Arc<Breaker> {
        let mut tenants = self.by_tenant.lock().unwrap_or_else(PoisonError::into_inner);
        let models = tenants.entry(Arc::clone(tenant)).or_default();
        if let Some(known) = models.get(model) {
            return Arc::clone(known);
        }
        if models.len() >= MODELS_PER_TENANT {
            models.retain(|_, breaker| !breaker.is_quiet());
            if models.len() >= MODELS_PER_TENANT {
                models.clear();
            }
        }
        let breaker = Arc::new(Breaker::new(self.config));
        models.insert(Arc::clone(model), Arc::clone(&breaker));
        breaker
    }

    /// Whether any model is taken out for anyone.
    pub(crate) fn is_open(&self, now: Duration) -> bool {
        let tenants = self.by_tenant.lock().unwrap_or_else(PoisonError::into_inner);
        tenants.values().flat_map(HashMap::values).any(|breaker| breaker.is_open(now))
    }
}

#[derive(Debug)]
pub(crate) struct Breaker {
    config: BreakerConfig,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// How often it was taken out without a success in between.
    trips: u32,
    open_until: Option<Duration>,
    /// Whether one request is on its way to see whether the upstream is back.
    is_probing: bool,
}

impl Breaker {
    pub(crate) fn new(config: BreakerConfig) -> Self {
        Breaker { config, state: Mutex::default() }
    }

    /// Whether a request may go out. After a pause one may, and the others wait for what becomes of it.
    pub(crate) fn admits(&self, now: Duration) -> bool {
        let mut state = self.lock();
        match state.open_until {
            None => true,
            Some(until) if now < until || state.is_probing => false,
            Some(_) => {
                state.is_probing = true;
                true
            }
        }
    }

    pub(crate) fn succeeded(&self) {
        let mut state = self.lock();
        if state.failures > 0 || state.open_until.is_some() {
            *state = State::default();
        }
    }

    pub(crate) fn failed(&self, now: Duration) {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        let was_open = state.open_until.is_some();
        state.is_probing = false;
        if was_open || state.failures >= self.config.failures {
            let pause = self.config.pause.saturating_mul(2_u32.saturating_pow(state.trips.min(16)));
            state.open_until = Some(now + pause.min(self.config.longest_pause));
            state.trips = state.trips.saturating_add(1);
        }
    }

    /// A request ended without saying anything about the upstream, because its client went away.
    pub(crate) fn abandoned(&self) {
        self.lock().is_probing = false;
    }

    /// Whether it has nothing to remember.
    fn is_quiet(&self) -> bool {
        let state = self.lock();
        state.failures == 0 && state.open_until.is_none()
    }

    fn is_open(&self, now: Duration) -> bool {
        self.lock().open_until.is_some_and(|until| now < until)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_fails_is_taken_out_for_its_tenant_only() {
        let config = BreakerConfig {
            failures: 1,
            pause: Duration::from_secs(9),
            longest_pause: Duration::from_secs(9),
        };
        let breakers = Breakers::new(config);
        let (acme, globex): (Arc<str>, Arc<str>) = ("acme".into(), "globex".into());
        let (bad, good): (Arc<str>, Arc<str>) = ("bad".into(), "good".into());
        breakers.of(&acme, &bad).failed(Duration::ZERO);
        assert!(!breakers.of(&acme, &bad).admits(Duration::ZERO) && breakers.is_open(Duration::ZERO));
        assert!(breakers.of(&acme, &good).admits(Duration::ZERO));
        assert!(breakers.of(&globex, &bad).admits(Duration::ZERO));
        for number in 0..1000 {
            breakers.of(&globex, &format!("model-{number}").into());
        }
        assert!(!breakers.of(&acme, &bad).admits(Duration::ZERO), "others do not make it forget");
        assert!(breakers.by_tenant.lock().unwrap()["globex"].len() <= MODELS_PER_TENANT);
    }

    #[test]
    fn failures_in_a_row_open_it_and_one_request_tries_again() {
        let config = BreakerConfig {
            failures: 3,
            pause: Duration::from_secs(10),
            longest_pause: Duration::from_secs(15),
        };
        let breaker = Breaker::new(config);
        let at = Duration::from_secs;
        breaker.failed(at(0));
        breaker.failed(at(0));
        breaker.succeeded();
        breaker.failed(at(1));
        breaker.failed(at(1));
        assert!(breaker.admits(at(1)), "a success in between counts");
        breaker.failed(at(2));
        assert!(!breaker.admits(at(11)) && breaker.is_open(at(11)));
        assert!(breaker.admits(at(12)), "one may try");
        assert!(!breaker.admits(at(12)), "and no other");
        breaker.failed(at(12));
        assert!(!breaker.admits(at(26)), "the pause grows up to its bound");
        assert!(breaker.admits(at(27)));
        breaker.abandoned();
        assert!(breaker.admits(at(27)), "a client that went away says nothing");
        breaker.succeeded();
        assert!(breaker.admits(at(27)) && breaker.admits(at(27)));
    }
}
