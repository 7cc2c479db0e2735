//! Parts of ours that fail: planning lets requests through as they came, policy keeps them back, and the
//! switches turn each of them round. No panic takes a connection down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stave_block::{CachePlan, Counters, PlanRequest, Planner, PlannerSettings};
use stave_canon::{CountingIds, Ids};
use stave_llm::Provider;
use stave_request::planning::{CachePlanner, CachePlanners, PlannersInMemory, PlanningFailed};

use crate::scene::{MESSAGES_REPLY, Scene, config};
use crate::upstream::{Upstream, whole};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fails {
    WithAnError,
    WithAPanic,
    /// A plan comes, and what the reply says of it is what fails.
    AtLearning,
}

/// Planners of which the first ones fail.
#[derive(Debug)]
struct FailingPlanners {
    how: Fails,
    failing: usize,
    made: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct FailingPlanner(Fails, Planner);

impl CachePlanners for FailingPlanners {
    fn planner(&self, upstream: &str, now: f64) -> Box<dyn CachePlanner> {
        if self.made.fetch_add(1, Ordering::Relaxed) < self.failing {
            Box::new(FailingPlanner(self.how, Planner::new(PlannerSettings::default())))
        } else {
            PlannersInMemory.planner(upstream, now)
        }
    }
}

impl CachePlanner for FailingPlanner {
    fn plan(&mut self, request: &PlanRequest<'_>) -> Result<CachePlan, PlanningFailed> {
        match self.0 {
            Fails::WithAnError => Err(PlanningFailed("asked to".to_owned())),
            Fails::WithAPanic => panic!("planning was asked to fail"),
            Fails::AtLearning => Ok(self.1.plan(request)),
        }
    }

    fn begun(&mut self, _: &CachePlan, _: f64) {
        panic!("planning was asked to fail");
    }

    fn learn(&mut self, _: &CachePlan, _: Counters, _: f64) {
        panic!("planning was asked to fail");
    }
}

/// Ids that run out after so many: a source of randomness that fails.
#[derive(Debug)]
struct FailingIds {
    good: usize,
    given: AtomicUsize,
    /// How many fail before the source is back.
    bad: usize,
    ids: CountingIds,
}

impl FailingIds {
    fn new(good: usize, bad: usize) -> Arc<FailingIds> {
        Arc::new(FailingIds { good, bad, given: AtomicUsize::new(0), ids: CountingIds::default() })
    }
}

impl Ids for FailingIds {
    fn fresh(&self) -> u128 {
        let given = self.given.fetch_add(1, Ordering::Relaxed);
        assert!(!(self.good..self.good + self.bad).contains(&given), "there are no ids");
        self.ids.fresh()
    }
}

/// A request that is long enough to be planned, in a conversation of its own.
fn asking(text: &str) -> String {
    let system = "Rule: be terse. ".repeat(900);
    format!(
        r#"{{ "model":"claude-opus-5","max_tokens":16,"metadata":{{"user_id":"s1"}},"system":"{system}","messages":[{{"role":"user","content":"{text}"}}] }}"#
    )
}

async fn metric(scene: &Scene, name: &str) -> String {
    let mut client = scene.client().await;
    client.send(b"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await;
    let text = client.answer().await.unwrap().text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
}

#[tokio::test]
async fn a_request_whose_planning_fails_goes_on_as_it_came() {
    for how in [Fails::WithAnError, Fails::WithAPanic] {
        let upstream = Upstream::always(whole(200, "", MESSAGES_REPLY)).await;
        let planners = FailingPlanners { how, failing: 1, made: Arc::default() };
        let ids = Arc::new(CountingIds::default());
        let scene = Scene::of(config(&upstream, Provider::Anthropic), ids, Arc::new(planners)).await;
        let mut client = scene.client().await;
        let body = asking("one");
        let answer = client.post("/v1/messages", "", &body).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, MESSAGES_REPLY), "{how:?}");
        assert_eq!(answer.header("x-stave-failed-open"), Some("planning"));
        assert_eq!(upstream.calls()[0].body, body, "byte for byte");
        assert_eq!(metric(&scene, "stave_gateway_failed_open_total").await, "1");
        // The same connection continues, with a planner that works.
        let answer = client.post("/v1/messages", "", &asking("two")).await;
        assert_eq!((answer.status, answer.header("x-stave-failed-open")), (200, None), "{how:?}");
        assert!(upstream.calls()[1].body.contains("cache_control"));
        let records = scene.records_of(2).await;
        assert_eq!(records[0].failed_open.as_deref(), Some("planning"));
        assert_eq!((records[0].outcome.as_str(), &records[0].breakpoints), ("answered", &None));
        assert_eq!(records[0].sent_hash, records[0].request_hash);
        assert_eq!(records[1].failed_open, None);
        assert_eq!(metric(&scene, "stave_gateway_failed_open_total").await, "1");
    }
}

