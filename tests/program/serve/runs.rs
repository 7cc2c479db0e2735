//! Runs: begun, watched, decided on, cancelled and resumed.

use std::time::Duration;

use stave_canon::Value;

use super::client::{Served, ask};
use super::sample::{project, slow_project};
use crate::json::{items, text};
use crate::process::stave;

pub(crate) async fn begin(served: &Served, flow: &str, input: &str) -> String {
    let body = format!(r#"{{"flow": "{flow}", "input": {input}}}"#);
    let begun = served.post("/runs", &body).await.is(202);
    let run = text(&begun.json(), "run_id").expect("a run has an id").to_owned();
    assert!(begun.head.contains(&format!("location: /runs/{run}")), "{begun:?}");
    run
}

/// The run once it is no longer running.
pub(crate) async fn settled(served: &Served, run: &str) -> Value {
    for _ in 0..400 {
        let shown = served.get(&format!("/runs/{run}")).await.is(200).json();
        if !matches!(text(&shown, "status"), Some("running" | "queued")) {
            return shown;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("run {run} does not end");
}

#[tokio::test]
async fn a_run_is_begun_watched_and_shown() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let run = begin(&served, "echo", r#"{"query": "hello"}"#).await;
    // The events of a run are all there, whether it is in progress or has ended.
    for _ in 0..2 {
        let events = served.get(&format!("/runs/{run}/events")).await.is(200);
        assert!(events.head.contains("content-type: text/event-stream"), "{events:?}");
        let names: Vec<&str> = events.body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert_eq!((names.first(), names.last()), (Some(&"started"), Some(&"ended")), "{events:?}");
        assert!(events.body.contains(r#""node":"say","status":"ok""#), "{events:?}");
        let ids: Vec<usize> =
            events.body.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
        assert_eq!(ids, (0..names.len()).collect::<Vec<_>>());
        let after = [("last-event-id", "0")];
        let rest = served.ask("GET", &format!("/runs/{run}/events"), &after, None).await.is(200);
        assert!(!rest.body.contains("event: started") && rest.body.contains("event: ended"), "{rest:?}");
    }
    let shown = settled(&served, &run).await;
    assert_eq!(shown.pointer("/output/reply"), Some(&"hello".into()), "{shown}");
    let waited =
        served.post("/runs?wait=true", r#"{"flow": "echo", "input": {"query": "now"}}"#).await.is(200);
    assert_eq!(waited.json().pointer("/output/reply"), Some(&"now".into()));
    let listed = served.get("/runs?flow=echo&status=ok&limit=1").await.is(200).json();
    assert_eq!(items(&listed, "runs").len(), 1, "{listed}");
    // The same journal is there for the command line.
    let shown = stave(&folder, ["runs", "show", &run, "--json"]).finish().await.exits(0).json();
    assert_eq!(shown.pointer("/output/reply"), Some(&"hello".into()), "{shown}");
    for (path, status) in [
        ("/runs/run_none", 404),
        ("/runs/run_none/events", 404),
        ("/runs?limit=0", 400),
        ("/runs?status=odd", 400),
    ] {
        served.get(path).await.is(status);
    }
    served.post("/runs", "{}").await.problem(400, "bad-request");
}

#[tokio::test]
async fn a_request_that_cannot_be_meant_begins_nothing() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let lacking = served.post("/runs", r#"{"flow": "echo", "input": {"user": "ann"}}"#).await;
    lacking.problem(400, "missing-context");
    let named = r#"{"flow": "echo", "input": {"query": "hi"}, "idempotency_key": "k"}"#;
    served.post("/runs", named).await.problem(400, "bad-request");
    let run = begin(&served, "careful", r#"{"amount": 3}"#).await;
    let decision = format!("/runs/{run}/nodes/ask/decision");
    for (path, body) in [
        (format!("/runs/{run}/replay"), r#"{"nodes": ["ask"]}"#),
        (format!("/runs/{run}/resume"), r#"{"forced": true}"#),
        (decision.clone(), r#"{"approved": true, "by": "ann"}"#),
    ] {
        served.post(&path, body).await.problem(400, "bad-request");
    }
    for path in ["/runs?stauts=ok", "/runs?flow=echo&from=1"] {
        served.get(path).await.problem(400, "bad-request");
    }
    let listed = served.get("/runs").await.is(200).json();
    assert_eq!(items(&listed, "runs").len(), 1, "{listed}");
    served.post(&decision, r#"{"approved": true}"#).await.is(202);
    settled(&served, &run).await;
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let replay = served.ask("POST", &format!("/runs/{run}/replay"), &headers, Some("{}")).await;
    replay.problem(400, "bad-request");
}

#[tokio::test]
async fn whoever_watches_a_run_that_waits_misses_nothing() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let run = begin(&served, "careful", r#"{"amount": 3}"#).await;
    let events = format!("/runs/{run}/events");
    let first = served.get(&events).await.is(200).body;
    assert!(first.contains("event: waiting"), "{first}");
    let last = first.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap();
    // The connection stays until there is more to say.
    let decision = format!("/runs/{run}/nodes/ask/decision");
    let after = [("last-event-id", last)];
    let (rest, decided) = tokio::join!(served.ask("GET", &events, &after, None), async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        served.post(&decision, r#"{"approved": true}"#).await
    });
    decided.is(202);
    let rest = rest.is(200).body;
    assert!(!rest.contains("event: waiting") && !rest.contains("event: started"), "{rest}");
    let all = served.get(&events).await.is(200).body;
    for event in all.split("\n\n").filter(|event| !event.contains("event: started") && !event.is_empty()) {
        assert!(rest.contains(event), "{event} is not in {rest}");
    }
}

#[tokio::test]
async fn a_person_decides_and_the_run_goes_on() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let run = begin(&served, "careful", r#"{"amount": 3}"#).await;
    let events = served.get(&format!("/runs/{run}/events")).await.is(200);
    assert!(events.body.contains("event: waiting"), "{events:?}");
    let waiting = settled(&served, &run).await;
    assert_eq!(text(&waiting, "status"), Some("waiting"));
    let asked = items(&waiting, "asks").first().cloned().unwrap();
    assert_eq!((text(&asked, "node"), text(&asked, "question")), (Some("ask"), Some("Pay 3?")), "{waiting}");
    assert_eq!(asked.pointer("/values/amount").and_then(Value::as_i64), Some(3), "{waiting}");
    let digest = text(&asked, "digest").unwrap().to_owned();
    let decide =
        async |node: &str, body: &str| served.post(&format!("/runs/{run}/nodes/{node}/decision"), body).await;
    decide("pay", r#"{"approved": true}"#).await.problem(404, "not-found");
    decide("ask", "{}").await.problem(400, "bad-request");
    decide("ask", r#"{"approved": true, "digest": 7}"#).await.problem(400, "bad-request");
    decide("ask", r#"{"approved": true, "digest": "another"}"#).await.problem(409, "question-changed");
    let approval = format!(r#"{{"approved": true, "comment": "fine", "digest": "{digest}"}}"#);
    decide("ask", &approval).await.is(202);
    let shown = settled(&served, &run).await;
    assert_eq!(shown.pointer("/output/paid"), Some(&"paid 3".into()), "{shown}");
    decide("ask", r#"{"approved": false}"#).await.is(409);
    served.post(&format!("/runs/{run}/resume"), "").await.problem(409, "run-ended");
    served.post(&format!("/runs/{run}/cancel"), "").await.problem(409, "run-ended");

    let other = begin(&served, "careful", r#"{"amount": 4}"#).await;
    settled(&served, &other).await;
    let cancelled = served.post(&format!("/runs/{other}/cancel"), "").await.is(200).json();
    assert_eq!(text(&cancelled, "status"), Some("cancelled"), "{cancelled}");
}

#[tokio::test]
async fn a_run_that_goes_on_is_cancelled_and_one_that_was_interrupted_resumed() {
    let (folder, _host) = slow_project(1500).await;
    let served = Served::start(&folder, &[]).await;
    let run = begin(&served, "caller", r#"{"page": "slow"}"#).await;
    served.post(&format!("/runs/{run}/cancel"), "").await.is(202);
    assert_eq!(text(&settled(&served, &run).await, "status"), Some("cancelled"));

    let run = begin(&served, "caller", r#"{"page": "slow"}"#).await;
    served.post(&format!("/runs/{run}/resume"), "").await.problem(409, "run-busy");
    drop(served); // Killed, without a word.
    let served = Served::start(&folder, &["--no-resume"]).await;
    assert_eq!(text(&settled(&served, &run).await, "status"), Some("interrupted"));
    served.post(&format!("/runs/{run}/resume"), "").await.is(202);
    let shown = settled(&served, &run).await;
    assert_eq!(shown.pointer("/output/reply/ok"), Some(&true.into()), "{shown}");

    // By default, a server resumes the runs that another left.
    let run = begin(&served, "caller", r#"{"page": "slow"}"#).await;
    drop(served);
    let served = Served::start(&folder, &[]).await;
    for _ in 0..100 {
        if text(&settled(&served, &run).await, "status") == Some("ok") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("nobody went on with {run}");
}

#[tokio::test]
async fn many_watch_one_run() {
    let (folder, _host) = slow_project(800).await;
    let served = Served::start(&folder, &[]).await;
    let run = begin(&served, "caller", r#"{"page": "slow"}"#).await;
    let path = format!("/runs/{run}/events");
    let mut watchers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (port, path) = (served.port, path.clone());
        watchers.spawn(async move { ask(port, "GET", &path, &[], None, None).await });
    }
    while let Some(answer) = watchers.join_next().await {
        let answer = answer.expect("a watcher sees the end").is(200);
        assert!(answer.body.contains("event: started") && answer.body.contains("event: ended"), "{answer:?}");
    }
}
