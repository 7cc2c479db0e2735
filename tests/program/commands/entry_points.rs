//! What a project lists and requires holds at every entry point: run, KServe, runs, tools, studio, REP and tests.

use std::time::Duration;

use stave_canon::Value;

use super::admission::signed;
use crate::folder::Folder;
use crate::json::{text, values};
use crate::process::stave;
use crate::scripted::host::HostScript;
use crate::serve::{Served, echo};

const KEY: &str = "sk-live-4d1c9a7b2e8f";
pub(super) const HOSTS: &str = "[http]\nallow = [\"127.0.0.1\"]\n";
pub(super) const LISTED: &str = "[secrets.ITEMS_TOKEN]\nhosts = [\"127.0.0.1\"]\n";
const ELSEWHERE: &str = "[secrets.ITEMS_TOKEN]\nhosts = [\"localhost\"]\n";
const REQUEST: &str = r#"{"id": "a"}"#;

/// Every way to run a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryPoint {
    Run,
    Kserve,
    Runs,
    Tool,
    Studio,
    Rep,
    Test,
}

pub(super) const ALL: [EntryPoint; 7] = [
    EntryPoint::Run,
    EntryPoint::Kserve,
    EntryPoint::Runs,
    EntryPoint::Tool,
    EntryPoint::Studio,
    EntryPoint::Rep,
    EntryPoint::Test,
];

/// Sends a secret in a header to the host at a port.
pub(super) fn fetcher(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: fetcher}}
context: {{requires: [id]}}
nodes:
  fetch:
    type: transform
    inputs: [{{name: id, type: string}}]
    outputs: [{{name: data, type: object}}]
    transform:
      mode: declarative
      spec:
        op: http.get
        args:
          url: "http://127.0.0.1:{port}/items/${{id}}"
          headers: {{Authorization: "Bearer ${{secrets.ITEMS_TOKEN}}"}}
    runtime: {{retries: 0}}
edges:
  - {{from: _input.id, to: fetch.id}}
  - {{from: fetch.data, to: _output}}
tests:
  - name: fetches
    request: {{id: a}}
    http: [{{method: GET, url: "http://127.0.0.1:{port}/items/a", json: {{price: 3}}}}]
    expect: {{output: {{price: 3}}}}
"#
    )
}

/// Everything that an entry point answers when it is asked to run the flow `fetcher`.
pub(super) async fn answer(entry: EntryPoint, folder: &Folder) -> String {
    let program = |arguments: &[&str]| stave(folder, arguments).env("ITEMS_TOKEN", KEY);
    match entry {
        EntryPoint::Run => {
            program(&["run", "flows/fetcher.yaml", "--input", "-", "--json"])
                .input(REQUEST)
                .finish()
                .await
                .stdout
        }
        EntryPoint::Test => program(&["test", "flows", "--json"]).finish().await.stdout,
        EntryPoint::Rep => {
            let compiled = stave(folder, ["compile", "flows/fetcher.yaml", "--out", "out"]).finish().await;
            compiled.exits(0);
            let ir = folder.read("out/flows/fetcher.ir.json");
            spoken(program(&["rep"]), &ir, REQUEST).await
        }
        served => {
            let server = Served::of(program(&["serve", "--port", "0"])).await;
            let answer = of_server(served, &server, "fetcher", REQUEST).await;
            server.end().await;
            answer
        }
    }
}

/// What REP answers to a start and some polls.
async fn spoken(process: crate::process::Stave, ir: &str, inputs: &str) -> String {
    let ir = stave_canon::parse(ir).unwrap();
    let start = format!(
        r#"{{"jsonrpc": "2.0", "id": 1, "method": "Runtime.StartRun", "params": {{"ir": {ir}, "inputs": {inputs}, "options": {{"run_id": "r1"}}}}}}"#
    );
    let polls: String = (2..6)
        .map(|id| format!("{{\"jsonrpc\": \"2.0\", \"id\": {id}, \"method\": \"Runtime.Poll\", \"params\": {{\"run_id\": \"r1\"}}}}\n"))
        .collect();
    process.input(&format!("{start}\n{polls}")).finish().await.stdout
}