#[tokio::test]
async fn planning_can_be_made_to_fail_closed() {
    for how in [Fails::WithAnError, Fails::WithAPanic] {
        let upstream = Upstream::always(whole(200, "", MESSAGES_REPLY)).await;
        let mut settings = config(&upstream, Provider::Anthropic);
        settings.planning.fail_closed = true;
        let planners = FailingPlanners { how, failing: 1, made: Arc::default() };
        let scene = Scene::of(settings, Arc::new(CountingIds::default()), Arc::new(planners)).await;
        let mut client = scene.client().await;
        let answer = client.post("/v1/messages", "", &asking("one")).await;
        assert_eq!((answer.status, answer.at("/error/message").as_str()), (500, "planning failed"));
        assert_eq!(upstream.calls().len(), 0);
        assert_eq!(client.post("/v1/messages", "", &asking("two")).await.status, 200);
        let records = scene.records_of(2).await;
        assert_eq!((records[0].status, records[0].outcome.as_str()), (500, "refused"));
    }
}

#[tokio::test]
async fn a_planner_that_can_not_learn_costs_no_answer() {
    let upstream = Upstream::always(whole(200, "", MESSAGES_REPLY)).await;
    let planners = FailingPlanners { how: Fails::AtLearning, failing: 2, made: Arc::default() };
    let ids = Arc::new(CountingIds::default());
    let scene = Scene::of(config(&upstream, Provider::Anthropic), ids, Arc::new(planners)).await;
    let mut client = scene.client().await;
    for text in ["one", "two", "three"] {
        let answer = client.post("/v1/messages", "", &asking(text)).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, MESSAGES_REPLY));
    }
    let records = scene.records_of(3).await;
    assert!(records.iter().all(|record| record.outcome == "answered" && record.output == 3), "{records:?}");
}

#[tokio::test]
async fn a_request_that_can_not_be_judged_is_refused_unless_it_is_wanted_otherwise() {
    for forwards in [false, true] {
        let upstream = Upstream::always(whole(200, "", MESSAGES_REPLY)).await;
        let mut settings = config(&upstream, Provider::Anthropic);
        settings.policy.forward_unjudged = forwards;
        // The first id is the request's own; judging its instructions takes another.
        let scene = Scene::of(settings, FailingIds::new(1, 1), Arc::new(PlannersInMemory)).await;
        let mut client = scene.client().await;
        let body = asking("one");
        let answer = client.post("/v1/messages", "", &body).await;
        if forwards {
            assert_eq!((answer.status, answer.header("x-stave-failed-open")), (200, Some("policy")));
            assert_eq!(answer.header("x-stave-cache"), Some("not_judged"));
            assert_eq!(upstream.calls()[0].body, body, "byte for byte");
        } else {
            assert_eq!(answer.status, 500, "{}", answer.text());
            assert!(answer.at("/error/message").contains("could not be judged"));
            assert_eq!(upstream.calls().len(), 0);
        }
        assert_eq!(client.post("/v1/messages", "", &body).await.status, 200, "judging works again");
        let records = scene.records_of(2).await;
        let expected = if forwards { (200, "answered") } else { (500, "refused") };
        assert_eq!((records[0].status, records[0].outcome.as_str()), expected);
        assert_eq!(records[0].failed_open.as_deref(), forwards.then_some("policy"));
        let count = metric(&scene, "stave_gateway_failed_open_total").await;
        assert_eq!(count, if forwards { "1" } else { "0" });
    }
}

#[tokio::test]
async fn a_defect_anywhere_costs_its_request_and_not_the_connection() {
    let upstream = Upstream::always(whole(200, "", MESSAGES_REPLY)).await;
    let settings = config(&upstream, Provider::Anthropic);
    // A request without a conversation draws its upstream, which takes the second id.
    let small = crate::scene::MESSAGES;
    let scene = Scene::of(settings, FailingIds::new(1, 1), Arc::new(PlannersInMemory)).await;
    let mut client = scene.client().await;
    let answer = client.post("/v1/messages", "", small).await;
    assert_eq!((answer.status, answer.at("/error/type").as_str()), (500, "api_error"), "{}", answer.text());
    assert_eq!(client.post("/v1/messages", "", small).await.status, 200, "on the same connection");
    let records = scene.records_of(2).await;
    assert_eq!((records[0].status, records[0].outcome.as_str()), (500, "failed"));
    assert_eq!((records[1].status, records[1].outcome.as_str()), (200, "answered"));
}
