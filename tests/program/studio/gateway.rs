//! The gateway's page.

use std::sync::Arc;

use stave_canon::{FixedClock, Value};
use stave_gateway::database::{Evidence, EvidenceSettings};
use stave_gateway::records::{RequestOutcome, RequestRecord};

use crate::folder::Folder;
use crate::serve::{Served, echo, project};

#[tokio::test]
async fn without_a_gateway_there_is_nothing_to_show() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let answer = served.get("/studio/gateway").await.is(200).json();
    assert_eq!(answer.get("available"), Some(&false.into()), "{answer}");
    let session = served.get("/studio/session").await.is(200).json();
    assert_eq!(session.get("gateway"), Some(&false.into()), "{session}");
}

/// Records an answered request of each tenant, as a gateway of the project below a folder does.
fn recorded(folder: &Folder, state: &str, tenants: &[&str]) {
    let state = folder.path().join(state);
    std::fs::create_dir_all(&state).unwrap();
    let now = stave_canon::Timestamp::now();
    let clock = Arc::new(FixedClock(now));
    let file = state.join(stave_gateway::database::FILE);
    let evidence = Evidence::open(&file, clock, EvidenceSettings::default()).unwrap();
    for (number, tenant) in tenants.iter().enumerate() {
        let mut record = RequestRecord::new(now, format!("request-{number}"));
        record.tenant = Arc::from(*tenant);
        record.outcome = RequestOutcome::Answered;
        record.model_asked = "gpt-4o-mini".to_owned();
        evidence.sink().append(record);
    }
}

fn requests(answer: &Value) -> Option<i64> {
    answer.pointer("/stats/total/requests").and_then(Value::as_i64)
}

#[tokio::test]
async fn each_project_that_has_a_gateway_can_be_looked_at() {
    let folder = Folder::new();
    for (name, count) in [("billing", 1), ("support", 2), ("search", 0)] {
        folder.write(&format!("{name}/stave.toml"), format!("[project]\nrepo = \"{name}\"\n"));
        folder.write(
            &format!("{name}/flows/echo.yaml"),
            echo("").replace("name: echo", &format!("name: {name}")),
        );
        if count > 0 {
            recorded(&folder, &format!("{name}/.stave"), &vec!["local"; count]);
        }
    }
    let served = Served::start(&folder, &["billing/flows", "support/flows", "search/flows"]).await;
    let first = served.get("/studio/gateway?hours=2").await.is(200).json();
    assert_eq!(first.get("projects"), Some(&vec!["billing", "support"].into()), "{first}");
    assert_eq!((first.get("project"), requests(&first)), (Some(&"billing".into()), Some(1)), "{first}");
    let second = served.get("/studio/gateway?hours=2&project=support").await.is(200).json();
    assert_eq!(requests(&second), Some(2), "{second}");
    let none = served.get("/studio/gateway?project=search").await.is(200).json();
    assert_eq!(none.get("available"), Some(&false.into()), "{none}");
    served.get("/studio/gateway?project=nowhere").await.problem(404, "not-found");
}

#[tokio::test]
async fn what_a_gateway_recorded_is_shown_to_its_tenant() {
    let folder = project();
    // A key of another tenant used the same gateway.
    recorded(&folder, ".stave", &["acme", "globex", "globex"]);
    folder.write("keys.txt", "acme acme-key-0123456789\nglobex globex-key-0123456789\n");
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    served.with_key(Some("acme-key-0123456789"));
    let session = served.get("/studio/session").await.is(200).json();
    assert_eq!(session.get("gateway"), Some(&true.into()), "{session}");
    for by in ["model", "session", "key", "upstream"] {
        let answer = served.get(&format!("/studio/gateway?by={by}&hours=2")).await.is(200).json();
        assert_eq!(requests(&answer), Some(1), "{answer}");
    }
    served.get("/studio/gateway?by=colour").await.problem(400, "bad-request");
    served.get("/studio/gateway?hours=0").await.problem(400, "bad-request");
    served.get("/studio/gateway?project=other").await.problem(404, "not-found");
    served.with_key(Some("globex-key-0123456789"));
    let answer = served.get("/studio/gateway").await.is(200).json();
    assert_eq!(answer.get("available"), Some(&false.into()), "{answer}");
}