pub(super) async fn of_server(entry: EntryPoint, served: &Served, flow: &str, request: &str) -> String {
    match entry {
        EntryPoint::Kserve => served.post(&format!("/v1/models/{flow}:predict"), request).await.body,
        EntryPoint::Tool => {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{flow}","arguments":{request}}}}}"#
            );
            let headers = [
                ("content-type", "application/json"),
                ("accept", "application/json, text/event-stream"),
                ("mcp-protocol-version", "2025-06-18"),
            ];
            served.ask("POST", "/mcp", &headers, Some(&body)).await.body
        }
        _ => {
            let (path, body) = match entry {
                EntryPoint::Runs => ("/runs", format!(r#"{{"flow": "{flow}", "input": {request}}}"#)),
                _ => ("/studio/run", format!(r#"{{"path": "flows/{flow}.yaml", "input": {request}}}"#)),
            };
            let begun = served.post(path, &body).await;
            let Some(run) = text(&begun.json(), "run_id").map(str::to_owned) else { return begun.body };
            for _ in 0..400 {
                let shown = served.get(&format!("/runs/{run}")).await.is(200);
                if text(&shown.json(), "status") != Some("running") {
                    return shown.body;
                }
                tokio::time::sleep(Duration::from_millis(25)).await;
            }
            panic!("run {run} does not end");
        }
    }
}

#[tokio::test]
async fn a_run_without_budget_goes_on_nowhere() {
    for entry in ALL.into_iter().filter(|entry| *entry != EntryPoint::Test) {
        let page = r#"[{"method": "GET", "path": "/items/a", "status": 503, "json": {}, "times": 9}]"#;
        let host = HostScript::new(&values(page));
        let server = host.serve().await;
        let folder = Folder::new();
        // An error route that costs nothing shows whether it was taken.
        let flow = fetcher(server.port);
        let (nodes, rest) = flow.split_once("edges:\n").unwrap();
        let (edges, _) = rest.split_once("tests:\n").unwrap();
        let nodes = nodes.replace("    transform:\n", "    error: {name: failed}\n    transform:\n");
        // The second call would exceed the budget.
        let nodes = nodes.replace("{retries: 0}", "{retries: 2, retry_backoff_ms: 1}");
        let sorry = r#"  sorry:
    type: transform
    inputs: [{name: problem, type: object}]
    outputs: [{name: data, type: object}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: {sorry: true}}}}
"#;
        let more = "  - {from: fetch.failed, to: sorry.problem}\n  - {from: sorry.data, to: _output}\n";
        let flow = format!("{nodes}{sorry}edges:\n{edges}{more}runtime:\n  budget: {{calls: 1}}\n");
        folder.write("flows/fetcher.yaml", flow);
        folder.write("stave.toml", format!("{HOSTS}{LISTED}"));
        let said = answer(entry, &folder).await;
        assert!(said.contains("budget"), "{entry:?}: {said}");
        assert!(!said.contains(r#""sorry":true"#), "{entry:?}: {said}");
        assert_eq!(host.log.lock().calls.len(), 1, "{entry:?}: {said}");
    }
}

#[tokio::test]
async fn a_secret_is_used_when_the_project_lists_it_for_the_host() {
    for entry in ALL {
        for (settings, words) in [
            (LISTED, None),
            ("", Some("secret `ITEMS_TOKEN` is not listed in the project")),
            (ELSEWHERE, Some("secret `ITEMS_TOKEN` is not listed for host `127.0.0.1`")),
        ] {
            let page = r#"[{"method": "GET", "path": "/items/a", "json": {"price": 3}, "times": 9}]"#;
            let host = HostScript::new(&values(page));
            let server = host.serve().await;
            let folder = Folder::new();
            folder.write("flows/fetcher.yaml", fetcher(server.port));
            folder.write("stave.toml", format!("{HOSTS}{settings}"));
            let said = answer(entry, &folder).await;
            assert!(!said.contains(KEY), "{entry:?}: {said}");
            let calls: Vec<bool> = host
                .log
                .lock()
                .calls
                .iter()
                .map(|call| call.headers["authorization"].to_str().unwrap() == format!("Bearer {KEY}"))
                .collect();
            match words {
                None => assert!(!said.contains("unlisted-secret"), "{entry:?}: {said}"),
                Some(words) => assert!(said.contains(words), "{entry:?} {settings}: {said}"),
            }
            let expected: &[bool] = if words.is_none() && entry != EntryPoint::Test { &[true] } else { &[] };
            assert_eq!(calls, expected, "{entry:?} {settings}: {said}");
        }
    }
}

#[tokio::test]
async fn a_variable_becomes_context_when_the_project_lists_it() {
    // None of these names looks like a secret, and each has held one.
    for name in ["PGPASSWORD", "MYSQL_PWD", "GITHUB_PAT", "REGION"] {
        let flow = echo("").replace("user: {header: X-User}", &format!("user: {{env: {name}}}"));
        let folder = Folder::new();
        folder.write("flows/echo.yaml", &flow);
        let words = format!("variable `{name}` is not listed in the project");
        for (settings, is_allowed) in [
            ("", false),
            ("[context]\nenv = [\"OTHER\"]\n", false),
            (&format!("[context]\nenv = [\"{name}\"]\n"), true),
        ] {
            folder.write("stave.toml", settings);
            let checked = stave(&folder, ["check", "--format", "json", "flows"]).finish().await.exits(0);
            assert_eq!(checked.stdout.contains(&words), !is_allowed, "{checked}");
            if name != "PGPASSWORD" && !is_allowed {
                continue;
            }
            let served = Served::of(stave(&folder, ["serve", "--port", "0"]).env(name, KEY)).await;
            for entry in [EntryPoint::Kserve, EntryPoint::Runs, EntryPoint::Tool, EntryPoint::Studio] {
                let said = of_server(entry, &served, "echo", r#"{"query": "hi", "user": "root"}"#).await;
                assert_eq!(said.contains(&format!("hi{KEY}")), is_allowed, "{entry:?} {settings}: {said}");
                assert_eq!(said.contains(&words), !is_allowed, "{entry:?} {settings}: {said}");
                assert!(!said.contains("hiroot"), "the client's word does not count: {said}");
            }
            let ready = served.get("/v2/models/echo/ready").await;
            assert_eq!(ready.status == 200, is_allowed, "{ready:?}");
            served.end().await;
        }
    }
}

/// Two projects, each with the flow `fetcher`, and a folder of secrets for the first.
fn two_tenants(port: u16) -> Folder {
    let folder = Folder::new();
    for tenant in ["acme", "globex"] {
        folder.write(
            &format!("{tenant}/stave.toml"),
            format!("[project]\ntenant = \"{tenant}\"\nrepo = \"shop\"\n{HOSTS}{LISTED}[secrets]\nfolder = \"secrets\"\n[context]\nenv = [\"PGPASSWORD\"]\n"),
        );
        folder.write(&format!("{tenant}/flows/fetcher.yaml"), fetcher(port));
        let reader = echo("").replace("user: {header: X-User}", "user: {env: PGPASSWORD}");
        folder.write(&format!("{tenant}/flows/echo.yaml"), reader);
    }
    folder.write("acme/secrets/ITEMS_TOKEN", "acme-token\n");
    folder.write("acme/secrets/PGPASSWORD", "acme-word\n");
    folder.write("keys.txt", "acme acme-key-0123456789\nglobex globex-key-0123456789\n");
    folder
}

#[tokio::test]
async fn with_several_tenants_nothing_comes_from_the_environment() {
    let page = r#"[{"method": "GET", "path": "/items/a", "json": {"price": 3}, "times": 9}]"#;
    let host = HostScript::new(&values(page));
    let server = host.serve().await;
    let folder = two_tenants(server.port);
    let arguments = ["serve", "--port", "0", "acme/flows", "globex/flows", "--api-keys", "keys.txt"];
    let program = || stave(&folder, arguments).env("ITEMS_TOKEN", KEY).env("PGPASSWORD", KEY);
    let mut served = Served::of(program()).await;
    served.with_key(Some("acme-key-0123456789"));
    served.post("/v1/models/fetcher:predict", REQUEST).await.is(200);
    let sent = host.log.lock().calls[0].headers["authorization"].to_str().unwrap().to_owned();
    assert_eq!(sent, "Bearer acme-token", "the tenant's own folder has the secret");
    let said = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200).json();
    assert_eq!(said.get("reply"), Some(&"hiacme-word".into()));
    served.with_key(Some("globex-key-0123456789"));
    let said = served.post("/v1/models/fetcher:predict", REQUEST).await;
    said.problem(said.status, "secret-missing");
    let said = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200).json();
    assert_eq!(said.get("reply"), Some(&"hi".into()), "the variable has no value for this tenant");
    assert_eq!(host.log.lock().calls.len(), 1);
    served.end().await;
    // One folder of secrets for two tenants would be the environment again.
    let settings = folder.read("globex/stave.toml");
    folder.write("globex/stave.toml", settings.replace("\"secrets\"", "\"../acme/secrets\""));
    let refused = program().finish().await.exits(2);
    assert!(refused.stderr.contains("share the secrets"), "{refused}");
}

#[tokio::test]
async fn a_required_signature_is_required_at_every_entry_point() {
    let folder = signed().await;
    let flow = "build/flows/echo.ir.json";
    let request = r#"{"query": "hi"}"#;
    let ir = folder.read(flow);
    let run = ["run", flow, "--input", "-", "--json", "--ephemeral"];
    // A project file in the folder of the artefacts changes nothing and is reported.
    folder.write(
        "build/stave.toml",
        "[signing]\nrequired = false\n[mcp.evil]\ncommand = \"touch\"\narguments = [\"ran\"]\n",
    );
    folder.write("build/flows/stave.toml", "[signing]\nrequired = false\n");
    let refused = stave(&folder, run).input(request).finish().await.exits(3);
    assert!(refused.stdout.contains("not signed"), "{refused}");
    let checked = stave(&folder, ["check", "--format", "json", flow]).finish().await;
    assert!(checked.stdout.contains("ignored-project-file"), "{checked}");
    for command in ["serve", "mcp"] {
        let refused = stave(&folder, [command, flow]).input("").finish().await.exits(3);
        assert!(refused.stderr.contains("not signed"), "{command}: {refused}");
        assert!(refused.stderr.contains("stave.toml is not used"), "{command}: {refused}");
    }
    let said = spoken(stave(&folder, ["rep"]), &ir, request).await;
    assert!(said.contains("the document is not signed") && !said.contains("\"completed\""), "{said}");
    stave(&folder, ["rep", "--compiled", "build"]).input("").finish().await.exits(3);
    let manifests = folder.files().into_iter().map(|(path, _)| path.display().to_string());
    let manifest = manifests.into_iter().find(|path| path.ends_with(".manifest.json")).unwrap();
    stave(&folder, ["bundle", "sign", &manifest]).finish().await.exits(0);
    let ran = stave(&folder, run).input(request).finish().await.exits(0).json();
    assert_eq!(ran.pointer("/output/reply"), Some(&"hi".into()), "{ran}");
    let said = spoken(stave(&folder, ["rep", "--compiled", "build"]), &ir, request).await;
    assert!(said.contains("\"completed\""), "{said}");
    let changed = ir.replace("inputs[\\\"query\\\"]", "inputs[\\\"query\\\"] + '!'");
    assert_ne!(changed, ir);
    let said = spoken(stave(&folder, ["rep", "--compiled", "build"]), &changed, request).await;
    assert!(said.contains("the document is not signed"), "{said}");
}

#[tokio::test]
async fn the_studio_runs_no_unsaved_text_when_signatures_are_required() {
    let folder = signed().await;
    let served = Served::start(&folder, &["flows/echo.yaml"]).await;
    let saved = folder.read("flows/echo.yaml");
    let body = |content: &str| {
        let input = stave_canon::parse(r#"{"query": "hi"}"#).unwrap();
        Value::from_iter([
            ("path", Value::from("flows/echo.yaml")),
            ("text", content.into()),
            ("input", input),
        ])
        .to_string()
    };
    served.post("/studio/run", &body(&saved)).await.is(202);
    let refused = served.post("/studio/run", &body(&format!("{saved}# changed\n"))).await.is(403);
    assert!(refused.body.contains("requires signatures"), "{refused:?}");
}

#[tokio::test]
async fn a_project_file_below_the_project_loosens_nothing() {
    let page = r#"[{"method": "GET", "path": "/items/a", "json": {"price": 3}, "times": 9}]"#;
    let host = HostScript::new(&values(page));
    let server = host.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", HOSTS);
    folder.write("flows/deep/fetcher.yaml", fetcher(server.port));
    folder.write("flows/deep/stave.toml", format!("{HOSTS}{LISTED}"));
    let file = "flows/deep/fetcher.yaml";
    let run = |from: &Folder, file: &str| {
        stave(from, ["run", file, "--input", "-"]).env("ITEMS_TOKEN", KEY).input(REQUEST)
    };
    let refused = run(&folder, file).finish().await.exits(3);
    assert!(refused.stderr.contains("is not listed in the project"), "{refused}");
    assert!(refused.stderr.contains("ignored-project-file"), "{refused}");
    // The outermost project decides also for a command that is started elsewhere.
    let elsewhere = Folder::new();
    let file = folder.path().join(file).display().to_string();
    run(&elsewhere, &file).finish().await.exits(3);
    assert_eq!(host.log.lock().calls.len(), 0);
    folder.write("stave.toml", format!("{HOSTS}{LISTED}"));
    run(&folder, &file).finish().await.exits(0);
}
