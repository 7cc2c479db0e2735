//! The official SDKs from PyPI work unchanged, and see what they would see without the gateway.

use std::path::Path;

use tokio::process::Command;

use super::python::{PythonUpstream, program, python_with_sdks};
use crate::folder::Folder;
use crate::process::stave;
use crate::serve::client::Served;

/// Runs the SDKs' program, and gives what it said when all of it went well.
async fn run(python: &Path, arguments: &[&str]) -> String {
    let output = Command::new(python)
        .args(["-W", "ignore"])
        .arg(program())
        .args(arguments)
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .await
        .expect("python starts");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    said.into_owned()
}

/// A gateway with these settings, in which `PORT` is the upstream's.
async fn gateway(folder: &Folder, upstream: &PythonUpstream, settings: &str) -> Served {
    folder.write("stave.toml", settings.replace("PORT", &upstream.port.to_string()));
    Served::of(stave(folder, ["gateway", "--listen", "127.0.0.1:0"])).await
}

const BOTH: &str = r#"
[gateway.upstreams.claude]
provider = "anthropic"
endpoint = "http://127.0.0.1:PORT"

[gateway.upstreams.gpt]
provider = "openai"
endpoint = "http://127.0.0.1:PORT"

[gateway.retries]
attempts = 0

[gateway.breaker]
failures = 1000
"#;

const OTHER_INTERFACES: &str = r#"
[gateway.upstreams.claude]
provider = "anthropic"
endpoint = "http://127.0.0.1:PORT"
models = ["claude-*"]

[gateway.upstreams.gpt]
provider = "openai"
endpoint = "http://127.0.0.1:PORT"
interfaces = ["chat_completions"]
models = ["chat-*"]

[gateway.models.claude-x-429]
targets = ["claude/error-429"]

[gateway.models.chat-x-429]
targets = ["gpt/error-429"]

[gateway.retries]
attempts = 0
"#;

#[tokio::test]
async fn the_sdks_responses_are_served_by_upstreams_of_other_interfaces() {
    let Some(python) = python_with_sdks().await else { return };
    let upstream = PythonUpstream::start(&python).await;
    let folder = Folder::new();
    let gateway = gateway(&folder, &upstream, OTHER_INTERFACES).await;
    let address = format!("http://127.0.0.1:{}", gateway.port);
    let said = run(&python, &["responses", &address, "chat-x", "claude-x"]).await;
    assert_eq!(said.matches("responses work with").count(), 2, "{said}");
    gateway.end().await.exits(0);
}

#[tokio::test]
async fn every_conversation_of_the_sdks_is_the_same_with_the_gateway() {
    let Some(python) = python_with_sdks().await else { return };
    let upstream = PythonUpstream::start(&python).await;
    let folder = Folder::new();
    let gateway = gateway(&folder, &upstream, BOTH).await;
    let (direct, address) =
        (format!("http://127.0.0.1:{}", upstream.port), format!("http://127.0.0.1:{}", gateway.port));
    let said = run(&python, &["check", &direct, &address]).await;
    assert!(said.contains("conversations are the same"), "{said}");
    let ended = gateway.end().await;
    assert_eq!(ended.code, 0, "{ended}");
    let records = rusqlite::Connection::open(folder.path().join(".stave/gateway.sqlite")).expect("a file");
    let count = |condition: &str| -> i64 {
        let question = format!("SELECT count(*) FROM request WHERE {condition}");
        records.query_row(&question, [], |row| row.get(0)).expect("a count")
    };
    assert_eq!(count("1"), 57, "one record for each request");
    assert_eq!(count("outcome = 'cancelled'"), 1);
    assert_eq!(count("status >= 400 AND outcome <> 'failed'"), 0);
    assert!(count("breakpoints IS NOT NULL") >= 3, "the coding agent's conversation was planned");
}
