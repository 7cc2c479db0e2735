//! The gateway's page.

use std::sync::Arc;

use stave_canon::FixedClock;
use stave_gateway::database::{Evidence, EvidenceSettings};
use stave_gateway::records::{Outcome, RequestRecord};

use crate::serve::{Served, project};

#[tokio::test]
async fn without_a_gateway_there_is_nothing_to_show() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let answer = served.get("/studio/gateway").await.is(200).json();
    assert_eq!(answer.get("available"), Some(&false.into()), "{answer}");
    let session = served.get("/studio/session").await.is(200).json();
    assert_eq!(session.get("gateway"), Some(&false.into()), "{session}");
}

#[tokio::test]
async fn what_a_gateway_recorded_is_shown_to_its_tenant() {
    let folder = project();
    std::fs::create_dir_all(folder.path().join(".stave")).unwrap();
    let now = stave_canon::Timestamp::now();
    let clock = Arc::new(FixedClock(now));
    let file = folder.path().join(".stave").join(stave_gateway::database::FILE);
    let evidence = Evidence::open(&file, clock, EvidenceSettings::default()).unwrap();
    let mut record = RequestRecord::new(now, "request-1".to_owned());
    record.outcome = Outcome::Answered;
    record.model_asked = "gpt-4o-mini".to_owned();
    evidence.sink().append(record);
    drop(evidence);
    folder.write("keys.txt", "acme acme-key-0123456789\nglobex globex-key-0123456789\n");
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    served.with_key(Some("acme-key-0123456789"));
    let session = served.get("/studio/session").await.is(200).json();
    assert_eq!(session.get("gateway"), Some(&true.into()), "{session}");
    for by in ["model", "session", "key", "upstream"] {
        let answer = served.get(&format!("/studio/gateway?by={by}&hours=2")).await.is(200).json();
        let requests = answer.pointer("/stats/total/requests").and_then(stave_canon::Value::as_i64);
        assert_eq!(requests, Some(1), "{answer}");
    }
    served.get("/studio/gateway?by=colour").await.problem(400, "bad-request");
    served.get("/studio/gateway?hours=0").await.problem(400, "bad-request");
    served.get("/studio/gateway?project=other").await.problem(404, "not-found");
    served.with_key(Some("globex-key-0123456789"));
    let answer = served.get("/studio/gateway").await.is(200).json();
    assert_eq!(answer.get("available"), Some(&false.into()), "{answer}");
}
