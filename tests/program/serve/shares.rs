//! Tenants share a server: a flood of one keeps no other waiting.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::client::{Served, ask};
use super::sample::{caller, echo};
use crate::folder::Folder;
use crate::json::{items, values};
use crate::scripted::host::HostScript;

const FLOOD: &str = "flood-key-0123456789";
const QUIET: &str = "quiet-key-0123456789";
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// Computes until its time is over.
const SPIN: &str = r#"version: "1.0"
metadata: {name: spin}
context: {requires: [page]}
nodes:
  turn:
    type: transform
    inputs: [{name: page, type: string}]
    outputs: [{name: reply, type: string}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            count = 0
            while True:
                count += 1
    runtime: {timeout_ms: 4000, retries: 0}
edges:
  - {from: _input.page, to: turn.page}
  - {from: turn.reply, to: _output.reply}
"#;

async fn running(served: &mut Served) -> usize {
    served.with_key(Some(FLOOD));
    let runs = served.get("/runs?status=running&limit=1000").await.is(200).json();
    items(&runs, "runs").len()
}

#[tokio::test]
async fn two_hundred_heavy_runs_of_one_tenant_leave_another_its_answers() {
    let page =
        r#"[{"method": "GET", "path": "/slow", "delay_ms": 600000, "json": {"ok": true}, "times": 9999}]"#;
    let host = HostScript::new(&values(page)).serve().await;
    let folder = Folder::new();
    for tenant in ["flood", "quiet"] {
        let settings =
            format!("[project]\ntenant = \"{tenant}\"\nrepo = \"shop\"\n[http]\nallow = [\"127.0.0.1\"]\n");
        folder.write(&format!("{tenant}/stave.toml"), settings);
    }
    folder.write("flood/flows/caller.yaml", caller(host.port));
    folder.write("flood/flows/spin.yaml", SPIN);
    folder.write("quiet/flows/echo.yaml", echo(""));
    folder.write("keys.txt", format!("flood {FLOOD}\nquiet {QUIET}\n"));
    let arguments = ["flood/flows", "quiet/flows", "--api-keys", "keys.txt", "--max-runs", "16"];
    let mut served = Served::start(&folder, &arguments).await;
    let port = served.port;
    let mut flood = tokio::task::JoinSet::new();
    for number in 0..200 {
        let flow = if number % 2 == 0 { "caller" } else { "spin" };
        let path = format!("/v1/models/{flow}:predict");
        flood.spawn(async move {
            ask(port, "POST", &path, &JSON, Some(FLOOD), Some(r#"{"page": "slow"}"#)).await
        });
    }
    // Twelve of the sixteen turns are first come, first served; four are kept for the other tenant.
    while running(&mut served).await < 10 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for number in 0..5 {
        served.with_key(Some(QUIET));
        let body = format!(r#"{{"query": "{number}"}}"#);
        let asked = Instant::now();
        let answer = served.post("/v1/models/echo:predict", &body).await.is(200);
        let took = asked.elapsed();
        assert_eq!(answer.json().get("reply"), Some(&number.to_string().into()));
        assert!(took <= LATENCY, "answer {number} took {took:?}");
    }
    assert!(running(&mut served).await > 0, "the flood was over before the others were answered");
    flood.abort_all();
}

/// How long an answer may take beside the flood of another tenant. Alone it takes some milliseconds; what has to wait for
/// a run of the flood takes minutes.
const LATENCY: Duration = Duration::from_secs(5);

/// Sends a request on a connection of its own, and keeps the connection open. Gives it with the head of the answer.
async fn linger(port: u16, key: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("GET /runs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    (stream, String::from_utf8(head).unwrap().to_lowercase())
}

#[tokio::test]
async fn connections_of_one_tenant_leave_another_its_own() {
    let folder = Folder::new();
    for tenant in ["flood", "quiet"] {
        let settings = format!("[project]\ntenant = \"{tenant}\"\nrepo = \"shop\"\n");
        folder.write(&format!("{tenant}/stave.toml"), settings);
        folder.write(&format!("{tenant}/flows/echo.yaml"), echo(""));
    }
    folder.write("keys.txt", format!("flood {FLOOD}\nquiet {QUIET}\n"));
    let arguments = ["flood/flows", "quiet/flows", "--api-keys", "keys.txt", "--max-connections", "8"];
    let served = Served::start(&folder, &arguments).await;
    // Two of the eight are kept for the other tenant.
    let mut open = Vec::new();
    for number in 0..6 {
        let (stream, head) = linger(served.port, FLOOD).await;
        assert!(head.starts_with("http/1.1 200"), "connection {number}: {head}");
        open.push(stream);
    }
    let (mut refused, head) = linger(served.port, FLOOD).await;
    assert!(head.starts_with("http/1.1 429"), "{head}");
    assert!(head.contains("connection: close") && head.contains("retry-after"), "{head}");
    let mut rest = Vec::new();
    refused.read_to_end(&mut rest).await.unwrap();
    assert!(String::from_utf8(rest).unwrap().contains("too-many-connections"));
    let (_first, head) = linger(served.port, QUIET).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    // A connection that ends makes room for the next.
    drop(open.pop());
    loop {
        let (_stream, head) = linger(served.port, FLOOD).await;
        if head.starts_with("http/1.1 200") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
