//! The official SDKs from PyPI work unchanged, and see what they would see without the gateway.

use tokio::process::Command;

use super::python::{PythonUpstream, program, python_with_sdks};
use crate::folder::Folder;
use crate::process::stave;
use crate::serve::client::Served;

#[tokio::test]
async fn the_sdks_responses_are_served_by_upstreams_of_other_interfaces() {
    let Some(python) = python_with_sdks().await else { return };
    let upstream = PythonUpstream::start(&python).await;
    let folder = Folder::new();
    let port = upstream.port;
    folder.write(
        "stave.toml",
        format!(
            "[gateway.upstreams.claude]\nprovider = \"anthropic\"\nendpoint = \"http://127.0.0.1:{port}\"\nmodels = [\"claude-*\"]\n\
             [gateway.upstreams.gpt]\nprovider = \"openai\"\nendpoint = \"http://127.0.0.1:{port}\"\n\
             interfaces = [\"chat_completions\"]\nmodels = [\"chat-*\"]\n\
             [gateway.models.claude-x-429]\ntargets = [\"claude/error-429\"]\n\
             [gateway.models.chat-x-429]\ntargets = [\"gpt/error-429\"]\n\
             [gateway.retries]\nattempts = 0\n"
        ),
    );
    let gateway = Served::of(stave(&folder, ["gateway", "--listen", "127.0.0.1:0"])).await;
    let output = Command::new(python)
        .arg("-W")
        .arg("ignore")
        .arg(program())
        .arg("responses")
        .arg(format!("http://127.0.0.1:{}", gateway.port))
        .args(["chat-x", "claude-x"])
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .await
        .expect("python starts");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    assert_eq!(said.matches("responses work with").count(), 2, "{said}\n{errors}");
    gateway.end().await.exits(0);
}

#[tokio::test]
async fn every_conversation_of_the_sdks_is_the_same_with_the_gateway() {
    let Some(python) = python_with_sdks().await else { return };
    let upstream = PythonUpstream::start(&python).await;
    let folder = Folder::new();
    let port = upstream.port;
    folder.write(
        "stave.toml",
        format!(
            "[gateway.upstreams.claude]\nprovider = \"anthropic\"\nendpoint = \"http://127.0.0.1:{port}\"\n\
             [gateway.upstreams.gpt]\nprovider = \"openai\"\nendpoint = \"http://127.0.0.1:{port}\"\n\
             [gateway.retries]\nattempts = 0\n[gateway.breaker]\nfailures = 1000\n"
        ),
    );
    let gateway = Served::of(stave(&folder, ["gateway", "--listen", "127.0.0.1:0"])).await;
    let output = Command::new(python)
        .arg("-W")
        .arg("ignore")
        .arg(program())
        .arg("check")
        .arg(format!("http://127.0.0.1:{port}"))
        .arg(format!("http://127.0.0.1:{}", gateway.port))
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .await
        .expect("python starts");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("conversations are the same"), "{said}\n{errors}");
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
