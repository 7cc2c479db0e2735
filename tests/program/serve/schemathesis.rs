//! The OpenAPI document is what the server does: schemathesis, from PyPI, finds nothing else.

use std::path::Path;

use tokio::process::Command;

use super::client::Served;
use super::sample::project;
use crate::folder::Folder;
use crate::json::text;
use crate::python::python_with;

/// That a tensor's shape and data agree, that its elements are requests, and that an input fits the flow which the same body
/// names, is more than a schema can say.
const CONFIG: &str = r#"
[[operations]]
include-path-regex = "/infer$"
[operations.checks]
positive_data_acceptance.enabled = false

[[operations]]
include-name = "POST /runs"
[operations.checks]
positive_data_acceptance.enabled = false
"#;

/// How many requests are made up for each operation; a search by hand takes more.
const EXAMPLES: &str = "60";

async fn search(python: &Path, served: &Served, folder: &Folder, only: &[&str]) {
    let examples = std::env::var("STAVE_SCHEMATHESIS_EXAMPLES").unwrap_or_else(|_| EXAMPLES.to_owned());
    // A module is found wherever the environment was moved to; a script names the place where it was made.
    let output = Command::new(python)
        .args(["-m", "schemathesis.cli", "run"])
        .arg(format!("http://127.0.0.1:{}/openapi.json", served.port))
        .args(["--max-examples", &examples, "--seed", "1", "--no-color"])
        .args(["--phases", "examples,coverage,fuzzing", "--request-timeout", "30"])
        .args(["--generation-database", "none"])
        // Whether a text is a flow, and a message one of another protocol, is more than a schema can say.
        .args(["--exclude-path-regex", "^/(studio/|assets/|mcp$|$)"])
        .args(only)
        .env("NO_PROXY", "127.0.0.1")
        .current_dir(folder.path())
        .output()
        .await
        .expect("schemathesis starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn schemathesis_finds_nothing() {
    let Some(python) = python_with("schemathesis", "schemathesis").await else { return };
    let folder = project();
    folder.write("schemathesis.toml", CONFIG);
    let served = Served::start(&folder, &["--request-seconds", "20"]).await;
    search(&python, &served, &folder, &[]).await;
    // Of itself it knows no run that there is. One waits for a person, one has ended.
    for begun in
        [r#"{"flow": "careful", "input": {"amount": 3}}"#, r#"{"flow": "echo", "input": {"query": "hello"}}"#]
    {
        let run = served.post("/runs", begun).await.is(202).json();
        let run = text(&run, "run_id").expect("a run has an id");
        folder.write("schemathesis.toml", format!("[parameters]\nrun = \"{run}\"\nnode = \"ask\"\n{CONFIG}"));
        search(&python, &served, &folder, &["--include-path-regex", "/runs/"]).await;
    }
}
