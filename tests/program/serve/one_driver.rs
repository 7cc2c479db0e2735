//! A run has one driver, however many decide, resume and cancel at the same time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::client::{Answer, Served, ask};
use super::runs::{begin, settled};
use crate::folder::Folder;
use crate::json::{text, values};
use crate::process::stave;
use crate::scripted::host::HostScript;

/// Pays at a host after a person agreed.
pub(super) fn payment(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: payment}}
context: {{requires: [amount]}}
nodes:
  ask:
    type: transform
    inputs: [{{name: amount, type: number}}]
    outputs: [{{name: amount, type: number}}]
    transform:
      mode: declarative
      spec: {{op: human.approve, args: {{message: "Pay ${{amount}}?"}}}}
  pay:
    type: transform
    inputs: [{{name: amount, type: number}}]
    outputs: [{{name: receipt, type: object}}]
    transform:
      mode: declarative
      spec: {{op: http.post, args: {{url: "http://127.0.0.1:{port}/pay", body: "${{amount}}"}}}}
    runtime: {{retries: 0}}
edges:
  - {{from: _input.amount, to: ask.amount}}
  - {{from: ask.amount, to: pay.amount}}
  - {{from: pay.receipt, to: _output.receipt}}
"#
    )
}

/// A project that pays, and the host that it pays at.
async fn shop() -> (Folder, Arc<HostScript>, crate::scripted::Server) {
    let entry =
        r#"[{"method": "POST", "path": "/pay", "json": {"paid": true}, "delay_ms": 50, "times": 99}]"#;
    let script = HostScript::new(&values(entry));
    let server = script.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", "[http]\nallow = [\"127.0.0.1\"]\n");
    folder.write("flows/payment.yaml", payment(server.port));
    (folder, script, server)
}

async fn decide(port: u16, run: &str) -> Answer {
    let headers = [("content-type", "application/json")];
    let path = format!("/runs/{run}/nodes/ask/decision");
    ask(port, "POST", &path, &headers, None, Some(r#"{"approved": true}"#)).await
}

#[tokio::test]
async fn equal_decisions_at_the_same_time_pay_once_and_are_all_accepted() {
    let (folder, script, _host) = shop().await;
    let served = Served::start(&folder, &[]).await;
    for round in 1..=8 {
        let run = begin(&served, "payment", r#"{"amount": 5}"#).await;
        assert_eq!(text(&settled(&served, &run).await, "status"), Some("waiting"));
        let answers = join_all((0..5).map(|_| decide(served.port, &run))).await;
        for answer in &answers {
            assert!(matches!(answer.status, 200 | 202), "{answer:?}");
        }
        let shown = settled(&served, &run).await;
        assert_eq!(text(&shown, "status"), Some("ok"), "{shown}");
        assert_eq!(script.log.lock().calls.len(), round, "round {round} paid more than once");
    }
}

#[tokio::test]
async fn resumes_at_the_same_time_pay_once() {
    let (folder, script, _host) = shop().await;
    // Processes of their own.
    folder.write("request.json", r#"{"amount": 5}"#);
    let run =
        stave(&folder, ["run", "flows/payment.yaml", "--input", "request.json", "--json"]).finish().await;
    let run = text(&run.exits(1).json(), "run_id").unwrap().to_owned();
    stave(&folder, ["runs", "approve", &run, "ask", "--no-resume"]).finish().await.exits(0);
    let resumes = (0..3).map(|_| stave(&folder, ["runs", "resume", &run, "--json"]).finish());
    let codes: Vec<i32> = join_all(resumes).await.into_iter().map(|finished| finished.code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, 0 | 2)), "{codes:?}");
    assert_eq!(script.log.lock().calls.len(), 1);

    // Requests to one server.
    let served = Served::start(&folder, &["--no-resume"]).await;
    let run = begin(&served, "payment", r#"{"amount": 6}"#).await;
    settled(&served, &run).await;
    stave(&folder, ["runs", "approve", &run, "ask", "--no-resume"]).finish().await.exits(0);
    let path = format!("/runs/{run}/resume");
    let answers = join_all((0..5).map(|_| ask(served.port, "POST", &path, &[], None, None))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 202).count(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| matches!(answer.status, 202 | 409)), "{answers:?}");
    assert_eq!(text(&settled(&served, &run).await, "status"), Some("ok"));
    assert_eq!(script.log.lock().calls.len(), 2);
}

#[tokio::test]
async fn a_decision_a_resume_and_a_cancellation_at_the_same_time_pay_at_most_once() {
    let (folder, script, _host) = shop().await;
    let served = Served::start(&folder, &[]).await;
    for _ in 0..8 {
        let before = script.log.lock().calls.len();
        let run = begin(&served, "payment", r#"{"amount": 5}"#).await;
        settled(&served, &run).await;
        let (resume, cancel) = (format!("/runs/{run}/resume"), format!("/runs/{run}/cancel"));
        let (decided, resumed, cancelled, again) = tokio::join!(
            decide(served.port, &run),
            ask(served.port, "POST", &resume, &[], None, None),
            ask(served.port, "POST", &cancel, &[], None, None),
            decide(served.port, &run),
        );
        for answer in [decided, resumed, cancelled, again] {
            assert!(matches!(answer.status, 200 | 202 | 409), "{answer:?}");
        }
        for _ in 0..400 {
            // A run that was resumed before the decision came waits; deciding once more lets it continue.
            let shown = settled(&served, &run).await;
            if text(&shown, "status") != Some("waiting") {
                break;
            }
            decide(served.port, &run).await;
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        let paid = script.log.lock().calls.len() - before;
        let status = settled(&served, &run).await;
        let status = text(&status, "status").map(str::to_owned);
        assert!(paid <= 1, "{run} paid {paid} times");
        assert!(matches!(status.as_deref(), Some("ok" | "cancelled")), "{status:?}");
        assert!(status.as_deref() != Some("ok") || paid == 1);
    }
}

#[tokio::test]
async fn a_removed_folder_of_lock_files_does_not_allow_a_second_driver() {
    let entry = r#"[{"method": "POST", "path": "/pay", "json": {"paid": true}, "held": true, "times": 9}]"#;
    let script = HostScript::new(&values(entry));
    let server = script.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", "[http]\nallow = [\"127.0.0.1\"]\n");
    folder.write("flows/payment.yaml", payment(server.port));
    let served = Served::start(&folder, &[]).await;
    let run = begin(&served, "payment", r#"{"amount": 5}"#).await;
    settled(&served, &run).await;
    decide(served.port, &run).await.is(202);
    while script.log.lock().calls.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    std::fs::remove_dir_all(folder.path().join(".stave/owners")).unwrap();
    let refused = stave(&folder, ["runs", "resume", &run]).finish().await.exits(2);
    assert!(refused.stderr.contains("another process"), "{refused}");
    script.release();
    assert_eq!(text(&settled(&served, &run).await, "status"), Some("ok"));
    assert_eq!(script.log.lock().calls.len(), 1);
}
