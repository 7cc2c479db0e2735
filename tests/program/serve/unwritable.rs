//! A journal that cannot be written strands no run, and health says so until it can be written again.

use std::time::Duration;

use super::client::{Served, ask};
use super::runs::begin;
use super::sample::slow_project;
use crate::json::text;

/// Sets the limit on the size of files of a process that runs.
fn limit_files(served: &Served, limit: &str) {
    let id = served.process.id().to_string();
    let limited =
        std::process::Command::new("prlimit").args(["--pid", &id, &format!("--fsize={limit}")]).status();
    assert!(limited.is_ok_and(|status| status.success()), "prlimit sets a limit");
}

/// Waits until health has this status, and gives its answer.
async fn health(served: &Served, status: u16) -> String {
    for _ in 0..1200 {
        let answer = served.get("/v2/health/ready").await;
        if answer.status == status {
            return answer.body;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("health does not become {status}");
}

async fn becomes(served: &Served, run: &str, status: &str) {
    let mut last = String::new();
    for _ in 0..1600 {
        let shown = served.get(&format!("/runs/{run}")).await.is(200).json();
        last = text(&shown, "status").unwrap_or_default().to_owned();
        if last == status {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("run {run} is {last} and does not become {status}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_reported_and_its_runs_go_on_once_there_is_room() {
    let (folder, _host) = slow_project(700).await;
    let served = Served::start(&folder, &[]).await;
    let runs = [
        begin(&served, "caller", r#"{"page": "slow"}"#).await,
        begin(&served, "caller", r#"{"page": "slow"}"#).await,
    ];
    // A write beyond the limit fails with EFBIG, and the signal that comes with it does not end the process.
    limit_files(&served, "4096:unlimited");
    let reason = health(&served, 503).await;
    assert!(reason.contains("cannot be written"), "{reason}");
    served.post("/runs", r#"{"flow": "echo", "input": {"query": "x"}}"#).await.problem(503, "journal-failed");
    // The driver gives up after a while; the run is free, and its watchers are informed.
    becomes(&served, &runs[0], "interrupted").await;
    let events = served.get(&format!("/runs/{}/events", runs[0])).await.is(200);
    assert!(events.body.contains("event: ended"), "{events:?}");
    // A cancellation is kept until it can be written.
    served.post(&format!("/runs/{}/cancel", runs[1]), "").await.is(202);
    limit_files(&served, "unlimited:unlimited");
    health(&served, 200).await;
    becomes(&served, &runs[0], "ok").await;
    becomes(&served, &runs[1], "cancelled").await;
}

#[tokio::test]
async fn a_foreign_lock_delays_runs_and_strands_none() {
    let (folder, _host) = slow_project(500).await;
    let served = Served::start(&folder, &[]).await;
    let run = begin(&served, "caller", r#"{"page": "slow"}"#).await;
    let foreign = rusqlite::Connection::open(folder.path().join(".stave/stave.sqlite")).unwrap();
    foreign.busy_timeout(Duration::from_secs(10)).unwrap();
    foreign.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let reason = health(&served, 503).await;
    assert!(reason.contains("locked"), "{reason}");
    let headers = [("content-type", "application/json")];
    let port = served.port;
    let waiting = tokio::spawn(async move {
        let body = r#"{"flow": "echo", "input": {"query": "later"}}"#;
        ask(port, "POST", "/runs", &headers, None, Some(body)).await
    });
    foreign.execute_batch("ROLLBACK").unwrap();
    health(&served, 200).await;
    becomes(&served, &run, "ok").await;
    waiting.await.unwrap().is(202);
}
