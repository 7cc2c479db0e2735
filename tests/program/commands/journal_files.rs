//! The files of the journal: read where nothing can be written, and missed when they are lost.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;
use crate::serve::{Served, project};

fn journal(folder: &Folder, name: &str) -> PathBuf {
    folder.path().join(".stave").join(name)
}

/// Lets nobody write the journal and its folder, or its owner again.
fn set_writable(folder: &Folder, is_writable: bool) {
    let place = folder.path().join(".stave");
    let set =
        |path: PathBuf, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    set(place.clone(), 0o700);
    for file in std::fs::read_dir(&place).unwrap() {
        let file = file.unwrap();
        let is_folder = file.file_type().unwrap().is_dir();
        let mode = if is_writable { 0o600 } else { 0o400 };
        set(file.path(), if is_folder { mode | 0o100 } else { mode });
    }
    set(place, if is_writable { 0o700 } else { 0o500 });
}

/// Runs a few requests in a server that is then killed, so that its log stays.
async fn after_a_kill(folder: &Folder, runs: usize) {
    let served = Served::start(folder, &[]).await;
    for number in 0..runs {
        let body = format!(r#"{{"query": "{number}"}}"#);
        served.post("/v1/models/echo:predict", &body).await.is(200);
    }
    drop(served);
}

async fn listed(folder: &Folder) -> (usize, String) {
    let listed = stave(folder, ["runs", "list", "--json"]).without_overrides().finish().await.exits(0);
    (items(&listed.json(), "runs").len(), listed.stderr)
}

#[tokio::test]
async fn runs_are_looked_at_on_a_disk_that_can_not_be_written() {
    for keeps_log in [true, false] {
        let folder = project();
        after_a_kill(&folder, 3).await;
        if !keeps_log {
            // A process that writes and ends in order copies the log into the database.
            stave(&folder, ["runs", "gc"]).finish().await.exits(0);
            assert!(!journal(&folder, "stave.sqlite-wal").exists());
        }
        set_writable(&folder, false);
        let (count, said) = listed(&folder).await;
        assert_eq!((count, said.as_str()), (3, ""));
        let runs = stave(&folder, ["runs", "list", "--json"]).without_overrides().finish().await.json();
        let run = text(&items(&runs, "runs")[0], "run_id").unwrap().to_owned();
        for command in [vec!["runs", "show", &run], vec!["why", &run], vec!["runs", "export", &run]] {
            stave(&folder, &command).without_overrides().finish().await.exits(0);
        }
        stave(&folder, ["runs", "report", &run, "--out", "report.html"])
            .without_overrides()
            .finish()
            .await
            .exits(0);
        let refused = stave(&folder, ["runs", "gc"]).without_overrides().finish().await;
        assert_ne!(refused.code, 0, "what changes the journal fails: {}", refused.stderr);
        set_writable(&folder, true);
        assert_eq!(listed(&folder).await.0, 3);
    }
}

#[tokio::test]
async fn runs_and_state_are_looked_at_on_a_full_disk() {
    for keeps_log in [true, false] {
        let folder = project();
        folder.write("flows/counter.yaml", super::runs_kept::COUNTER);
        folder.write("in.json", r#"{"session_id": "ann"}"#);
        stave(&folder, ["run", "flows/counter.yaml", "--input", "in.json"]).finish().await.exits(0);
        after_a_kill(&folder, 3).await;
        if !keeps_log {
            stave(&folder, ["runs", "gc"]).finish().await.exits(0);
        }
        assert_eq!(journal(&folder, "stave.sqlite-wal").exists(), keeps_log);
        let full = |call: &[&str]| stave(&folder, call).with_largest_file(0).finish();
        let runs = full(&["runs", "list", "--json"]).await.exits(0);
        assert_eq!((items(&runs.json(), "runs").len(), runs.stderr.as_str()), (4, ""), "{keeps_log}");
        let run = text(&items(&runs.json(), "runs")[0], "run_id").unwrap().to_owned();
        for command in
            [&["runs", "show", &run][..], &["runs", "export", &run], &["why", &run], &["state", "list"]]
        {
            full(command).await.exits(0);
        }
        let state = full(&["state", "list", "--json"]).await.exits(0);
        let record = text(&items(&state.json(), "records")[0], "id").unwrap().to_owned();
        full(&["state", "show", &record]).await.exits(0);
        assert_ne!(full(&["runs", "delete", &run]).await.code, 0, "nothing can be written");
        assert_eq!(listed(&folder).await.0, 4);
    }
}

#[tokio::test]
async fn a_log_that_was_deleted_or_cut_off_is_reported_until_the_loss_is_accepted() {
    for is_deleted in [true, false] {
        let folder = project();
        after_a_kill(&folder, 4).await;
        let log = journal(&folder, "stave.sqlite-wal");
        if is_deleted {
            std::fs::remove_file(&log).unwrap();
        } else {
            let file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
            let length = file.metadata().unwrap().len();
            file.set_len(length.min(32 + 12 * (24 + 4096))).unwrap();
        }
        for _ in 0..2 {
            let (count, said) = listed(&folder).await;
            assert!(count < 4 && said.contains("commits are missing"), "{count} {said}");
        }
        // What is written afterwards does not hide it.
        after_a_kill(&folder, 8).await;
        assert!(listed(&folder).await.1.contains("commits are missing"));
        let gc = stave(&folder, ["runs", "gc", "--accept-loss", "--json"]).finish().await.exits(0).json();
        assert!(gc.get("lost_commits").and_then(stave_canon::Value::as_i64) > Some(0), "{gc}");
        assert_eq!(listed(&folder).await.1, "");
    }
}

#[tokio::test]
async fn a_kill_a_clean_end_and_a_new_database_report_no_loss() {
    let folder = project();
    after_a_kill(&folder, 2).await;
    assert_eq!(listed(&folder).await, (2, String::new()));
    let served = Served::start(&folder, &[]).await;
    served.post("/v1/models/echo:predict", r#"{"query": "x"}"#).await.is(200);
    served.end().await;
    assert_eq!(listed(&folder).await, (3, String::new()));
    for name in ["stave.sqlite", "stave.sqlite-wal", "stave.sqlite-shm"] {
        let _ = std::fs::remove_file(journal(&folder, name));
    }
    after_a_kill(&folder, 1).await;
    assert_eq!(listed(&folder).await, (1, String::new()));
}

#[tokio::test]
async fn gc_makes_the_file_smaller_and_says_so() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let query = "x".repeat(20_000);
    for number in 0..60 {
        let body = format!(r#"{{"query": "{number} {query}"}}"#);
        served.post("/v1/models/echo:predict", &body).await.is(200);
    }
    served.end().await;
    let size = || std::fs::metadata(journal(&folder, "stave.sqlite")).unwrap().len();
    let before = size();
    let gc = stave(&folder, ["runs", "gc", "--older-than", "0", "--json"]).finish().await.exits(0).json();
    assert_eq!(gc.get("runs"), Some(&60_i64.into()), "{gc}");
    let (from, to) = (gc.get("bytes_before"), gc.get("bytes_after"));
    assert!(from.and_then(stave_canon::Value::as_i64) > to.and_then(stave_canon::Value::as_i64), "{gc}");
    assert!(size() * 4 < before, "{} of {before} bytes are left", size());
    let gc = stave(&folder, ["runs", "gc", "--older-than", "0"]).finish().await.exits(0);
    assert!(gc.stderr.contains("bytes"), "{}", gc.stderr);
}
