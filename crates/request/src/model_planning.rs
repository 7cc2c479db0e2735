//! Cache planning for a flow's own model calls: one planner for each address that models are asked at.
//!
//! Invariant: planning fails open. A body that cannot be planned is sent as the provider's codec wrote it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use stave_block::{CachePlan, Surface};
use stave_canon::sha256_hex;
use stave_llm::{Provider, Target, Usage};
use stave_lower::{RewritePolicy, read_wire};

use crate::planning::{CachePlanners, PlanningFailed, UpstreamPlanner};
use crate::{BodyToPlan, PlannedBody, counters, plan_body};

/// The most addresses that have a planner. A flow can compute the address of its model, and each planner has a file.
const MOST_PLANNERS: usize = 32;

/// Plans the model calls of flows.
#[derive(Debug)]
pub struct ModelPlanning {
    planners: Arc<dyn CachePlanners>,
    by_address: Mutex<BTreeMap<String, Arc<UpstreamPlanner>>>,
}

/// The body of a model call, as its provider's codec wrote it.
#[derive(Debug, Clone, Copy)]
pub struct ModelBody<'b> {
    pub target: &'b Target,
    pub body: &'b str,
    /// What the conversation is called.
    pub session: &'b str,
    /// Seconds since 1970.
    pub now: f64,
}

/// A call whose body was planned.
#[derive(Debug)]
pub struct CachePlannedCall {
    planner: Arc<UpstreamPlanner>,
    /// The bytes to send.
    pub body: String,
    pub plan: CachePlan,
    /// Why the plan asks nothing of the cache.
    pub not_planned: Option<&'static str>,
}

impl ModelPlanning {
    #[must_use]
    pub fn new(planners: Arc<dyn CachePlanners>) -> ModelPlanning {
        ModelPlanning { planners, by_address: Mutex::default() }
    }

    /// Whether calls to a target are planned.
    #[must_use]
    pub fn covers(target: &Target) -> bool {
        surface(target).is_some()
    }

    /// Plans a call; `None` when it is sent as it is.
    #[must_use]
    pub fn plan(&self, call: &ModelBody<'_>) -> Option<CachePlannedCall> {
        let surface = surface(call.target)?;
        let wire = read_wire(call.body, Some(surface)).ok()?;
        let planner = self.planner(call.target, call.now)?;
        let request = BodyToPlan {
            body: call.body,
            wire: &wire,
            session: Some(call.session),
            rewrites: RewritePolicy::default(),
            now: call.now,
        };
        let planned: Result<PlannedBody, PlanningFailed> =
            plan_body(&request, |request| planner.ask(call.now, |planner| planner.plan(request)));
        let planned = planned.ok()?;
        let body = planned.text(call.body);
        Some(CachePlannedCall { body, not_planned: planned.not_planned, plan: planned.plan?, planner })
    }

    fn planner(&self, target: &Target, now: f64) -> Option<Arc<UpstreamPlanner>> {
        let name = address(target);
        let mut planners = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(planner) = planners.get(&name) {
            return Some(Arc::clone(planner));
        }
        if planners.len() >= MOST_PLANNERS {
            return None;
        }
        let planner = Arc::new(UpstreamPlanner::new(&self.planners, &name, now));
        planners.insert(name, Arc::clone(&planner));
        Some(planner)
    }
}

impl CachePlannedCall {
    /// The reply has begun.
    pub fn begun(&self, now: f64) {
        // Planning is over for this call; what fails here costs the planner what it knew.
        let _ = self.planner.ask(now, |planner| {
            planner.begun(&self.plan, now);
            Ok(())
        });
    }

    /// Takes in what the provider counted.
    pub fn learn(&self, usage: &Usage, now: f64) {
        let _ = self.planner.ask(now, |planner| {
            planner.learn(&self.plan, counters(usage), now);
            Ok(())
        });
    }
}

