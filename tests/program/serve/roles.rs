//! Keys with roles: each route with each role, and keys that are for some flows only.

use super::client::Served;
use super::sample::{careful, echo, project};
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// What each route is for; every role that is not named is refused.
const MATRIX: [(&str, &str, &str); 38] = [
    ("GET", "/v1/models", "run observe"),
    ("GET", "/v1/models/echo", "run observe"),
    ("HEAD", "/v1/models/echo", "run observe"),
    ("POST", "/v1/models/echo:predict", "run"),
    ("GET", "/v2/models", "run observe"),
    ("GET", "/v2/models/echo", "run observe"),
    ("GET", "/v2/models/echo/versions/1", "run observe"),
    ("GET", "/v2/models/echo/ready", "run observe"),
    ("POST", "/v2/models/echo/infer", "run"),
    ("POST", "/v2/models/echo/versions/1/infer", "run"),
    ("GET", "/runs", "observe"),
    ("POST", "/runs", "run"),
    ("GET", "/runs/none", "observe"),
    ("HEAD", "/runs/none", "observe"),
    ("GET", "/runs/none/events", "observe"),
    ("POST", "/runs/none/cancel", "run"),
    ("POST", "/runs/none/resume", "run"),
    ("POST", "/runs/none/replay", "run"),
    ("POST", "/runs/none/nodes/ask/decision", "decide"),
    ("GET", "/openapi.json", "run decide observe edit"),
    ("GET", "/metrics", "observe"),
    ("POST", "/mcp", "run"),
    ("GET", "/studio/session", "run decide observe edit"),
    ("GET", "/studio/palette", "run decide observe edit"),
    ("GET", "/studio/files", "observe"),
    ("GET", "/studio/file?path=flows/none.yaml", "observe"),
    ("PUT", "/studio/file", "edit"),
    ("POST", "/studio/analyse", "observe"),
    ("POST", "/studio/lines", "observe"),
    ("POST", "/studio/edit", "edit"),
    ("POST", "/studio/chat", "edit"),
    ("POST", "/studio/format", "edit"),
    ("POST", "/studio/completion", "edit"),
    ("POST", "/studio/run", "run"),
    ("GET", "/studio/runs/none", "observe"),
    ("GET", "/studio/runs/none/nodes/ask", "observe"),
    ("GET", "/studio/compare?a=x&b=y", "observe"),
    ("GET", "/studio/gateway", "observe"),
];

fn key(role: &str) -> String {
    format!("{role}-key-0123456789")
}

fn with_keys(folder: &Folder) {
    let roles = ["run", "decide", "observe", "edit", "admin"];
    let lines = roles.map(|role| format!("acme {} name={role} roles={role}\n", key(role)));
    let default = format!("acme {}\n", key("default"));
    folder.write("keys.txt", lines.concat() + &default);
}

#[tokio::test]
async fn each_route_is_for_the_roles_that_the_table_names() {
    let folder = project();
    with_keys(&folder);
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    for (method, path, allowed) in MATRIX {
        let mut allowed: Vec<&str> = allowed.split(' ').collect();
        // The default key can run and observe, and an administrator everything.
        if allowed.contains(&"run") || allowed.contains(&"observe") {
            allowed.push("default");
        }
        allowed.push("admin");
        for role in ["run", "decide", "observe", "edit", "admin", "default"] {
            served.with_key(Some(&key(role)));
            let answer = served.ask(method, path, &JSON, (method != "GET").then_some("{}")).await;
            let is_refused = answer.status == 403;
            assert_eq!(is_refused, !allowed.contains(&role), "{role}: {method} {path}: {answer:?}");
            if is_refused && method != "HEAD" {
                answer.problem(403, "role-missing");
            }
        }
        served.with_key(Some("wrong-key-0123456789"));
        served.ask(method, path, &JSON, (method != "GET").then_some("{}")).await.is(401);
    }
    for (method, path) in
        [("DELETE", "/runs/none"), ("PATCH", "/studio/file"), ("GET", "/mcp"), ("PUT", "/runs")]
    {
        served.with_key(Some(&key("admin")));
        served.ask(method, path, &JSON, Some("{}")).await.is(405);
    }
}

