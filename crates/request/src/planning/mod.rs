//! The port to a planner of what a provider's cache should keep.
//!
//! Invariant: nothing that goes wrong behind it, a panic included, keeps a request from being sent.

mod kept;
mod upstream_planner;

use std::fmt;

use stave_block::{CachePlan, Counters, PlanRequest, Planner, PlannerSettings};

pub use self::kept::{KeptPlanners, OpenStore, is_planner_file};
pub use self::upstream_planner::UpstreamPlanner;

/// Plans the requests to one upstream, and learns from their usage.
pub trait CachePlanner: Send + fmt::Debug {
    /// Plans a request and remembers it as sent that way.
    fn plan(&mut self, request: &PlanRequest<'_>) -> Result<CachePlan, PlanningFailed>;

    /// The response to a planned request has begun.
    fn begun(&mut self, plan: &CachePlan, now: f64);

    /// Takes in what the provider counted.
    fn learn(&mut self, plan: &CachePlan, counters: Counters, now: f64);
}

/// Makes the planners of upstreams.
pub trait CachePlanners: Send + Sync + fmt::Debug {
    /// A planner for an upstream. Times are seconds since 1970.
    fn planner(&self, upstream: &str, now: f64) -> Box<dyn CachePlanner>;
}

/// A request could not be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("planning failed: {0}")]
pub struct PlanningFailed(pub String);

/// Planners that know what they saw themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlannersInMemory;

impl CachePlanners for PlannersInMemory {
    fn planner(&self, _: &str, _: f64) -> Box<dyn CachePlanner> {
        Box::new(Planner::new(PlannerSettings::default()))
    }
}

impl CachePlanner for Planner {
    fn plan(&mut self, request: &PlanRequest<'_>) -> Result<CachePlan, PlanningFailed> {
        Ok(Planner::plan(self, request))
    }

    fn begun(&mut self, plan: &CachePlan, now: f64) {
        Planner::begun(self, plan, now);
    }

    fn learn(&mut self, plan: &CachePlan, counters: Counters, now: f64) {
        Planner::learn(self, plan, counters, now);
    }
}