/// The interface of a target whose provider's cache can be planned for.
///
/// Many servers speak OpenAI's interface, and some refuse fields that they do not know. They are sent no cache key.
fn surface(target: &Target) -> Option<Surface> {
    match target.provider {
        Provider::Anthropic => Some(Surface::AnthropicMessages),
        Provider::OpenAi if target.endpoint.is_none() => Some(Surface::OpenAiChat),
        Provider::OpenAiResponses if target.endpoint.is_none() => Some(Surface::OpenAiResponses),
        Provider::OpenAi
        | Provider::OpenAiResponses
        | Provider::Azure
        | Provider::Ollama
        | Provider::Bedrock => None,
    }
}

/// The name of a target's planner. An endpoint may have a secret in it, so its hash is used.
fn address(target: &Target) -> String {
    let provider = target.provider.word();
    match &target.endpoint {
        None => format!("flow:{provider}"),
        Some(endpoint) => format!("flow:{provider}:{}", &sha256_hex(endpoint)[..16]),
    }
}

#[cfg(test)]
mod tests {
    use stave_block::Planner;

    use super::*;
    use crate::planning::PlannersInMemory;

    fn body(turns: usize) -> String {
        let system = "Rule: be terse. ".repeat(900);
        let mut messages: Vec<String> = Vec::new();
        for turn in 0..turns {
            messages.push(format!(r#"{{"role":"user","content":"question {turn}"}}"#));
            messages.push(format!(r#"{{"role":"assistant","content":"answer {turn}"}}"#));
        }
        messages.push(r#"{"role":"user","content":"and now?"}"#.to_owned());
        let messages = messages.join(",");
        format!(r#"{{"model":"claude-opus-5","max_tokens":16,"system":"{system}","messages":[{messages}]}}"#)
    }

    #[test]
    fn a_call_of_a_flow_is_sent_as_the_planner_of_the_gateway_would_send_it() {
        let planning = ModelPlanning::new(Arc::new(PlannersInMemory));
        let target = Target::new(Provider::Anthropic, "claude-opus-5");
        let mut planner = Planner::new(stave_block::PlannerSettings::default());
        for turn in 0..4 {
            let (body, now) = (body(turn), 1_800_000_000.0 + 20.0 * turn as f64);
            let call = planning.plan(&ModelBody { target: &target, body: &body, session: "s", now }).unwrap();
            let wire = read_wire(&body, Some(Surface::AnthropicMessages)).unwrap();
            let rewrites = RewritePolicy::default();
            let request = BodyToPlan { body: &body, wire: &wire, session: Some("s"), rewrites, now };
            let planned = plan_body(&request, |request| Ok(planner.plan(request))).unwrap();
            assert_eq!(call.body, planned.text(&body), "turn {turn}");
            assert!(call.body.contains("cache_control"), "turn {turn}");
            let usage = Usage { input: 3600, cache_read: call.plan.expected.read, ..Usage::default() };
            call.learn(&usage, now + 2.0);
            planner.learn(&planned.plan.unwrap(), counters(&usage), now + 2.0);
        }
    }

    #[test]
    fn servers_that_only_speak_the_interface_of_openai_are_sent_no_cache_key() {
        let mut target = Target::new(Provider::OpenAi, "gpt-5");
        assert!(ModelPlanning::covers(&target));
        target.endpoint = Some("http://127.0.0.1:11434/v1".to_owned());
        assert!(!ModelPlanning::covers(&target));
    }

    #[test]
    fn a_body_that_cannot_be_read_is_not_planned() {
        let planning = ModelPlanning::new(Arc::new(PlannersInMemory));
        let target = Target::new(Provider::Anthropic, "claude-opus-5");
        let call = ModelBody { target: &target, body: "[]", session: "s", now: 0.0 };
        assert!(planning.plan(&call).is_none());
    }

    #[test]
    fn addresses_that_flows_compute_make_a_bounded_number_of_planners() {
        let planning = ModelPlanning::new(Arc::new(PlannersInMemory));
        let body = body(0);
        for number in 0..2 * MOST_PLANNERS {
            let mut target = Target::new(Provider::Anthropic, "claude-opus-5");
            target.endpoint = Some(format!("http://127.0.0.1:{number}"));
            let call = ModelBody { target: &target, body: &body, session: "s", now: 0.0 };
            assert_eq!(planning.plan(&call).is_some(), number < MOST_PLANNERS);
        }
    }
}
