//! Flows that change while they are served.

use super::client::Served;
use super::sample::{careful, echo, project};
use crate::json::text;

#[tokio::test]
async fn a_changed_flow_is_served_anew_and_its_runs_keep_the_old_one() {
    let folder = project();
    let mut served = Served::start(&folder, &[]).await;
    let begun = served.post("/runs", r#"{"flow": "careful", "input": {"amount": 3}}"#).await.is(202).json();
    let run = text(&begun, "run_id").unwrap().to_owned();
    let events = format!("/runs/{run}/events");
    assert!(served.get(&events).await.is(200).body.contains("event: waiting"));

    folder.write("flows/careful.yaml", careful("gave"));
    folder.write("flows/echo.yaml", echo("new "));
    served.process.wait_for_stderr("serving `careful`, `echo`\n").await;
    let answer = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"new hi".into()));

    let decision = format!("/runs/{run}/nodes/ask/decision");
    served.post(&decision, r#"{"approved": true}"#).await.is(202);
    assert!(served.get(&events).await.is(200).body.contains("event: ended"));
    let shown = served.get(&format!("/runs/{run}")).await.is(200).json();
    assert_eq!(shown.pointer("/output/paid"), Some(&"paid 3".into()), "{shown}");

    // A flow with a mistake goes on as it was, and the others go on too.
    folder.write("flows/echo.yaml", echo("broken ").replace("to: say.query", "to: nobody.query"));
    served.process.wait_for_stderr("is served as it was before").await;
    let answer = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"new hi".into()));

    folder.write("flows/echo.yaml", echo("cured "));
    folder.write("flows/more.yaml", echo("").replace("name: echo", "name: more"));
    served.process.wait_for_stderr("`more`").await;
    let answer = served.post("/v1/models/more:predict", r#"{"query": "hi"}"#).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"hi".into()));
}
