//! What operators rely on: retention while a server serves, its log, and whose compiled flows are served.

use stave_canon::Value;

use super::client::Served;
use super::sample::{careful, echo, project};
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

const ACME: &str = "acme-key-0123456789";
const GLOBEX: &str = "globex-key-0123456789";

#[tokio::test]
async fn a_server_removes_ended_runs_as_the_project_says_and_no_others() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    for number in 0..30 {
        let body = format!(r#"{{"flow": "echo", "input": {{"query": "{number}"}}}}"#);
        served.post("/runs?wait=true", &body).await.is(200);
    }
    let waiting =
        served.post("/runs?wait=true", r#"{"flow": "careful", "input": {"amount": 1}}"#).await.is(202);
    let waiting = text(&waiting.json(), "run_id").unwrap().to_owned();
    served.post("/runs?wait=true", r#"{"flow": "echo", "input": {"query": "last"}}"#).await.is(200);
    served.end().await.exits(0);

    let settings = folder.read("stave.toml");
    folder.write("stave.toml", format!("{settings}\n[journal]\nmax_bytes = 1\nkeep_runs = 1\n"));
    let mut served = Served::start(&folder, &["--no-resume"]).await;
    served.process.wait_for_stderr("removed 30 ended runs and 0 documents of acme/shop").await;
    let listed = served.get("/runs").await.is(200).json();
    let left: Vec<Option<&str>> = items(&listed, "runs").iter().map(|run| text(run, "status")).collect();
    assert_eq!(left, [Some("ok"), Some("waiting")], "{listed}");
    served.get(&format!("/runs/{waiting}")).await.is(200);
    // A waiting run continues after its decision.
    let decision = format!("/runs/{waiting}/nodes/ask/decision");
    served.post(&decision, r#"{"approved": true}"#).await.is(202);
    assert_eq!(text(&super::runs::settled(&served, &waiting).await, "status"), Some("ok"));
}

/// The lines of a log that are JSON objects, by their event.
fn events(log: &str) -> Vec<(String, Value)> {
    let parsed = log.lines().map(|line| {
        let value = stave_canon::parse(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        (text(&value, "event").unwrap_or_else(|| panic!("no event: {line}")).to_owned(), value)
    });
    parsed.collect()
}

#[tokio::test]
async fn every_event_of_a_server_is_one_line_of_json_without_secrets() {
    let folder = project();
    folder.write("keys.txt", format!("acme {ACME} name=ann roles=admin\n"));
    let arguments = ["--api-keys", "keys.txt", "--log-format", "json"];
    let mut process = stave(&folder, ["serve", "--port", "0"].iter().chain(&arguments)).start();
    let mut log = process.wait_for_stderr("\"listening\"").await;
    while !log.ends_with('\n') {
        log.push_str(&process.wait_for_stderr("\n").await);
    }
    let listening = events(&log).into_iter().find(|(event, _)| event == "listening").unwrap().1;
    let url = text(&listening, "url").unwrap();
    let port = url.rsplit(':').next().unwrap().parse().unwrap();
    let ask = |key: &'static str, query: &'static str| async move {
        let body = format!(r#"{{"flow": "echo", "input": {{"query": "{query}"}}}}"#);
        let json = [("content-type", "application/json")];
        super::client::ask(port, "POST", "/runs?wait=true", &json, Some(key), Some(&body)).await
    };
    for _ in 0..3 {
        ask("a-wrong-key-0123456789", "hidden-query").await.problem(401, "unauthorized");
    }
    ask(ACME, "hidden-query").await.is(200);
    ask(ACME, "fail hidden-query").await.is(200);
    folder.write("flows/echo.yaml", "version: \"1.0\"\nnodes: 1\n");
    log.push_str(&process.wait_for_stderr("flow-kept").await);
    process.terminate();
    log.push_str(&process.finish().await.stderr);
    let events = events(&log);
    let named = |name: &str| -> Vec<&Value> {
        events.iter().filter(|(event, _)| event == name).map(|(_, value)| value).collect()
    };
    for name in
        ["started", "project-loaded", "listening", "flow-invalid", "flow-kept", "shutting-down", "stopped"]
    {
        assert!(!named(name).is_empty(), "{name} is missing: {log}");
    }
    assert_eq!(named("key-refused").len(), 1, "refusals are reported together: {log}");
    assert_eq!(named("run-started").len(), 2, "{log}");
    let ended: Vec<(Option<&str>, Option<&str>)> =
        named("run-ended").iter().map(|run| (text(run, "status"), text(run, "code"))).collect();
    assert_eq!(ended, [(Some("ok"), None), (Some("error"), Some("code-failed"))], "{log}");
    for secret in [ACME, "wrong-key", "hidden-query"] {
        assert!(!log.contains(secret), "{secret} is in {log}");
    }
}

#[tokio::test]
async fn a_log_that_nobody_reads_stops_no_request() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    // Far more than a pipe holds.
    for _ in 0..600 {
        served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    }
    served.end().await.exits(0);
}

#[tokio::test]
async fn the_level_of_a_log_leaves_out_what_matters_less() {
    let folder = project();
    folder.write("flows/echo.yaml", "version: \"1.0\"\nnodes: 1\n");
    let mut process = stave(&folder, ["serve", "--port", "0", "--log-level", "warn"]).start();
    let log = process.wait_for_stderr("flows/echo.yaml:1: missing-field").await;
    assert!(!log.contains("info"), "{log}");
}

/// Two projects with a flow of the same name, and what they compile to.
async fn compiled() -> Folder {
    let folder = Folder::new();
    for tenant in ["acme", "globex"] {
        let settings = format!("[project]\ntenant = \"{tenant}\"\nrepo = \"shop\"\n");
        folder.write(&format!("{tenant}/stave.toml"), settings);
        folder.write(&format!("{tenant}/flows/echo.yaml"), echo(&format!("{tenant} ")));
        let (flows, out) = (format!("{tenant}/flows"), format!("{tenant}/build"));
        stave(&folder, ["compile", &flows, "--out", &out]).finish().await.exits(0);
    }
    folder.write("globex/flows/careful.yaml", careful("paid"));
    folder.write("keys.txt", format!("acme {ACME}\nglobex {GLOBEX}\n"));
    folder
}

#[tokio::test]
async fn compiled_flows_of_several_tenants_are_served_each_for_its_own() {
    let folder = compiled().await;
    let forms = ["flows", "build/flows"];
    for (acme, globex) in forms.iter().flat_map(|one| forms.iter().map(move |two| (*one, *two))) {
        let (one, two) = (format!("acme/{acme}"), format!("globex/{globex}"));
        let paths =
            [one.as_str(), &two, "--api-keys", "keys.txt", "--project", "acme", "--project", "globex"];
        let mut served = Served::start(&folder, &paths).await;
        for (key, tenant) in [(ACME, "acme"), (GLOBEX, "globex")] {
            served.with_key(Some(key));
            let answer = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200).json();
            assert_eq!(text(&answer, "reply"), Some(format!("{tenant} hi").as_str()), "{paths:?}");
        }
        served.with_key(Some(ACME));
        served.post("/v1/models/careful:predict", r#"{"amount": 1}"#).await.problem(404, "not-found");
        served.end().await.exits(0);
    }
}

#[tokio::test]
async fn a_compiled_flow_of_a_project_that_nobody_named_is_refused() {
    let folder = compiled().await;
    for named in [&[][..], &["--project", "acme"]] {
        let paths =
            ["serve", "acme/build/flows", "globex/build/flows", "--port", "0", "--api-keys", "keys.txt"];
        let refused = stave(&folder, paths.iter().chain(named)).finish().await.exits(3);
        let project = if named.is_empty() { "acme" } else { "globex" };
        assert!(refused.stderr.contains(&format!("--project {project}")), "{refused}");
        assert!(refused.stderr.contains("ignored-project-file"), "{refused}");
    }
    // Started in its own project, it needs no name; and a project's demand for signatures holds wherever it starts.
    folder.write("acme/stave.toml", "[project]\ntenant = \"acme\"\n[signing]\nrequired = true\n");
    let paths = ["serve", "acme/build/flows", "--project", "acme", "--port", "0", "--api-keys", "keys.txt"];
    let refused = stave(&folder, paths).finish().await.exits(3);
    assert!(refused.stderr.contains("not signed"), "{refused}");
}
