//! A configuration made ready: upstreams with their connections, and who is asked for which model.

use std::sync::Arc;

use stave_block::Surface;
use stave_canon::Clock;
use stave_llm::FaultClass;
use stave_request::planning::CachePlanners;
use thiserror::Error;

use super::queue::{FairQueue, Waiting};
use super::seen::CleanPrefixes;
use super::upstream::{BadUpstream, Upstream};
use super::warm_up::compile_rules;
use crate::config::{GatewayConfig, RouteTarget, fits};

/// On how many requests plugins may work at the same time. Each holds a thread.
const PLUGIN_TURNS: usize = 32;

#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) config: GatewayConfig,
    pub(crate) tenant: Arc<str>,
    pub(crate) upstreams: Vec<Arc<Upstream>>,
    pub(crate) queue: Arc<FairQueue>,
    /// Who may have plugins work on a request.
    pub(crate) plugin_queue: Arc<FairQueue>,
    /// What was judged and is clean, by the policies of this setup.
    pub(crate) clean: CleanPrefixes,
}

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadSetup {
    #[error(transparent)]
    Upstream(#[from] BadUpstream),
    #[error("the route `{route}` names the upstream `{upstream}`, which is not there")]
    UnknownUpstream { route: String, upstream: String },
    #[error("the route `{0}` has no target")]
    NoTarget(String),
    #[error("there is no upstream")]
    NoUpstream,
}

/// One upstream that may be asked, and for what.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) model: Arc<str>,
}

/// Who is asked, in order.
#[derive(Debug)]
pub(crate) struct Candidates {
    pub(crate) list: Vec<Candidate>,
    pub(crate) fallback_on: Vec<FaultClass>,
}

impl Setup {
    /// Makes a configuration ready. What did not change since `before` is kept: connections, what is known of
    /// caches, whether upstreams work, and whose turn it is.
    pub(crate) fn new(
        config: GatewayConfig,
        clock: &Arc<dyn Clock>,
        planners: &Arc<dyn CachePlanners>,
        now: f64,
        before: Option<&Setup>,
    ) -> Result<Setup, BadSetup> {
        if config.upstreams.is_empty() {
            return Err(BadSetup::NoUpstream);
        }
        let mut upstreams = Vec::new();
        for upstream in &config.upstreams {
            let same = before.and_then(|before| {
                before.upstreams.iter().find(|known| known.is_as(upstream, &config, &before.config))
            });
            upstreams.push(match same {
                Some(same) => Arc::clone(same),
                None => Arc::new(Upstream::new(upstream, &config, clock, planners, now)?),
            });
        }
        for route in &config.models {
            if route.targets.is_empty() {
                return Err(BadSetup::NoTarget(route.name.clone()));
            }
            for target in route.targets.iter().chain(&route.fallback) {
                if !config.upstreams.iter().any(|upstream| upstream.name == target.upstream) {
                    let (route, upstream) = (route.name.clone(), target.upstream.clone());
                    return Err(BadSetup::UnknownUpstream { route, upstream });
                }
            }
        }
        let limits = config.limits;
        let queue = before
            .filter(|before| {
                let old = before.config.limits;
                (old.concurrency, old.waiting) == (limits.concurrency, limits.waiting)
            })
            .map_or_else(
                || FairQueue::new(limits.concurrency, Waiting::Together(limits.waiting)),
                |before| Arc::clone(&before.queue),
            );
        compile_rules(&config.policy);
        let tenant = config.tenant.as_str().into();
        let plugin_queue = FairQueue::new(PLUGIN_TURNS, Waiting::Together(limits.waiting));
        Ok(Setup { tenant, upstreams, queue, plugin_queue, clean: CleanPrefixes::default(), config })
    }

    /// Who may be asked for a model. `draw` decides between targets that share it.
    pub(crate) fn candidates(&self, model: &str, surface: Surface, draw: u64) -> Candidates {
        if let Some(route) = self.config.models.iter().find(|route| fits(&route.name, model)) {
            let mut targets = by_weight(&route.targets, draw);
            targets.extend(&route.fallback);
            let list = targets.into_iter().filter_map(|target| self.candidate(target, model)).collect();
            return Candidates { list, fallback_on: route.fallback_on.clone() };
        }
        let named =
            |upstream: &&Arc<Upstream>| upstream.config.models.iter().any(|pattern| fits(pattern, model));
        let speaks = |upstream: &&Arc<Upstream>| upstream.config.surfaces().contains(&surface);
        let open = |upstream: &&Arc<Upstream>| upstream.config.models.is_empty();
        let first = |wanted: &dyn Fn(&&Arc<Upstream>) -> bool| self.upstreams.iter().find(wanted);
        let found = first(&|upstream| named(upstream) && speaks(upstream))
            .or_else(|| first(&named))
            .or_else(|| first(&|upstream| open(upstream) && speaks(upstream)))
            .or_else(|| first(&open));
        let list = found
            .map(|upstream| Candidate { upstream: Arc::clone(upstream), model: model.into() })
            .into_iter()
            .collect();
        Candidates { list, fallback_on: Vec::new() }
    }

    /// The upstream that a policy names: by its name, its provider or its host.
    pub(crate) fn named(&self, name: &str) -> Option<&Arc<Upstream>> {
        let by_name = self.upstreams.iter().find(|upstream| upstream.config.name == name);
        by_name.or_else(|| self.upstreams.iter().find(|upstream| upstream.is_meant_by(name)))
    }

    fn candidate(&self, target: &RouteTarget, model: &str) -> Option<Candidate> {
        let upstream = self.upstreams.iter().find(|upstream| upstream.config.name == target.upstream)?;
        let model = target.model.as_deref().unwrap_or(model).into();
        Some(Candidate { upstream: Arc::clone(upstream), model })
    }

    /// The models that clients can name, in the order of the configuration.
    pub(crate) fn models(&self) -> Vec<&str> {
        let routes = self.config.models.iter().map(|route| route.name.as_str());
        let own =
            self.config.upstreams.iter().flat_map(|upstream| upstream.models.iter().map(String::as_str));
        let mut names: Vec<&str> = Vec::new();
        for name in routes.chain(own).filter(|name| !name.ends_with('*')) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// The targets in the order in which they are asked, drawn by their weights.
fn by_weight(targets: &[RouteTarget], draw: u64) -> Vec<&RouteTarget> {
    let mut left: Vec<&RouteTarget> = targets.iter().collect();
    let mut order = Vec::with_capacity(left.len());
    let mut draw = draw;
    while left.len() > 1 {
        let total: u64 = left.iter().map(|target| u64::from(target.weight)).sum();
        let mut point = if total == 0 { 0 } else { draw % total };
        let index = left.iter().position(|target| {
            let is_here = point < u64::from(target.weight);
            point = point.saturating_sub(u64::from(target.weight));
            is_here
        });
        order.push(left.remove(index.unwrap_or(0)));
        draw = draw.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    order.extend(left);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_drawn_by_their_weights() {
        let target = |name: &str, weight| RouteTarget { upstream: name.to_owned(), model: None, weight };
        let targets = [target("a", 3), target("b", 1), target("c", 0)];
        let firsts: Vec<&str> = (0..400).map(|draw| by_weight(&targets, draw)[0].upstream.as_str()).collect();
        let count = |name| firsts.iter().filter(|first| **first == name).count();
        assert_eq!((count("a"), count("b"), count("c")), (300, 100, 0));
        let all = by_weight(&targets, 7);
        assert_eq!(all.len(), 3, "everyone is asked in the end");
    }
}
