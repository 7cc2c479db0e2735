//! The status of a run: one word in every answer, and pages of runs.

use stave_canon::Value;

use super::client::Served;
use super::runs::settled;
use super::sample::{project, slow_project};
use crate::json::{items, text};
use crate::process::stave;

#[tokio::test]
async fn a_run_that_waits_is_waiting_everywhere() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let body = r#"{"flow": "careful", "input": {"amount": 1}}"#;
    let waited = served.post("/runs?wait=true", body).await.is(202).json();
    assert_eq!(text(&waited, "status"), Some("waiting"), "{waited}");
    let run = text(&waited, "run_id").unwrap();
    let shown = served.get(&format!("/runs/{run}")).await.is(200).json();
    assert_eq!(text(&shown, "status"), Some("waiting"));
    let listed = served.get("/runs?status=waiting").await.is(200).json();
    assert_eq!(items(&listed, "runs").len(), 1, "{listed}");
    let questions = served.get(&format!("/runs/{run}/questions")).await.is(200).json();
    assert_eq!(questions.pointer("/asks/0/question"), Some(&"Pay 1?".into()), "{questions}");
    served.end().await.exits(0);

    let resumed = stave(&folder, ["runs", "resume", run, "--json"]).finish().await.exits(1).json();
    assert_eq!(text(&resumed, "status"), Some("waiting"), "{resumed}");
    let shown = stave(&folder, ["runs", "show", run]).finish().await.exits(0);
    let total = shown.stdout.lines().find(|line| line.contains("total")).unwrap();
    assert!(total.contains("waiting") && !total.contains("error"), "{shown}");
}

#[tokio::test]
async fn a_start_that_has_no_turn_is_queued_in_its_answer() {
    let (folder, _host) = slow_project(1500).await;
    let served = Served::start(&folder, &["--max-runs", "1"]).await;
    let body = r#"{"flow": "caller", "input": {"page": "slow"}}"#;
    let first = served.post("/runs", body).await.is(202).json();
    assert_eq!(text(&first, "status"), Some("running"), "{first}");
    let second = served.post("/runs", body).await.is(202).json();
    assert_eq!(text(&second, "status"), Some("queued"), "{second}");
    let run = text(&second, "run_id").unwrap();
    let shown = served.get(&format!("/runs/{run}")).await.is(200).json();
    assert_eq!(text(&shown, "status"), Some("queued"), "{shown}");
    let first = text(&first, "run_id").unwrap();
    let cancelled = served.post(&format!("/runs/{first}/cancel"), "").await.is(202).json();
    assert_eq!(text(&cancelled, "status"), Some("running"), "{cancelled}");
    assert_eq!(cancelled.get("cancel_requested"), Some(&true.into()), "{cancelled}");
}

#[tokio::test]
async fn a_named_start_that_has_ended_is_answered_with_200() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let body = r#"{"flow": "echo", "run_id": "mine", "input": {"query": "hi"}}"#;
    served.post("/runs?wait=true", body).await.is(200);
    let again = served.post("/runs", body).await.is(200).json();
    assert_eq!(text(&again, "status"), Some("ok"), "{again}");
}

#[tokio::test]
async fn pages_of_runs_hold_each_run_once() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let mut begun = Vec::new();
    for number in 0..7 {
        let body = format!(r#"{{"flow": "echo", "run_id": "r{number}", "input": {{"query": "hi"}}}}"#);
        served.post("/runs?wait=true", &body).await.is(200);
        begun.insert(0, format!("r{number}"));
    }
    let ids = |page: &Value| -> Vec<String> {
        items(page, "runs").iter().filter_map(|run| text(run, "run_id")).map(str::to_owned).collect()
    };
    let (mut seen, mut path) = (Vec::new(), "/runs?limit=3".to_owned());
    let mut pages = 0;
    loop {
        let page = served.get(&path).await.is(200).json();
        seen.extend(ids(&page));
        pages += 1;
        // A run that begins between two pages moves nothing.
        if pages == 1 {
            served.post("/runs?wait=true", r#"{"flow": "echo", "input": {"query": "new"}}"#).await.is(200);
        }
        let Some(next) = text(&page, "next") else { break };
        path = format!("/runs?limit=3&cursor={next}");
    }
    assert_eq!((pages, &seen), (3, &begun));
    for wrong in ["limit=0", "limit=1001", "cursor=x", "cursor=1", "page=2"] {
        served.get(&format!("/runs?{wrong}")).await.problem(400, "bad-request");
    }
    served.end().await.exits(0);
    let page = stave(&folder, ["runs", "list", "--limit", "5", "--json"]).finish().await.exits(0).json();
    let next = text(&page, "next").unwrap();
    let rest = stave(&folder, ["runs", "list", "--cursor", next, "--json"]).finish().await.exits(0).json();
    assert_eq!((items(&page, "runs").len(), items(&rest, "runs").len()), (5, 3));
    assert!(rest.get("next").is_some_and(Value::is_null), "{rest}");
    let all = stave(&folder, ["runs", "list", "--all", "--json"]).finish().await.exits(0).json();
    assert_eq!(items(&all, "runs").len(), 8);
}

#[tokio::test]
async fn a_key_is_told_of_what_it_may_read_and_a_decider_of_the_question() {
    let folder = project();
    folder.write(
        "keys.txt",
        "acme run-key-0123456789 roles=run\nacme decide-key-0123456789 name=ann roles=decide\n\
         acme see-key-0123456789 roles=observe\n",
    );
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    served.with_key(Some("run-key-0123456789"));
    let begun = served.post("/runs", r#"{"flow": "careful", "input": {"amount": 3}}"#).await.is(202);
    assert!(!begun.head.contains("location:"), "{begun:?}");
    let run = text(&begun.json(), "run_id").unwrap().to_owned();
    served.get(&format!("/runs/{run}")).await.problem(403, "role-missing");
    served.get(&format!("/runs/{run}/questions")).await.problem(403, "role-missing");
    served.with_key(Some("see-key-0123456789"));
    assert_eq!(text(&settled(&served, &run).await, "status"), Some("waiting"));
    served.with_key(Some("decide-key-0123456789"));
    served.get(&format!("/runs/{run}")).await.problem(403, "role-missing");
    let questions = served.get(&format!("/runs/{run}/questions")).await.is(200).json();
    assert_eq!(questions.pointer("/asks/0/question"), Some(&"Pay 3?".into()), "{questions}");
    let digest = questions.pointer("/asks/0/digest").and_then(Value::as_str).unwrap();
    let body = format!(r#"{{"approved": true, "digest": "{digest}"}}"#);
    served.post(&format!("/runs/{run}/nodes/ask/decision"), &body).await.is(202);
    served.with_key(Some("see-key-0123456789"));
    assert_eq!(text(&settled(&served, &run).await, "status"), Some("ok"));
}
