//! Secrets reach the side that needs them, and nothing else.

use std::sync::Arc;

use super::sample::{LOOPBACK, asker};
use crate::folder::Folder;
use crate::json::values;
use crate::process::{Finished, stave};
use crate::scripted::host::HostScript;
use crate::scripted::model::ModelScript;

const KEY: &str = "sk-live-4d1c9a7b2e8f";

/// A project whose models are on this machine.
const MODELS: &str = "[models]\nhosts = [\"127.0.0.1\"]\n";

/// A project that may call this machine and send it a secret.
const ITEMS: &str = "[http]\nallow = [\"127.0.0.1\"]\n[secrets.ITEMS_TOKEN]\nhosts = [\"127.0.0.1\"]\n";

/// Neither the streams nor any file below the folder has the key.
#[track_caller]
fn assert_hidden(folder: &Folder, finished: &Finished) {
    assert!(!finished.stdout.contains(KEY), "stdout has the key\n{finished}");
    assert!(!finished.stderr.contains(KEY), "stderr has the key\n{finished}");
    for (path, bytes) in folder.files() {
        let found = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!found, "{} has the key", path.display());
    }
}

/// Keeps the question and what a model said to it in the session's state.
fn remembering(port: u16) -> String {
    let keep = "  keep:\n    type: transform\n    inputs: [{name: a, type: string}]\n    outputs: [{name: a, type: string}]\n    \
                state: {scope: session}\n    transform:\n      mode: code\n      spec: |\n        \
                def transform(inputs, context, state):\n            await state.set('last', inputs['a'])\n            \
                return {'a': inputs['a']}\nedges:\n";
    asker(port).replace("requires: [q]", "requires: [q, session_id]").replace("edges:\n", keep).replace(
        "{from: ask.a, to: _output.a}",
        "{from: ask.a, to: keep.a}\n  - {from: keep.a, to: _output.a}",
    )
}

