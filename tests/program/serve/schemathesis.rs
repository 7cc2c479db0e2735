//! The OpenAPI document is what the server does: schemathesis, from PyPI, finds nothing else.

use tokio::process::Command;

use super::client::Served;
use super::sample::project;
use crate::python::python_with;

/// That a tensor's shape and data agree, and that its elements are requests, is more than a schema can say.
const CONFIG: &str = r#"
[[operations]]
include-path-regex = "/infer$"
[operations.checks]
positive_data_acceptance.enabled = false
"#;

#[tokio::test]
async fn schemathesis_finds_nothing() {
    let Some(python) = python_with("schemathesis", "schemathesis").await else { return };
    let folder = project();
    folder.write("schemathesis.toml", CONFIG);
    let served = Served::start(&folder, &["--request-seconds", "20"]).await;
    let examples = std::env::var("STAVE_SCHEMATHESIS_EXAMPLES").unwrap_or_else(|_| "6".to_owned());
    let program = python.with_file_name("schemathesis");
    let output = Command::new(program)
        .arg("run")
        .arg(format!("http://127.0.0.1:{}/openapi.json", served.port))
        .args(["--max-examples", &examples, "--seed", "1", "--no-color"])
        .args(["--phases", "examples,coverage,fuzzing", "--request-timeout", "30"])
        .args(["--generation-database", "none"])
        .env("NO_PROXY", "127.0.0.1")
        .current_dir(folder.path())
        .output()
        .await
        .expect("schemathesis starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
