//! Many at once: watchers of one run, and runs one after the other without a pause.
//!
//! A steady rate over a longer time is `stave-bench serve`.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::client::{Served, ask};
use super::sample::{project, slow_project};
use crate::json::{items, text};

fn wanted(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_watch_one_run_to_its_end() {
    let watchers = wanted("STAVE_LOAD_WATCHERS", 500);
    let (folder, _host) = slow_project(2500).await;
    let served = Served::start(&folder, &[]).await;
    let begun = served.post("/runs", r#"{"flow": "caller", "input": {"page": "slow"}}"#).await.is(202).json();
    let path = format!("/runs/{}/events", text(&begun, "run_id").unwrap());
    let mut watching = JoinSet::new();
    for _ in 0..watchers {
        let (port, path) = (served.port, path.clone());
        watching.spawn(async move { ask(port, "GET", &path, &[], None, None).await });
    }
    let mut seen = 0;
    while let Some(answer) = watching.join_next().await {
        let answer = answer.expect("a watcher sees the end").is(200);
        assert!(answer.body.contains("event: started") && answer.body.contains("event: ended"), "{answer:?}");
        seen += 1;
    }
    assert_eq!(seen, watchers);
}

/// Asks for runs on one connection, one after the other.
async fn on_one_connection(port: u16, runs: usize) -> Vec<Duration> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the server listens");
    let body = r#"{"query": "hello"}"#;
    let request = format!(
        "POST /v1/models/echo:predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut took = Vec::with_capacity(runs);
    let mut buffer = vec![0; 16 * 1024];
    for _ in 0..runs {
        let started = Instant::now();
        stream.write_all(request.as_bytes()).await.expect("the connection is kept");
        let mut answer = String::new();
        while !answer.contains("\r\n\r\n") || !answer.ends_with('}') {
            let read = stream.read(&mut buffer).await.expect("the connection is kept");
            assert!(read > 0, "the server closed the connection: {answer}");
            answer.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(r#"{"reply":"hello"}"#), "{answer}");
        took.push(started.elapsed());
    }
    took
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_in_a_row_are_all_answered() {
    let runs = wanted("STAVE_LOAD_RUNS", 200);
    let connections = wanted("STAVE_LOAD_CONNECTIONS", 32).min(runs);
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    on_one_connection(served.port, 1).await;
    let started = Instant::now();
    let mut clients = JoinSet::new();
    for _ in 0..connections {
        clients.spawn(on_one_connection(served.port, runs / connections));
    }
    let mut took: Vec<Duration> = Vec::new();
    while let Some(one) = clients.join_next().await {
        took.extend(one.expect("every run is answered"));
    }
    let whole = started.elapsed();
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    // For people who measure; how long it takes on a busy machine proves nothing.
    println!(
        "{} runs on {connections} connections in {whole:.2?}: {:.0} a second, half within {:.1?}, 99 of 100 within {:.1?}",
        took.len(),
        took.len() as f64 / whole.as_secs_f64(),
        at(0.5),
        at(0.99)
    );
    assert_eq!(took.len(), runs / connections * connections);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_begin_at_the_same_time_are_each_watched_to_their_end() {
    let runs = wanted("STAVE_LOAD_WATCHED", 120);
    let (folder, _host) = slow_project(600).await;
    let served = Served::start(&folder, &["--max-runs", &(2 * runs).to_string()]).await;
    let mut watching = JoinSet::new();
    for _ in 0..runs {
        let port = served.port;
        watching.spawn(async move {
            let body = Some(r#"{"flow": "caller", "input": {"page": "slow"}}"#);
            let json = [("content-type", "application/json")];
            let begun = ask(port, "POST", "/runs", &json, None, body).await.is(202).json();
            let run = text(&begun, "run_id").expect("a run has an id").to_owned();
            let events = ask(port, "GET", &format!("/runs/{run}/events"), &[], None, None).await.is(200);
            let names: Vec<&str> =
                events.body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
            assert_eq!(names, ["started", "step", "ended"], "{events:?}");
            assert!(events.body.contains(&format!(r#""run_id":"{run}","status":"ok""#)), "{events:?}");
            run
        });
    }
    let seen: std::collections::BTreeSet<String> = watching.join_all().await.into_iter().collect();
    assert_eq!(seen.len(), runs, "every run is one of its own");
    let listed = served.get("/runs?status=ok&limit=1000").await.is(200).json();
    assert_eq!(items(&listed, "runs").len(), runs);
}
