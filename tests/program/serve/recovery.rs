//! Runs whose process died: resumed by another process, and quarantined when they take processes down.

use std::time::Duration;

use super::client::Served;
use super::runs::{begin, settled};
use super::sample::{caller, careful, project};
use crate::folder::Folder;
use crate::json::{items, text, values};
use crate::process::stave;
use crate::scripted::host::HostScript;

/// Waits until a run has a status.
async fn becomes(served: &Served, run: &str, status: &str) {
    for _ in 0..1200 {
        let shown = served.get(&format!("/runs/{run}")).await.is(200).json();
        if text(&shown, "status") == Some(status) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("run {run} does not become {status}");
}

fn calling(port: u16) -> Folder {
    let folder = project();
    folder.write("flows/caller.yaml", caller(port).replace("timeout_ms: 3000", "timeout_ms: 60000"));
    folder
}

async fn called(script: &HostScript, times: usize) {
    while script.log.lock().calls.len() < times {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_surviving_server_takes_over_the_runs_of_one_that_died() {
    let script = HostScript::new(&values(
        r#"[{"path": "/slow", "delay_ms": 60000, "json": {}, "times": 2}, {"path": "/slow", "json": {"ok": true}, "times": 9}]"#,
    ));
    let host = script.serve().await;
    let folder = calling(host.port);
    let first = Served::start(&folder, &[]).await;
    let survivor = Served::start(&folder, &[]).await;
    let runs = [
        begin(&first, "caller", r#"{"page": "slow"}"#).await,
        begin(&first, "caller", r#"{"page": "slow"}"#).await,
    ];
    called(&script, 2).await;
    drop(first); // Killed.
    for run in &runs {
        becomes(&survivor, run, "ok").await;
    }
    assert_eq!(script.log.lock().calls.len(), 4, "each run was resumed once");
}

#[tokio::test]
async fn every_interrupted_run_is_resumed() {
    let script = HostScript::new(&values(
        r#"[{"path": "/slow", "delay_ms": 60000, "json": {}, "times": 130}, {"path": "/slow", "json": {"ok": true}, "times": 999}]"#,
    ));
    let host = script.serve().await;
    let folder = calling(host.port);
    let served = Served::start(&folder, &["--max-runs", "200"]).await;
    for _ in 0..130 {
        begin(&served, "caller", r#"{"page": "slow"}"#).await;
    }
    called(&script, 130).await;
    drop(served);
    let served = Served::start(&folder, &["--max-runs", "8"]).await;
    for _ in 0..2400 {
        let listed = served.get("/runs?status=ok&limit=1000").await.is(200).json();
        if items(&listed, "runs").len() == 130 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("not all runs were resumed");
}

#[tokio::test]
async fn interrupted_runs_come_before_starts_that_wait() {
    let script = HostScript::new(&values(
        r#"[{"path": "/old", "delay_ms": 60000, "json": {}, "times": 3}, {"path": "/block", "delay_ms": 8000, "json": {}},
            {"path": "/old", "json": {}, "times": 9}, {"path": "/new", "json": {}, "times": 9}]"#,
    ));
    let host = script.serve().await;
    let folder = calling(host.port);
    let dying = Served::start(&folder, &[]).await;
    for _ in 0..3 {
        begin(&dying, "caller", r#"{"page": "old"}"#).await;
    }
    called(&script, 3).await;
    // The survivor's only turn is taken, and starts wait for it.
    let survivor = Served::start(&folder, &["--max-runs", "1"]).await;
    begin(&survivor, "caller", r#"{"page": "block"}"#).await;
    called(&script, 4).await;
    let mut last = String::new();
    for _ in 0..3 {
        last = begin(&survivor, "caller", r#"{"page": "new"}"#).await;
    }
    drop(dying); // Killed.
    becomes(&survivor, &last, "ok").await;
    called(&script, 10).await;
    let paths: Vec<String> =
        script.log.lock().calls.iter().map(|call| call.address.path().to_owned()).collect();
    assert_eq!(paths[4..], ["/old", "/old", "/old", "/new", "/new", "/new"]);
}

#[tokio::test]
async fn a_run_that_takes_its_process_down_again_is_quarantined_and_bystanders_go_on() {
    let script = HostScript::new(&values(
        r#"[{"path": "/deadly", "delay_ms": 60000, "json": {}, "times": 2}, {"path": "/deadly", "json": {"ok": true}},
            {"path": "/slow", "delay_ms": 60000, "json": {}}, {"path": "/slow", "json": {"ok": true}}]"#,
    ));
    let host = script.serve().await;
    let folder = calling(host.port);
    let served = Served::start(&folder, &[]).await;
    let deadly = begin(&served, "caller", r#"{"page": "deadly"}"#).await;
    let bystander = begin(&served, "caller", r#"{"page": "slow"}"#).await;
    called(&script, 2).await;
    drop(served); // The first crash.
    let served = Served::start(&folder, &[]).await;
    becomes(&served, &bystander, "ok").await;
    called(&script, 4).await;
    drop(served); // The second one, with the deadly run alone in flight.
    let served = Served::start(&folder, &[]).await;
    becomes(&served, &deadly, "quarantined").await;
    let listed = stave(&folder, ["runs", "list", "--status", "quarantined", "--json"]).finish().await;
    assert_eq!(items(&listed.exits(0).json(), "runs").len(), 1);
    for _ in 0..1200 {
        let health = served.get("/v2/health/ready").await.is(200).json();
        if health.get("quarantined_runs") == Some(&1.into()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let health = served.get("/v2/health/ready").await.is(200).json();
    assert_eq!(health.get("quarantined_runs"), Some(&1.into()), "{health}");
    let refused = stave(&folder, ["runs", "resume", &deadly]).finish().await.exits(3);
    assert!(refused.stderr.contains("--force"), "{refused}");
    let refused = served.post(&format!("/runs/{deadly}/resume"), "{}").await.problem(409, "run-quarantined");
    assert!(
        text(&refused, "detail").is_some_and(|detail| detail.contains(r#"{"force": true}"#)),
        "{refused}"
    );
    assert_eq!(script.log.lock().calls.len(), 4, "nobody resumed it");
    served.post(&format!("/runs/{deadly}/resume"), r#"{"force": true}"#).await.is(202);
    assert_eq!(text(&settled(&served, &deadly).await, "status"), Some("ok"));
}

#[tokio::test]
async fn the_time_limit_of_a_run_counts_over_restarts() {
    let script =
        HostScript::new(&values(r#"[{"path": "/slow", "delay_ms": 60000, "json": {}, "times": 9}]"#));
    let host = script.serve().await;
    let folder = calling(host.port);
    let flow = caller(host.port).replace("timeout_ms: 3000", "timeout_ms: 60000");
    folder.write("flows/caller.yaml", flow.replace("edges:", "runtime: {timeout_ms: 4000}\nedges:"));
    let check = stave(&folder, ["check", "flows/caller.yaml"]).finish().await;
    assert_eq!(check.code, 0, "{check}");
    let served = Served::start(&folder, &[]).await;
    let run = begin(&served, "caller", r#"{"page": "slow"}"#).await;
    called(&script, 1).await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    drop(served);
    let served = Served::start(&folder, &[]).await;
    becomes(&served, &run, "error").await;
    let shown = served.get(&format!("/runs/{run}")).await.is(200).json();
    assert_eq!(shown.pointer("/error/code"), Some(&"run-timeout".into()), "{shown}");
    // The time before the crash counts.
    let journal = rusqlite::Connection::open(folder.path().join(".stave/stave.sqlite")).unwrap();
    let used: i64 =
        journal.query_row("SELECT used FROM run WHERE id = ?1", [&run], |row| row.get(0)).unwrap();
    assert!(used >= 1_000_000_000, "{used} ns");
}

/// The flow with a bound on the time that it may use.
fn within(flow: &str) -> String {
    flow.replace("edges:", "runtime: {budget: {wall_ms: 4000}}\nedges:")
}

#[tokio::test]
async fn the_time_budget_of_a_run_counts_over_restarts() {
    let script = HostScript::new(&values(
        r#"[{"path": "/slow", "delay_ms": 60000, "json": {}}, {"path": "/slow", "json": {"ok": true}, "times": 9}]"#,
    ));
    let host = script.serve().await;
    let folder = calling(host.port);
    folder.write("flows/caller.yaml", within(&folder.read("flows/caller.yaml")));
    let served = Served::start(&folder, &[]).await;
    let run = begin(&served, "caller", r#"{"page": "slow"}"#).await;
    called(&script, 1).await;
    tokio::time::sleep(Duration::from_millis(6500)).await;
    drop(served);
    let served = Served::start(&folder, &[]).await;
    becomes(&served, &run, "error").await;
    let shown = served.get(&format!("/runs/{run}")).await.is(200).json();
    assert_eq!(shown.pointer("/error/code"), Some(&"budget-exceeded".into()), "{shown}");
    assert_eq!(script.log.lock().calls.len(), 1, "nothing is called again");
}

#[tokio::test]
async fn the_time_in_which_a_run_waits_for_a_person_is_not_of_its_time_budget() {
    let folder = project();
    folder.write("flows/careful.yaml", within(&careful("paid")));
    let served = Served::start(&folder, &[]).await;
    let run = begin(&served, "careful", r#"{"amount": 3}"#).await;
    becomes(&served, &run, "waiting").await;
    tokio::time::sleep(Duration::from_millis(5000)).await;
    let decision = format!("/runs/{run}/nodes/ask/decision");
    served.post(&decision, r#"{"approved": true}"#).await.is(202);
    becomes(&served, &run, "ok").await;
}

#[tokio::test]
async fn a_start_is_answered_at_once_and_a_queued_one_survives_a_kill() {
    let script = HostScript::new(&values(
        r#"[{"path": "/slow", "delay_ms": 60000, "json": {}}, {"path": "/slow", "json": {"ok": true}, "times": 9}]"#,
    ));
    let host = script.serve().await;
    let folder = calling(host.port);
    let served = Served::start(&folder, &["--max-runs", "1", "--max-waiting", "2"]).await;
    let first = begin(&served, "caller", r#"{"page": "slow"}"#).await;
    called(&script, 1).await;
    let queued = [
        begin(&served, "caller", r#"{"page": "slow"}"#).await,
        begin(&served, "caller", r#"{"page": "slow"}"#).await,
    ];
    becomes(&served, &queued[1], "queued").await;
    let full = served.post("/runs", r#"{"flow": "caller", "input": {"page": "slow"}}"#).await;
    full.problem(429, "too-many-runs");
    assert!(full.head.contains("retry-after:"), "{full:?}");
    // One that is queued can be cancelled.
    served.post(&format!("/runs/{}/cancel", queued[1]), "").await.is(200);
    drop(served);
    let served = Served::start(&folder, &["--max-runs", "1"]).await;
    becomes(&served, &first, "ok").await;
    becomes(&served, &queued[0], "ok").await;
    becomes(&served, &queued[1], "cancelled").await;
}
