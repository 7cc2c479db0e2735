//! `stave run` with a name: the same command again shows the run that it started.

use crate::folder::Folder;
use crate::json::{text, values};
use crate::process::stave;
use crate::scripted::host::HostScript;
use crate::serve::sample::caller;

fn project(port: u16) -> Folder {
    let folder = Folder::new();
    folder.write("stave.toml", "[http]\nallow = [\"127.0.0.1\"]\n");
    folder.write("flow.yaml", caller(port).replace("timeout_ms: 3000", "timeout_ms: 60000"));
    folder.write("request.json", r#"{"page": "pay"}"#);
    folder.write("other.json", r#"{"page": "other"}"#);
    folder
}

const RUN: [&str; 5] = ["run", "flow.yaml", "--json", "--input", "request.json"];

fn named<'a>(name: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().chain(name).copied().collect()
}

#[tokio::test]
async fn the_same_command_runs_once_and_another_request_is_refused() {
    let script = HostScript::new(&values(r#"[{"path": "/pay", "json": {"ok": true}, "times": 9}]"#));
    let host = script.serve().await;
    let folder = project(host.port);
    for (name, count) in [(["--idempotency-key", "k"], 1), (["--run-id", "order-17"], 2)] {
        let first = stave(&folder, named(&name)).finish().await.exits(0).json();
        let again = stave(&folder, named(&name)).finish().await.exits(0).json();
        assert_eq!(text(&first, "run_id"), text(&again, "run_id"));
        assert_eq!(first.get("output"), again.get("output"), "{again}");
        let other = ["run", "flow.yaml", "--input", "other.json", name[0], name[1]];
        let refused = stave(&folder, other).finish().await.exits(2);
        assert!(refused.stderr.contains("another request"), "{}", refused.stderr);
        assert_eq!(script.log.lock().calls.len(), count);
    }
    assert_eq!(
        stave(&folder, ["runs", "show", "order-17", "--json"]).finish().await.exits(0).json().get("run_id"),
        Some(&"order-17".into())
    );
}

#[tokio::test]
async fn names_that_can_not_be_used_are_refused_before_anything_runs() {
    let folder = project(1);
    folder.write("two.jsonl", "{\"page\": \"pay\"}\n{\"page\": \"pay\"}\n");
    for arguments in [
        vec!["--run-id", "a/b"],
        vec!["--run-id", ""],
        vec!["--idempotency-key", "a b"],
        vec!["--idempotency-key", "a", "--run-id", "b"],
        vec!["--idempotency-key", "a", "--ephemeral"],
        vec!["--run-id", "a", "--input", "two.jsonl"],
    ] {
        let refused = stave(&folder, named(&arguments)).finish().await.exits(2);
        assert!(!refused.stderr.contains("panicked"), "{}", refused.stderr);
    }
    let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0);
    assert!(listed.stdout.contains(r#""runs":[]"#), "{}", listed.stdout);
}

#[tokio::test]
async fn a_command_that_was_killed_goes_on_when_it_is_repeated_and_two_at_once_are_one_run() {
    let script = HostScript::new(&values(
        r#"[{"path": "/pay", "delay_ms": 60000, "json": {}},
            {"path": "/pay", "delay_ms": 500, "json": {"ok": true}, "times": 9}]"#,
    ));
    let host = script.serve().await;
    let folder = project(host.port);
    let key = ["--idempotency-key", "k"];
    let called = async {
        while script.log.lock().calls.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    stave(&folder, named(&key)).killed_at(called).await.expect("it was killed in its step");
    let (one, two) = tokio::join!(stave(&folder, named(&key)).finish(), stave(&folder, named(&key)).finish());
    let (one, two) = (one.exits(0).json(), two.exits(0).json());
    assert_eq!(text(&one, "run_id"), text(&two, "run_id"));
    assert_eq!(one.get("output"), two.get("output"));
    assert_eq!(script.log.lock().calls.len(), 2, "one run, resumed once");
}
