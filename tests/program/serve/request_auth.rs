//! Runs whose request had `auth`: they continue for the requester, and for nobody else.

use super::client::Served;
use super::sample::project;
use crate::folder::Folder;

const CHARGED: &str = r#"version: "1.0"
metadata: {name: charged}
context: {requires: [amount]}
nodes:
  ask:
    type: transform
    inputs: [{name: amount, type: number}]
    outputs: [{name: amount, type: number}]
    transform: {mode: declarative, spec: {op: human.approve, args: {message: "Pay ${amount}?"}}}
  pay:
    type: transform
    inputs: [{name: amount, type: number}]
    outputs: [{name: paid, type: string}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {"paid": "as " + context.auth.get("token", "nobody")}
edges:
  - {from: _input.amount, to: ask.amount}
  - {from: ask.amount, to: pay.amount}
  - {from: pay.paid, to: _output.paid}
"#;

/// A project with keys for somebody who asks and somebody who decides.
fn charged() -> Folder {
    let folder = project();
    folder.write("flows/charged.yaml", CHARGED);
    let keys = format!("acme {ASKER} roles=run,observe\nacme {BOSS} name=boss roles=decide,observe\n");
    folder.write("keys.txt", keys);
    folder
}

const ASKER: &str = "asker-key-0123456789";
const BOSS: &str = "boss-key-0123456789";

#[tokio::test]
async fn a_decision_goes_on_with_the_auth_of_the_request_and_no_other() {
    let folder = charged();
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    let body =
        r#"{"flow": "charged", "run_id": "au3", "input": {"amount": 1, "auth": {"token": "user-jwt"}}}"#;
    served.with_key(Some(ASKER)).post("/runs", body).await.is(202);
    assert!(served.get("/runs/au3/events").await.is(200).body.contains("event: waiting"));

    served.with_key(Some(BOSS));
    let forged = r#"{"approved": true, "auth": {"token": "boss-jwt"}}"#;
    served.post("/runs/au3/nodes/ask/decision", forged).await.problem(403, "auth-differs");
    let shown = served.get("/runs/au3").await.is(200).json();
    assert_eq!(shown.get("decisions"), None, "nothing was decided: {shown}");
    served.post("/runs/au3/nodes/ask/decision", r#"{"approved": true}"#).await.is(202);
    assert!(served.get("/runs/au3/events").await.is(200).body.contains("event: ended"));
    let shown = served.get("/runs/au3").await.is(200).json();
    assert_eq!(shown.pointer("/output/paid"), Some(&"as user-jwt".into()), "{shown}");
    for (path, bytes) in folder.files() {
        let is_kept = bytes.windows(8).any(|window| window == b"user-jwt");
        // The flow's own output repeats it; nothing else does.
        assert!(!is_kept || path.to_string_lossy().contains("stave.sqlite"), "{}", path.display());
    }
}

#[tokio::test]
async fn a_decision_after_a_restart_waits_for_the_auth_of_the_request() {
    let folder = charged();
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    let body =
        r#"{"flow": "charged", "run_id": "au4", "input": {"amount": 1, "auth": {"token": "user-jwt"}}}"#;
    served.with_key(Some(ASKER)).post("/runs", body).await.is(202);
    assert!(served.get("/runs/au4/events").await.is(200).body.contains("event: waiting"));
    served.end().await.exits(0);

    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    served.with_key(Some(BOSS));
    let decided = served.post("/runs/au4/nodes/ask/decision", r#"{"approved": true}"#).await.is(202).json();
    assert_eq!(decided.get("needs"), Some(&"auth".into()), "{decided}");
    served.with_key(Some(ASKER));
    served.post("/runs/au4/resume", r#"{"auth": {"token": "other"}}"#).await.problem(403, "auth-differs");
    served.post("/runs/au4/resume", "{}").await.problem(400, "auth-needed");
    let shown = served.get("/runs/au4").await.is(200).json();
    assert_eq!(shown.get("status"), Some(&"interrupted".into()), "{shown}");
    served.post("/runs/au4/resume", r#"{"auth": {"token": "user-jwt"}}"#).await.is(202);
    assert!(served.get("/runs/au4/events").await.is(200).body.contains("event: ended"));
    let shown = served.get("/runs/au4").await.is(200).json();
    assert_eq!(shown.pointer("/output/paid"), Some(&"as user-jwt".into()), "{shown}");
}
