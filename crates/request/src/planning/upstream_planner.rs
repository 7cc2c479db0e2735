//! What an upstream's cache is believed to hold, kept apart from requests by the time of one plan.
//!
//! Invariant: a planner that failed is not asked again; another one begins in its place.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use super::{CachePlanner, CachePlanners, PlanningFailed};

/// The planner of one upstream, shared by all requests to it.
#[derive(Debug)]
pub struct UpstreamPlanner {
    // Dropped before `planners`, which takes in what it has left to keep.
    planner: Mutex<Box<dyn CachePlanner>>,
    planners: Arc<dyn CachePlanners>,
    upstream: String,
}

impl UpstreamPlanner {
    #[must_use]
    pub fn new(planners: &Arc<dyn CachePlanners>, upstream: &str, now: f64) -> UpstreamPlanner {
        UpstreamPlanner {
            planners: Arc::clone(planners),
            upstream: upstream.to_owned(),
            planner: Mutex::new(planners.planner(upstream, now)),
        }
    }

    /// Asks the planner, or reports to it. Whatever goes wrong in `ask` is given back as a failure.
    pub fn ask<T>(
        &self,
        now: f64,
        ask: impl FnOnce(&mut dyn CachePlanner) -> Result<T, PlanningFailed>,
    ) -> Result<T, PlanningFailed> {
        let asked = catch_unwind(AssertUnwindSafe(|| {
            ask(&mut **self.planner.lock().unwrap_or_else(PoisonError::into_inner))
        }));
        let asked = asked.unwrap_or_else(|_| Err(PlanningFailed("a defect of ours".to_owned())));
        if asked.is_err() {
            // What the planner knew when it failed is not to be relied on.
            let fresh = catch_unwind(AssertUnwindSafe(|| self.planners.planner(&self.upstream, now)));
            if let Ok(fresh) = fresh {
                *self.planner.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
            }
        }
        asked
    }
}
