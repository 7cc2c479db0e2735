//! The declared interface is what the server does: bodies are refused with their faults, and the document describes both.

use stave_canon::Value;

use super::client::Served;
use super::sample::project;
use crate::json::text;

#[tokio::test]
async fn a_body_that_does_not_fit_is_refused_with_every_fault_and_its_place() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let run = served.post("/runs", r#"{"flow": "careful", "input": {"amount": 3}}"#).await.is(202).json();
    let run = text(&run, "run_id").expect("a run has an id");
    for (path, body, faults) in [
        (
            "/runs".to_owned(),
            r#"{"input": [], "flows": "echo"}"#,
            vec![
                "/flows: `flows` is not a key of this object; known are `flow`, `input`, `run_id`",
                "`flow` is missing",
                "/input: must be an object, not an array",
            ],
        ),
        (
            format!("/runs/{run}/resume"),
            r#"{"force": 1, "auth": null}"#,
            vec!["/force: must be a boolean", "/auth: must be an object"],
        ),
        (format!("/runs/{run}/replay"), r#"{"node": 3}"#, vec!["/node: must be a string"]),
        (
            format!("/runs/{run}/nodes/ask/decision"),
            r#"{"comment": null, "x": 1}"#,
            vec!["`approved` is missing", "/comment: must be a string, not null", "/x: `x` is not a key"],
        ),
        (format!("/runs/{run}/resume"), "[]", vec!["must be an object, not an array"]),
    ] {
        let problem = served.post(&path, body).await.is(400).json();
        let detail = text(&problem, "detail").expect("a problem has a detail");
        for fault in faults {
            assert!(detail.contains(fault), "{path}: {detail} lacks {fault}");
        }
    }
}

#[tokio::test]
async fn the_document_names_the_flows_and_leaves_out_a_studio_that_is_turned_off() {
    let folder = project();
    let served = Served::start(&folder, &["--no-studio"]).await;
    let document = served.get("/openapi.json").await.is(200).json();
    let paths = document.get("paths").and_then(Value::as_object).expect("a document has paths");
    assert!(paths.contains_key("/v2/models/echo/infer") && !paths.contains_key("/v2/models/{name}/infer"));
    assert!(!paths.keys().any(|path| path.starts_with("/studio/")), "{document}");
    let answer = "/paths/~1runs/get/responses/200/content/application~1json/schema/$ref";
    assert_eq!(document.pointer(answer), Some(&"#/components/schemas/RunPage".into()), "{document}");
    let refused = served.ask("DELETE", "/runs", &[], None).await.is(405);
    assert!(refused.head.contains("\r\nallow: get, head, post\r\n"), "{refused:?}");
}
