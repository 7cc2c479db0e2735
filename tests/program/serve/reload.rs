//! Flows that change while they are served.

use super::client::Served;
use super::sample::{careful, echo, project, slow_project};
use crate::json::text;
use crate::process::stave;

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

    // A flow with a mistake stays as it was, and so do the others.
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

#[tokio::test]
async fn a_name_that_two_files_have_holds_up_no_other_flow() {
    let folder = project();
    let mut served = Served::start(&folder, &[]).await;
    folder.write("flows/twin.yaml", echo("twin "));
    served.process.wait_for_stderr("two flows are called `echo`").await;
    // The one that was served stays, and the rest of the project changes.
    folder.write("flows/careful.yaml", careful("gave"));
    folder.write("flows/more.yaml", echo("").replace("name: echo", "name: more"));
    served.process.wait_for_stderr("`more`").await;
    let answer = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"hi".into()));
    served.post("/v1/models/more:predict", r#"{"query": "hi"}"#).await.is(200);
    // The health endpoint reports it.
    let ready = served.get("/v2/health/ready").await.is(200).json();
    assert_eq!(ready.get("not_served"), Some(&1.into()), "{ready}");
    let models = served.get("/v2/models").await.is(200).json();
    let file = models.pointer("/not_served/0/file").and_then(|file| file.as_str()).unwrap_or_default();
    assert!(file.ends_with("twin.yaml"), "{models}");
    let files = served.get("/studio/files").await.is(200).json();
    let twin =
        crate::json::items(&files, "files").iter().find(|file| text(file, "path") == Some("flows/twin.yaml"));
    let reason = twin.and_then(|twin| text(twin, "not_served")).unwrap_or_default();
    assert!(reason.contains("two flows are called `echo`"), "{files}");

    folder.write("flows/twin.yaml", echo("twin ").replace("name: echo", "name: twin"));
    served.process.wait_for_stderr("`twin`").await;
    served.post("/v1/models/twin:predict", r#"{"query": "hi"}"#).await.is(200);
    let ready = served.get("/v2/health/ready").await.is(200).json();
    assert_eq!(ready.get("not_served"), None, "{ready}");
}

#[tokio::test]
async fn a_flow_that_can_not_run_here_is_not_ready() {
    let folder = project();
    let keyed = r#"version: "1.0"
metadata: {name: keyed}
context: {requires: [query]}
nodes:
  ask:
    type: transform
    inputs: [{name: query, type: string}]
    outputs: [{name: reply, type: object}]
    transform:
      mode: declarative
      spec: {op: http.get, args: {url: "https://api.example.com/", headers: {x-key: "${secrets.NO_SUCH_KEY}"}}}
edges:
  - {from: _input.query, to: ask.query}
  - {from: ask.reply, to: _output.reply}
"#;
    folder.write("flows/keyed.yaml", keyed);
    let served = Served::start(&folder, &[]).await;
    let shown = served.get("/v2/models/keyed/ready").await.is(503).json();
    assert_eq!(shown.get("ready"), Some(&false.into()), "{shown}");
    assert!(text(&shown, "reason").unwrap_or_default().contains("NO_SUCH_KEY"), "{shown}");
    let shown = served.get("/v1/models/keyed").await.is(200).json();
    assert_eq!(shown.get("ready"), Some(&false.into()), "{shown}");
    served.get("/v2/models/echo/ready").await.is(200);
    served.end().await;
    // Neither is one that names a host which the project does not allow.
    let open = keyed.replace(r#", headers: {x-key: "${secrets.NO_SUCH_KEY}"}"#, "");
    folder.write("flows/keyed.yaml", open);
    let served = Served::start(&folder, &[]).await;
    let shown = served.get("/v2/models/keyed/ready").await.is(503).json();
    assert!(text(&shown, "reason").unwrap_or_default().contains("`api.example.com`"), "{shown}");
}

#[tokio::test]
async fn a_flow_that_sends_a_secret_to_a_host_it_is_not_listed_for_is_not_ready() {
    let folder = project();
    let settings = folder.read("stave.toml");
    let listed = |host: &str| {
        let allowing = settings.replacen("allow = [", "allow = [\"api.example.com\", ", 1);
        format!("{allowing}[secrets.API_KEY]\nhosts = [\"{host}\"]\n")
    };
    folder.write("stave.toml", listed("other.example.com"));
    let keyed = r#"version: "1.0"
metadata: {name: keyed}
context: {requires: [query]}
nodes:
  ask:
    type: transform
    inputs: [{name: query, type: string}]
    outputs: [{name: reply, type: object}]
    transform:
      mode: declarative
      spec: {op: http.get, args: {url: "https://api.example.com/", headers: {x-key: "${secrets.API_KEY}"}}}
edges:
  - {from: _input.query, to: ask.query}
  - {from: ask.reply, to: _output.reply}
"#;
    folder.write("flows/keyed.yaml", keyed);
    let report = stave(&folder, ["check", "--json"]).finish().await.exits(2).json();
    let found = &crate::json::items(&report, "diagnostics")[0];
    assert_eq!(
        (text(found, "code"), text(found, "severity")),
        (Some("unlisted-secret"), Some("error")),
        "{report}"
    );
    let serve = |folder| stave(folder, ["serve", "--port", "0"]).env("API_KEY", "some-value-of-a-key");
    let served = Served::of(serve(&folder)).await;
    let shown = served.get("/v2/models/keyed/ready").await.is(503).json();
    let reason = text(&shown, "reason").unwrap_or_default();
    assert_eq!(reason, "`ask`: secret `API_KEY` is not listed for host `api.example.com`");
    served.end().await;
    folder.write("stave.toml", listed("api.example.com"));
    stave(&folder, ["check"]).finish().await.exits(0);
    let served = Served::of(serve(&folder)).await;
    served.get("/v2/models/keyed/ready").await.is(200);
}

#[tokio::test]
async fn a_changed_project_file_counts_as_a_whole() {
    let (folder, _host) = slow_project(0).await;
    let settings = folder.read("stave.toml");
    let mut served = Served::start(&folder, &[]).await;
    let call = r#"{"page": "slow"}"#;
    served.post("/v1/models/caller:predict", call).await.is(200);

    // A host that is taken away is called no more, without a flow having changed.
    folder.write("stave.toml", settings.replace("127.0.0.1", "other.example"));
    served.process.wait_for_stderr("serving `caller`, `careful`, `echo`").await;
    served.post("/v1/models/caller:predict", call).await.problem(403, "host-not-allowed");

    // A file with a mistake changes nothing, and the health endpoint reports it.
    folder.write("stave.toml", "[http\n");
    served.process.wait_for_stderr("serving `caller`, `careful`, `echo`").await;
    served.post("/v1/models/caller:predict", call).await.problem(403, "host-not-allowed");
    let ready = served.get("/v2/health/ready").await.is(200).json();
    assert_eq!(ready.get("not_served"), Some(&3.into()), "{ready}");

    // Neither does one that only a new server can take.
    folder.write("stave.toml", settings.replace("acme", "globex"));
    served.process.wait_for_stderr("serving `caller`, `careful`, `echo`").await;
    let models = served.get("/v2/models").await.is(200).body;
    assert!(models.contains("cannot change `[project] tenant`"), "{models}");
    served.post("/v1/models/caller:predict", call).await.problem(403, "host-not-allowed");

    folder.write("stave.toml", &settings);
    served.process.wait_for_stderr("serving `caller`, `careful`, `echo`").await;
    served.post("/v1/models/caller:predict", call).await.is(200);
    let ready = served.get("/v2/health/ready").await.is(200).json();
    assert_eq!(ready.get("not_served"), None, "{ready}");

    // A flow that the new settings do not allow is not served under the old ones.
    folder.write("stave.toml", format!("{settings}[labels.context]\npage = \"restricted\"\n"));
    served.process.wait_for_stderr("serving `careful`, `echo`").await;
    served.post("/v1/models/caller:predict", call).await.problem(404, "not-found");
    served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
}

#[tokio::test]
async fn a_log_among_the_flows_causes_no_reload() {
    let folder = project();
    folder.write("flows/broken.yaml", echo("").replace("to: say.query", "to: nobody.query"));
    let mut served = Served::start(&folder, &["--state-dir", "flows/kept"]).await;
    for line in 0..20 {
        folder.write("flows/server.log", format!("line {line}"));
        folder.write("flows/server.log.json", format!("{{\"line\": {line}}}"));
        served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    }
    folder.write("flows/echo.yaml", echo("new "));
    let said = served.process.wait_for_stderr("serving `careful`, `echo`\n").await;
    assert!(!said.contains("broken.yaml"), "{said}");
    assert_eq!(said.matches("serving `careful`, `echo`\n").count(), 1, "{said}");
}