#[tokio::test]
async fn the_key_of_a_model_reaches_the_model_only() {
    let model = ModelScript::new(&values(r#"[{"content": "Because."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", MODELS);
    folder.write("flow.yaml", remembering(server.port));
    folder.write("request.json", r#"{"q": "Why?", "session_id": "s1"}"#);
    let arguments =
        ["run", "flow.yaml", "--input", "request.json", "--state-dir", "state", "--record", "recording.yaml"];
    let finished = stave(&folder, arguments).env("OPENAI_API_KEY", KEY).finish().await.exits(0);
    let sent = model.log.lock().calls[0].headers["authorization"].to_str().unwrap().to_owned();
    assert_eq!(sent, format!("Bearer {KEY}"));
    assert!(folder.has("state") && folder.has("recording.yaml"));
    assert_hidden(&folder, &finished);
}

#[tokio::test]
async fn a_key_that_stands_in_a_prompt_is_taken_out_of_the_recording() {
    let model = ModelScript::new(&values(r#"[{"content": "Keep it to yourself."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", asker(server.port));
    let request = format!(r#"{{"q": "Is {KEY} a good key?"}}"#);
    // A request that holds a key is data, which a durable run has to keep; this one keeps nothing.
    let arguments = ["run", "flow.yaml", "--ephemeral", "--input", "-", "--record", "recording.yaml"];
    let finished =
        stave(&folder, arguments).env("OPENAI_API_KEY", KEY).input(&request).finish().await.exits(0);
    assert!(folder.read("recording.yaml").contains("Is [secret] a good key?"));
    assert_hidden(&folder, &finished);
    let replayed = ["run", "flow.yaml", "--input", "-", "--replay", "recording.yaml"];
    stave(&folder, replayed).env("OPENAI_API_KEY", KEY).input(&request).finish().await.exits(0);
}

#[tokio::test]
async fn a_key_that_a_failing_model_repeats_is_not_shown() {
    let reply = format!(r#"{{"status": 401, "message": "Incorrect API key provided: {KEY}."}}"#);
    let model = ModelScript::new(&values(&format!("[{reply}, {reply}]")));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", asker(server.port));
    for json in [&[][..], &["--json"]] {
        let arguments = ["run", "flow.yaml", "--input", "-"].into_iter().chain(json.iter().copied());
        let call = stave(&folder, arguments).env("OPENAI_API_KEY", KEY).input(r#"{"q": "Why?"}"#);
        let finished = call.finish().await.exits(1);
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(said.contains("Incorrect API key provided"), "the rest of the message is shown\n{finished}");
        assert_hidden(&folder, &finished);
    }
}

/// Sends a secret in a header to the host at a port.
fn fetcher(port: u16) -> String {
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
"#
    )
}

/// The host that [`fetcher`] asks, which wants the key.
fn items() -> Arc<HostScript> {
    let entry = format!(
        r#"[{{"method": "GET", "path": "/items/a", "json": {{"price": 3}}, "expect_headers": {{"Authorization": "Bearer {KEY}"}}}}]"#
    );
    HostScript::new(&values(&entry))
}

#[tokio::test]
async fn a_secret_in_a_header_reaches_its_host_only() {
    let host = items();
    let server = host.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", ITEMS);
    folder.write("flow.yaml", fetcher(server.port));
    let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).env("ITEMS_TOKEN", KEY);
    let finished = call.input(r#"{"id": "a"}"#).finish().await.exits(0);
    assert_eq!(host.log.lock().problems, [] as [String; 0]);
    assert_hidden(&folder, &finished);
}

#[tokio::test]
async fn a_secret_comes_from_a_file_when_the_environment_does_not_have_it() {
    let host = items();
    let server = host.serve().await;
    let (folder, mounted) = (Folder::new(), Folder::new());
    let settings = format!("{ITEMS}[secrets]\nfolder = \"{}\"\n", mounted.path().display());
    folder.write("stave.toml", settings);
    folder.write("flow.yaml", fetcher(server.port));
    let run = async || {
        let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).without_env("ITEMS_TOKEN");
        call.input(r#"{"id": "a"}"#).finish().await
    };
    let missing = run().await.exits(1);
    assert_eq!(missing.json().pointer("/error/code"), Some(&"secret-missing".into()), "{missing}");
    mounted.write("ITEMS_TOKEN", format!("{KEY}\n"));
    let finished = run().await.exits(0);
    assert_eq!(host.log.lock().problems, [] as [String; 0]);
    assert_hidden(&folder, &finished);
}

#[tokio::test]
async fn a_secret_that_a_failing_host_repeats_is_not_shown() {
    let entries = format!(
        r#"[{{"method": "GET", "path": "/items/a", "status": 403, "text": "the token {KEY} is not welcome", "times": 2}}]"#
    );
    let host = HostScript::new(&values(&entries));
    let server = host.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", ITEMS);
    folder.write("flow.yaml", fetcher(server.port));
    for json in [&[][..], &["--json"]] {
        let arguments = ["run", "flow.yaml", "--input", "-"].into_iter().chain(json.iter().copied());
        let call = stave(&folder, arguments).env("ITEMS_TOKEN", KEY).input(r#"{"id": "a"}"#);
        assert_hidden(&folder, &call.finish().await.exits(1));
    }
    assert_eq!(host.log.lock().calls.len(), 2);
}

#[tokio::test]
async fn a_model_is_asked_only_at_a_host_that_the_project_names() {
    let model = ModelScript::new(&values(r#"[{"content": "Because."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write(
        "flow.yaml",
        asker(server.port)
            .replace(&server.port.to_string(), "${context.port}")
            .replace("requires: [q]", "requires: [q, port]"),
    );
    let request = format!(r#"{{"q": "Why?", "port": {}}}"#, server.port);
    let run = async |settings: &str| {
        folder.write("stave.toml", settings);
        let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).env("OPENAI_API_KEY", KEY);
        call.input(&request).finish().await
    };
    let refused = run("[models]\nhosts = [\"models.example\"]\n").await.exits(3);
    assert_eq!(refused.json().pointer("/error/code"), Some(&"host-not-allowed".into()), "{refused}");
    assert!(refused.stdout.contains("[models] hosts"), "{refused}");
    assert_eq!(model.log.lock().calls.len(), 0, "nobody was asked");
    run("[models]\nhosts = [\"127.0.0.1\"]\n").await.exits(0);
    let sent = model.log.lock().calls[0].headers["authorization"].to_str().unwrap().to_owned();
    assert_eq!(
        sent,
        format!("Bearer {KEY}"),
        "the placeholder in the endpoint was filled, and the key went along"
    );
}

#[tokio::test]
async fn a_secret_is_sent_only_when_it_is_listed_and_only_to_its_hosts() {
    let folder = Folder::new();
    // Any public host may be called without a list, but none receives a secret.
    folder.write("flow.yaml", fetcher(80).replace("127.0.0.1:80", "items.example"));
    let other = "[http]\nallow = [\"items.example\"]\n[secrets.ITEMS_TOKEN]\nhosts = [\"other.example\"]\n";
    for (settings, words) in [
        ("", "secret `ITEMS_TOKEN` is not listed in the project"),
        ("[http]\nallow = [\"items.example\"]\n", "secret `ITEMS_TOKEN` is not listed in the project"),
        ("[secrets.OTHER]\nhosts = [\"items.example\"]\n", "is not listed in the project"),
        (other, "secret `ITEMS_TOKEN` is not listed for host `items.example`"),
    ] {
        folder.write("stave.toml", settings);
        let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).env("ITEMS_TOKEN", KEY);
        let refused = call.input(r#"{"id": "a"}"#).finish().await.exits(3);
        assert_eq!(refused.json().pointer("/error/code"), Some(&"unlisted-secret".into()), "{refused}");
        assert!(refused.stdout.contains(words), "{words}: {refused}");
        assert_hidden(&folder, &refused);
        // The check says the same, at the place.
        let checked = stave(&folder, ["check", "--format", "json", "flow.yaml"]).finish().await.exits(2);
        assert!(checked.stdout.contains(words), "{words}: {checked}");
    }
    folder.write("stave.toml", "[secrets.ITEMS_TOKEN]\nhosts = [\"items.example\"]\n");
    let checked = stave(&folder, ["check", "--format", "json", "flow.yaml"]).finish().await.exits(0);
    assert!(!checked.stdout.contains("ITEMS_TOKEN"), "{checked}");
}

#[tokio::test]
async fn a_host_that_requests_may_go_to_does_not_receive_the_key_of_a_model() {
    let model = ModelScript::new(&values(r#"[{"content": "Because."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", asker(server.port));
    let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).env("OPENAI_API_KEY", KEY);
    call.input(r#"{"q": "Why?"}"#).finish().await.exits(0);
    assert!(!model.log.lock().calls[0].headers.contains_key("authorization"), "the key was sent");
}

#[tokio::test]
async fn a_secret_in_a_refused_address_is_not_told() {
    let folder = Folder::new();
    let host = "${secrets.ITEMS_TOKEN}.example";
    folder.write("asker.yaml", asker(80).replace("127.0.0.1:80", host));
    // A flow may have no secret in a URL; a document that somebody wrote by hand may.
    folder.write("fetcher.yaml", fetcher(80));
    stave(&folder, ["compile", "fetcher.yaml", "--out", "out"]).finish().await.exits(0);
    let document = folder.read("out/flows/fetcher.ir.json");
    folder.write("fetcher.ir.json", document.replace("127.0.0.1:80", host));
    let everywhere = "[secrets.ITEMS_TOKEN]\nhosts = [\"127.0.0.1\"]\n";
    for settings in ["", LOOPBACK, everywhere] {
        folder.write("stave.toml", settings);
        for (file, request) in [("asker.yaml", r#"{"q": "Why?"}"#), ("fetcher.ir.json", r#"{"id": "a"}"#)] {
            let call = stave(&folder, ["run", file, "--input", "-", "--json"]).env("ITEMS_TOKEN", KEY);
            let refused = call.input(request).finish().await.exits(3);
            let code = refused.json().pointer("/error/code").cloned();
            let expected = if settings == everywhere && file == "asker.yaml" {
                "host-not-allowed"
            } else {
                "unlisted-secret"
            };
            assert_eq!(code, Some(expected.into()), "{refused}");
            assert_hidden(&folder, &refused);
        }
    }
}

#[tokio::test]
async fn a_port_in_a_list_of_hosts_has_to_match_in_check_and_run() {
    let host = HostScript::new(&values(
        r#"[{"method": "GET", "path": "/items/a", "json": {"id": "a"}, "times": 9}]"#,
    ));
    let server = host.serve().await;
    let folder = Folder::new();
    folder.write("flow.yaml", fetcher(server.port));
    let here = format!("127.0.0.1:{}", server.port);
    let settings = |allow: &str, hosts: &str| {
        format!("[http]\nallow = [\"{allow}\"]\n[secrets.ITEMS_TOKEN]\nhosts = [\"{hosts}\"]\n")
    };
    for (allow, hosts, code) in [
        ("127.0.0.1", "127.0.0.1:1", "unlisted-secret"),
        (here.as_str(), "127.0.0.1:1", "unlisted-secret"),
        ("127.0.0.1:1", here.as_str(), "host-not-allowed"),
    ] {
        folder.write("stave.toml", settings(allow, hosts));
        let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).env("ITEMS_TOKEN", KEY);
        let refused = call.input(r#"{"id": "a"}"#).finish().await.exits(3);
        assert_eq!(refused.json().pointer("/error/code"), Some(&code.into()), "{refused}");
        assert!(refused.stdout.contains(&here), "the message names the port: {refused}");
        let checked = stave(&folder, ["check", "--format", "json", "flow.yaml"]).finish().await.exits(2);
        assert!(checked.stdout.contains(code) && checked.stdout.contains(&here), "{checked}");
    }
    assert_eq!(host.log.lock().calls.len(), 0, "nothing was sent");
    for (allow, hosts) in [(here.as_str(), here.as_str()), ("127.0.0.1", here.as_str())] {
        folder.write("stave.toml", settings(allow, hosts));
        let checked = stave(&folder, ["check", "--format", "json", "flow.yaml"]).finish().await.exits(0);
        assert!(!checked.stdout.contains("127.0.0.1"), "{checked}");
        let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).env("ITEMS_TOKEN", KEY);
        call.input(r#"{"id": "a"}"#).finish().await.exits(0);
    }
    for entry in ["http://127.0.0.1", "127.0.0.1:99999", "*.example.com"] {
        folder.write("stave.toml", settings(entry, "127.0.0.1"));
        let checked = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
        assert!(
            checked.stdout.contains("bad-project-value") || checked.stderr.contains("bad-project-value"),
            "{checked}"
        );
    }
}

#[tokio::test]
async fn a_port_in_the_hosts_of_models_has_to_match() {
    let model = ModelScript::new(&values(r#"[{"content": "Because."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("flow.yaml", asker(server.port));
    let run = async |port: u16| {
        folder.write("stave.toml", format!("[models]\nhosts = [\"127.0.0.1:{port}\"]\n"));
        let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).env("OPENAI_API_KEY", KEY);
        call.input(r#"{"q": "Why?"}"#).finish().await
    };
    let refused = run(1).await.exits(3);
    assert_eq!(refused.json().pointer("/error/code"), Some(&"host-not-allowed".into()), "{refused}");
    assert_eq!(model.log.lock().calls.len(), 0, "nobody was asked");
    run(server.port).await.exits(0);
    assert!(
        model.log.lock().calls[0].headers.contains_key("authorization"),
        "the key goes to the listed port"
    );
}
