//! A key with many large bodies delays nobody but itself.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use stave_block::{CachePlan, Counters, PlanRequest};
use stave_canon::CountingIds;
use stave_llm::Provider;
use stave_request::planning::{CachePlanner, CachePlanners, PlanningFailed};
use tokio::task::JoinSet;

use crate::client::Client;
use crate::scene::{CHAT_REPLY, Scene, several};
use crate::upstream::{Upstream, whole};

/// How often the test looks what has happened.
const LOOK: Duration = Duration::from_millis(5);

/// What happens in planning, in order, and whether it may continue.
#[derive(Debug, Default)]
struct Stage {
    state: Mutex<(Vec<String>, bool)>,
    changed: Condvar,
}

impl Stage {
    fn events(&self) -> Vec<String> {
        self.state.lock().unwrap().0.clone()
    }

    async fn until(&self, event: &str) {
        while !self.events().iter().any(|known| known == event) {
            tokio::time::sleep(LOOK).await;
        }
    }

    fn release(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

#[derive(Debug)]
struct StagedPlanners(Arc<Stage>);

#[derive(Debug)]
struct StagedPlanner(Arc<Stage>, String);

impl CachePlanners for StagedPlanners {
    fn planner(&self, upstream: &str, _: f64) -> Box<dyn CachePlanner> {
        Box::new(StagedPlanner(Arc::clone(&self.0), upstream.to_owned()))
    }
}

impl CachePlanner for StagedPlanner {
    /// Plans for all but the upstream `small` end only when the test lets them.
    fn plan(&mut self, request: &PlanRequest<'_>) -> Result<CachePlan, PlanningFailed> {
        let mut state = self.0.state.lock().unwrap();
        state.0.push(self.1.clone());
        while self.1 != "small" && !state.1 {
            state = self.0.changed.wait(state).unwrap();
        }
        Ok(CachePlan::as_sent(request.wire))
    }

    fn begun(&mut self, _: &CachePlan, _: f64) {}

    fn learn(&mut self, _: &CachePlan, _: Counters, _: f64) {}
}

fn body(model: &str, bytes: usize) -> String {
    let text = "word ".repeat(bytes / 5);
    format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn large_bodies_of_one_key_wait_for_each_other_and_nobody_else_does() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let names = ["flood", "other", "small"];
    let mut config = several(&names.map(|name| (name, &upstream, Provider::OpenAi)));
    for upstream in &mut config.upstreams {
        upstream.models = vec![upstream.name.clone()];
    }
    let stage = Arc::new(Stage::default());
    let planners = Arc::new(StagedPlanners(Arc::clone(&stage)));
    let scene = Scene::of(config, Arc::new(CountingIds::default()), planners).await;
    let mut keys = Vec::new();
    for name in names {
        keys.push(format!("authorization: Bearer {}\r\n", scene.key_of(name).await));
    }
    let ask = |name: usize, bytes: usize| {
        let (port, headers, body) = (scene.port, keys[name].clone(), body(names[name], bytes));
        async move { Client::connect(port).await.post("/v1/chat/completions", &headers, &body).await }
    };
    // One is worked on, sixteen wait, and the next is turned away.
    let mut flood = JoinSet::new();
    for _ in 0..18 {
        flood.spawn(ask(0, 70_000));
    }
    let refused = flood.join_next().await.unwrap().unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{}", refused.text());
    stage.until("flood").await;
    // Others have their turn while the flood is stopped: a large body, and small ones in any case.
    let mut other = JoinSet::new();
    other.spawn(ask(1, 70_000));
    stage.until("other").await;
    assert_eq!(ask(2, 100).await.status, 200);
    assert_eq!(stage.events(), ["flood", "other", "small"]);
    stage.release();
    assert!(other.join_all().await.iter().all(|answer| answer.status == 200));
    let answers = flood.join_all().await;
    assert!(answers.len() == 17 && answers.iter().all(|answer| answer.status == 200));
}