#[tokio::test]
async fn who_decided_is_written_down_and_shown() {
    let folder = project();
    with_keys(&folder);
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    served.with_key(Some(&key("default")));
    let begun =
        served.post("/runs?wait=true", r#"{"flow": "careful", "input": {"amount": 1}}"#).await.is(202);
    let run = text(&begun.json(), "run_id").unwrap().to_owned();
    let decision = format!("/runs/{run}/nodes/ask/decision");
    served.post(&decision, r#"{"approved": true}"#).await.problem(403, "role-missing");
    served.with_key(Some(&key("decide")));
    // What the client says about itself does not count.
    let forged = served.post(&decision, r#"{"approved": true, "decided_by": "key:boss"}"#).await;
    forged.problem(400, "bad-request");
    served.post(&decision, r#"{"approved": true}"#).await.is(202);
    served.with_key(Some(&key("observe")));
    let events = served.get(&format!("/runs/{run}/events")).await.is(200);
    assert!(events.body.contains("event: ended"), "{events:?}");
    for path in [format!("/runs/{run}"), format!("/studio/runs/{run}")] {
        let shown = served.get(&path).await.is(200).json();
        assert_eq!(shown.pointer("/decisions/0/decided_by"), Some(&"key:decide".into()), "{shown}");
    }
    let shown = stave(&folder, ["runs", "show", &run]).finish().await.exits(0);
    assert!(shown.stdout.contains("`ask` was approved by key:decide at "), "{shown}");
    let shown = stave(&folder, ["runs", "show", &run, "--json"]).finish().await.exits(0);
    assert!(shown.stdout.contains(r#""decided_by":"key:decide""#), "{shown}");
    let page = stave(&folder, ["runs", "report", &run]).finish().await.exits(0);
    assert!(page.stdout.contains("was approved by key:decide at "), "{page}");
}

#[tokio::test]
async fn a_key_for_one_flow_sees_and_does_nothing_of_another() {
    let folder = project();
    let all = "roles=run,decide,observe,edit";
    folder.write(
        "keys.txt",
        format!("acme {} name=one {all} flows=echo\nacme {} name=all roles=admin\n", key("one"), key("all")),
    );
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    served.with_key(Some(&key("all")));
    let waits =
        served.post("/runs?wait=true", r#"{"flow": "careful", "input": {"amount": 1}}"#).await.is(202);
    let waits = text(&waits.json(), "run_id").unwrap().to_owned();

    served.with_key(Some(&key("one")));
    let own = served.post("/runs?wait=true", r#"{"flow": "echo", "input": {"query": "a"}}"#).await.is(200);
    let own = text(&own.json(), "run_id").unwrap().to_owned();
    assert_eq!(served.get("/v1/models").await.is(200).body, r#"{"models":["echo"]}"#);
    assert_eq!(served.get("/v2/models").await.is(200).body, r#"{"models":["echo"]}"#);
    for path in ["/runs", "/runs?limit=1", "/runs?flow=echo"] {
        let runs = served.get(path).await.is(200).json();
        let ids: Vec<_> = items(&runs, "runs").iter().filter_map(|run| text(run, "run_id")).collect();
        assert_eq!(ids, [own.as_str()], "{path}");
    }
    for path in ["/runs?flow=careful", "/runs?status=waiting"] {
        assert_eq!(served.get(path).await.is(200).body, r#"{"runs":[],"next":null}"#, "{path}");
    }
    for path in ["", "/events", "/questions"] {
        served.get(&format!("/runs/{waits}{path}")).await.problem(404, "not-found");
    }
    for path in ["cancel", "resume", "replay", "nodes/ask/decision"] {
        let body = r#"{"approved": true}"#;
        served.post(&format!("/runs/{waits}/{path}"), body).await.problem(404, "not-found");
    }
    for path in [
        format!("/studio/runs/{waits}"),
        format!("/studio/runs/{waits}/nodes/ask"),
        format!("/studio/compare?a={own}&b={waits}"),
        "/v1/models/careful".to_owned(),
        "/v2/models/careful/ready".to_owned(),
        "/studio/file?path=flows/careful.yaml".to_owned(),
    ] {
        served.get(&path).await.problem(404, "not-found");
    }
    // Whether a run of another flow has an id is not told.
    for id in [waits.as_str(), "nobody-has-this"] {
        let start = format!(r#"{{"flow": "echo", "run_id": "{id}", "input": {{"query": "a"}}}}"#);
        served.post("/runs", &start).await.problem(403, "role-missing");
    }
    // Neither does the key take a name by which another flow is asked for.
    let file = served.get("/studio/file?path=flows/echo.yaml").await.is(200).json();
    let named = "  target: local\n  kserve: {service_name: careful}\n";
    let taken = text(&file, "text").unwrap().replace("  target: local\n", named);
    let body = stave_canon::Value::from_iter([
        ("path", stave_canon::Value::from("flows/echo.yaml")),
        ("text", taken.as_str().into()),
        ("hash", text(&file, "hash").unwrap().into()),
    ]);
    let refused = served.ask("PUT", "/studio/file", &JSON, Some(&body.to_string())).await;
    refused.problem(403, "role-missing");
    served.post("/v1/models/careful:predict", r#"{"amount": 1}"#).await.problem(404, "not-found");
    served.post("/v2/models/careful/infer", r#"{"inputs": []}"#).await.problem(404, "not-found");
    served.post("/runs", r#"{"flow": "careful", "input": {"amount": 1}}"#).await.problem(404, "not-found");
    for path in ["/openapi.json", "/metrics", "/studio/files"] {
        let answer = served.get(path).await.is(200);
        assert!(answer.body.contains("echo") && !answer.body.contains("careful"), "{path}: {answer:?}");
    }
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let tools = served.ask("POST", "/mcp", &headers, Some(list)).await.is(200);
    assert!(tools.body.contains("echo") && !tools.body.contains("careful"), "{tools:?}");

    // Nor by a text: under the other's name, in the other's file, or by taking the name away from its own.
    let as_other = |path: &str, text: &str| {
        stave_canon::Value::from_iter([("path", path), ("text", text), ("hash", "sha256:none")]).to_string()
    };
    let other = careful("paid");
    for (path, text) in [("flows/careful.yaml", echo("")), ("flows/careful.yaml", other.clone())] {
        served.post("/studio/run", &as_other(path, &text)).await.problem(404, "not-found");
        served
            .ask("PUT", "/studio/file", &JSON, Some(&as_other(path, &text)))
            .await
            .problem(404, "not-found");
    }
    served.post("/studio/run", &as_other("flows/echo.yaml", &other)).await.problem(404, "not-found");
    for text in [other.as_str(), "version: \"1.0\"\n"] {
        let written =
            served.ask("PUT", "/studio/file", &JSON, Some(&as_other("flows/echo.yaml", text))).await;
        written.problem(403, "role-missing");
    }
    served.ask("PUT", "/studio/file", &JSON, Some(&as_other("flows/new.yaml", &echo("")))).await.is(404);
    let stale = as_other("flows/echo.yaml", &echo("new "));
    served.ask("PUT", "/studio/file", &JSON, Some(&stale)).await.problem(409, "changed-on-disk");
}

#[tokio::test]
async fn a_text_that_is_not_saved_is_run_by_who_may_edit_and_never_under_read_only() {
    let folder = project();
    with_keys(&folder);
    let saved = r#"{"path": "flows/echo.yaml", "input": {"query": "a"}}"#;
    let unsaved = |text: &str| {
        let input = stave_canon::Value::from_iter([("query", "a")]);
        let members = [("path", "flows/echo.yaml".into()), ("text", text.into()), ("input", input)];
        stave_canon::Value::from_iter(members).to_string()
    };
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    for (role, is_refused) in [("run", true), ("default", true), ("admin", false)] {
        served.with_key(Some(&key(role)));
        served.post("/studio/run", saved).await.is(202);
        // The same text is no other text.
        served.post("/studio/run", &unsaved(&echo(""))).await.is(202);
        let answer = served.post("/studio/run", &unsaved(&echo("other "))).await;
        if is_refused {
            answer.problem(403, "role-missing");
        } else {
            answer.is(202);
        }
    }
    served.with_key(Some(&key("edit")));
    served.post("/studio/run", saved).await.problem(403, "role-missing");
    served.with_key(Some(&key("observe")));
    let session = served.get("/studio/session").await.is(200).json();
    assert_eq!(session.get("read_only"), Some(&true.into()), "{session}");
    served.end().await;

    let mut served = Served::start(&folder, &["--api-keys", "keys.txt", "--read-only"]).await;
    served.with_key(Some(&key("admin")));
    served.post("/studio/run", saved).await.is(202);
    served.post("/studio/run", &unsaved(&echo("other "))).await.problem(403, "read-only");
}

#[tokio::test]
async fn a_file_that_is_not_served_as_it_is_is_run_by_who_may_edit() {
    let folder = project();
    with_keys(&folder);
    let runner = "runner-key-0123456789";
    let editor = "editor-key-0123456789";
    let limited = "limited-key-0123456789";
    let keys = std::fs::read_to_string(folder.path().join("keys.txt")).unwrap();
    let further = format!(
        "acme {runner} name=runner roles=run,decide,observe\nacme {editor} name=editor roles=run,edit\n\
         acme {limited} name=limited roles=run,observe flows=careful\n"
    );
    folder.write("keys.txt", keys + &further);
    folder
        .write("flows/broken.yaml", "version: \"1.0\"\nmetadata: {name: broken}\nnodes: {a: {type: none}}\n");
    // A file that takes the name of a flow that is served, and is not the one.
    folder.write("flows/other.yaml", echo("other "));
    folder.write("flows/draft.yaml", careful("drafted"));
    let run =
        |file: &str| format!(r#"{{"path": "flows/{file}.yaml", "input": {{"query": "a", "amount": 1}}}}"#);
    let arguments = ["flows/echo.yaml", "--api-keys", "keys.txt", "--no-reload"];
    let mut served = Served::start(&folder, &arguments).await;
    let keys = |role: &str| key(role);
    let cases = [
        (keys("run"), false),
        (keys("default"), false),
        (runner.to_owned(), false),
        (limited.to_owned(), false),
        (keys("decide"), false),
        (keys("observe"), false),
        (keys("edit"), false),
        (editor.to_owned(), true),
        (keys("admin"), true),
    ];
    for (key, may) in &cases {
        served.with_key(Some(key));
        for file in ["careful", "draft", "other"] {
            let answer = served.post("/studio/run", &run(file)).await;
            if *may {
                answer.is(202);
            } else if key == limited && file == "other" {
                answer.problem(404, "not-found");
            } else {
                answer.problem(403, "role-missing");
            }
        }
        let broken = served.post("/studio/run", &run("broken")).await;
        match (*may, key == limited) {
            (true, _) => broken.problem(422, "invalid-flow"),
            (false, true) => broken.problem(404, "not-found"),
            (false, false) => broken.problem(403, "role-missing"),
        };
    }
    // What is served, all who may run may run, until the file is another.
    served.with_key(Some(runner));
    served.post("/studio/run", &run("echo")).await.is(202);
    folder.write("flows/echo.yaml", echo("changed "));
    served.post("/studio/run", &run("echo")).await.problem(403, "role-missing");
    served.with_key(Some(editor));
    served.post("/studio/run", &run("echo")).await.is(202);
}

#[tokio::test]
async fn a_list_of_keys_that_says_too_little_is_refused() {
    let folder = project();
    for (line, about) in [
        ("acme key-0123456789abcd roles=decide", "name=NAME"),
        ("acme key-0123456789abcd roles=owner", "run, decide, observe, edit, admin"),
        ("acme key-0123456789abcd role=run", "line 1"),
        ("acme weight=0", "weight"),
    ] {
        folder.write("keys.txt", format!("{line}\n"));
        let refused =
            stave(&folder, ["serve", "--port", "0", "--api-keys", "keys.txt"]).finish().await.exits(2);
        assert!(
            refused.stderr.contains(about) && !refused.stderr.contains("key-0123456789abcd"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_key_that_can_only_observe_sees_no_restricted_values() {
    const SECRET: &str = "DE89370400440532013000";
    let folder = project();
    with_keys(&folder);
    folder.write(
        "flows/payer.yaml",
        r#"version: "1.0"
metadata: {name: payer}
context: {requires: [iban], sensitivity: {iban: restricted}}
nodes:
  pay:
    type: transform
    inputs: [{name: iban, type: string}]
    outputs: [{name: line, type: string}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            raise ValueError('not payable: ' + inputs['iban'])
    runtime: {retries: 0}
edges:
  - {from: _input.iban, to: pay.iban}
  - {from: pay.line, to: _output.line}
"#,
    );
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    served.with_key(Some(&key("run")));
    let body = format!(r#"{{"flow": "payer", "input": {{"iban": "{SECRET}"}}}}"#);
    let begun = served.post("/runs?wait=true", &body).await.is(200);
    assert!(begun.body.contains(SECRET), "who starts a run gets what it asked for: {}", begun.body);
    let run = text(&begun.json(), "run_id").unwrap().to_owned();
    let views = [
        format!("/runs/{run}"),
        format!("/runs/{run}/events"),
        format!("/studio/runs/{run}"),
        format!("/studio/runs/{run}/nodes/pay"),
        format!("/studio/compare?a={run}&b={run}"),
    ];
    for view in &views {
        served.with_key(Some(&key("observe")));
        let hidden = served.get(view).await.is(200);
        assert!(!hidden.body.contains(SECRET), "{view}: {}", hidden.body);
    }
    served.with_key(Some(&key("default")));
    let shown = served.get(&views[0]).await.is(200);
    assert!(shown.body.contains(SECRET), "{}", shown.body);
}
