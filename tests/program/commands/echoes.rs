//! What a host repeats of a request's secrets goes nowhere, and a request goes where its author wrote.

use std::sync::{Arc, Mutex};

use super::sample::asker;
use crate::folder::Folder;
use crate::process::{Finished, stave};
use crate::scripted::{Call, Reply, Server, serve};

const KEY: &str = "tok-4711-zyxw-9876-abcd";

/// A project that sends the secret and the provider's key to this machine.
const PROJECT: &str = "[http]\nallow = [\"127.0.0.1\"]\n[models]\nhosts = [\"127.0.0.1\"]\n\
    [secrets.ITEMS_TOKEN]\nhosts = [\"127.0.0.1\"]\n";

/// Sends a secret in two headers and hands everything on that the host says.
fn fetcher(address: &str, headers: &str) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: fetcher}}
context: {{requires: [id]}}
nodes:
  fetch:
    type: transform
    inputs: [{{name: id, type: string}}]
    outputs: [{{name: status, type: number}}, {{name: headers, type: object}}, {{name: body, type: object}}]
    transform:
      mode: declarative
      spec:
        op: http.get
        args:
          url: "{address}"
          headers: {headers}
    runtime: {{retries: 0}}
edges:
  - {{from: _input.id, to: fetch.id}}
  - {{from: fetch.status, to: _output.status}}
  - {{from: fetch.headers, to: _output.headers}}
  - {{from: fetch.body, to: _output.body}}
"#
    )
}

const WITH_KEY: &str =
    r#"{Authorization: "Bearer ${secrets.ITEMS_TOKEN}", X-Api-Key: "${secrets.ITEMS_TOKEN}"}"#;

async fn run(folder: &Folder, id: &str) -> Finished {
    let request = stave_canon::Value::from_iter([("id", stave_canon::Value::from(id))]).to_string();
    let arguments = ["run", "flow.yaml", "--input", "-", "--state-dir", "state"];
    stave(folder, arguments).env("ITEMS_TOKEN", KEY).env("OPENAI_API_KEY", KEY).input(&request).finish().await
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = char::from(DIGITS[(bits >> (18 - 6 * place) & 63) as usize]);
            encoded.push(if place <= group.len() { digit } else { '=' });
        }
    }
    encoded
}

/// The ways in which a host may say what it was sent.
fn forms() -> Vec<String> {
    let reversed: String = KEY.chars().rev().collect();
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
    vec![
        KEY.to_owned(),
        format!("Bearer {KEY}"),
        base64(KEY),
        base64(&format!("Bearer {KEY}")),
        reversed,
        hex,
        percent,
    ]
}

/// Neither the streams nor any file below the folder has a part of a form that could be used.
#[track_caller]
fn assert_nowhere(folder: &Folder, finished: &Finished, form: &str) {
    let part = &form.as_bytes()[form.len() / 3..form.len() - 4];
    let has = |bytes: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(!has(finished.stdout.as_bytes()), "stdout has {form}\n{finished}");
    assert!(!has(finished.stderr.as_bytes()), "stderr has {form}\n{finished}");
    for (path, bytes) in folder.files() {
        assert!(!has(&bytes), "{} has {form}", path.display());
    }
}

#[tokio::test]
async fn a_host_that_repeats_a_secret_is_not_quoted() {
    for status in [200, 500] {
        for form in forms() {
            let said = form.clone();
            let server = serve(move |_| {
                let body = format!(r#"{{"said": "you sent {said}", "{said}": ["{said}"]}}"#);
                let reply = Reply::json(status, body).header("x-echo", said.clone());
                async move { reply }
            })
            .await;
            let folder = Folder::new();
            folder.write("stave.toml", PROJECT);
            folder
                .write("flow.yaml", fetcher(&format!("http://127.0.0.1:{}/${{id}}", server.port), WITH_KEY));
            let finished = run(&folder, "a").await.exits(i32::from(status != 200));
            assert!(status != 200 || finished.stdout.contains("[secret]"), "{finished}");
            assert_nowhere(&folder, &finished, &form);
        }
    }
}

#[tokio::test]
async fn a_model_that_repeats_its_key_is_not_quoted() {
    for form in forms() {
        let said = form.clone();
        let server = serve(move |_| {
            let body = format!(
                r#"{{"id": "x", "object": "chat.completion", "model": "m", "choices": [{{"index": 0, "finish_reason": "stop",
                    "message": {{"role": "assistant", "content": "your key is {said}"}}}}]}}"#
            );
            async move { Reply::json(200, body) }
        })
        .await;
        let folder = Folder::new();
        folder.write("stave.toml", PROJECT);
        folder.write("flow.yaml", asker(server.port));
        let arguments = ["run", "flow.yaml", "--input", "-", "--state-dir", "state"];
        let call = stave(&folder, arguments).env("OPENAI_API_KEY", KEY).input(r#"{"q": "Which key?"}"#);
        let finished = call.finish().await.exits(0);
        assert!(finished.stdout.contains("[secret]"), "{finished}");
        assert_nowhere(&folder, &finished, &form);
    }
}

type Calls = Arc<Mutex<Vec<Call>>>;

/// A host that answers and remembers who asked.
async fn listener() -> (Server, Calls) {
    let calls = Calls::default();
    let kept = Arc::clone(&calls);
    let server = serve(move |call| {
        kept.lock().unwrap().push(call);
        async { Reply::json(200, r#"{"ok": true}"#) }
    })
    .await;
    (server, calls)
}

async fn redirecting(location: String) -> Server {
    serve(move |call: Call| {
        let reply = if call.address.path() == "/here" {
            Reply::json(200, r#"{"ok": true}"#)
        } else {
            Reply::text(307, "text/plain", "").header("location", location.clone())
        };
        async move { reply }
    })
    .await
}

#[tokio::test]
async fn a_redirect_to_another_port_carries_no_secret() {
    let (other, calls) = listener().await;
    let server = redirecting(format!("http://127.0.0.1:{}/there", other.port)).await;
    let folder = Folder::new();
    folder.write("stave.toml", PROJECT);
    let headers = r#"{Authorization: "Bearer ${secrets.ITEMS_TOKEN}", X-Api-Key: "${secrets.ITEMS_TOKEN}", Cookie: "a=${id}", Accept: application/json}"#;
    folder.write("flow.yaml", fetcher(&format!("http://127.0.0.1:{}/first", server.port), headers));
    run(&folder, "a").await.exits(0);
    let calls = calls.lock().unwrap().clone();
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!(call.headers["accept"], "application/json");
    for name in ["authorization", "x-api-key", "cookie", "referer"] {
        assert!(!call.headers.contains_key(name), "{name}");
    }
    // At the same origin the headers stay.
    let server = redirecting("/here".to_owned()).await;
    folder.write("flow.yaml", fetcher(&format!("http://127.0.0.1:{}/first", server.port), WITH_KEY));
    run(&folder, "a").await.exits(0);
}

#[tokio::test]
async fn a_redirect_that_names_a_secret_or_another_host_is_not_followed() {
    let (other, calls) = listener().await;
    for form in forms() {
        let form = form.replace(' ', "%20");
        let server = redirecting(format!("http://127.0.0.1:{}/there?x={form}", other.port)).await;
        let folder = Folder::new();
        folder.write("stave.toml", PROJECT);
        folder.write("flow.yaml", fetcher(&format!("http://127.0.0.1:{}/first", server.port), WITH_KEY));
        let finished = run(&folder, "a").await.exits(1);
        assert_nowhere(&folder, &finished, &form);
    }
    let server = redirecting(format!("http://localhost:{}/there", other.port)).await;
    let folder = Folder::new();
    folder.write("stave.toml", PROJECT.replace("allow = [", "allow = [\"localhost\", "));
    folder.write("flow.yaml", fetcher(&format!("http://127.0.0.1:{}/first", server.port), WITH_KEY));
    run(&folder, "a").await.exits(1);
    assert!(calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_value_in_an_address_is_one_segment_or_one_component() {
    let (server, calls) = listener().await;
    let folder = Folder::new();
    folder.write("stave.toml", PROJECT);
    let address = format!("http://127.0.0.1:{}/customers/${{id}}/orders?of=${{id}}&n=1", server.port);
    folder.write("flow.yaml", fetcher(&address, WITH_KEY));
    for (id, wanted) in [
        ("../plant?", "/customers/..%2Fplant%3F/orders?of=..%2Fplant%3F&n=1"),
        ("7&n=2#x", "/customers/7%26n%3D2%23x/orders?of=7%26n%3D2%23x&n=1"),
        ("@localhost:1/", "/customers/%40localhost%3A1%2F/orders?of=%40localhost%3A1%2F&n=1"),
    ] {
        run(&folder, id).await.exits(0);
        assert_eq!(calls.lock().unwrap().pop().unwrap().address.to_string(), wanted);
    }
    for id in ["..", "."] {
        let finished = run(&folder, id).await.exits(1);
        assert!(finished.stderr.contains("segment of dots"), "{finished}");
    }
    folder.write("flow.yaml", fetcher(&format!("http://127.0.0.1:{}${{id}}", server.port), WITH_KEY));
    for id in ["@localhost/", "1", "/x"] {
        run(&folder, id).await.exits(1);
    }
    assert!(calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn headers_of_the_connection_are_the_clients() {
    let (server, calls) = listener().await;
    let folder = Folder::new();
    folder.write("stave.toml", PROJECT);
    let address = format!("http://127.0.0.1:{}/", server.port);
    for name in ["Host", "content-length", "Transfer-Encoding", "Connection", "TE", "Upgrade", "Expect"] {
        folder.write("flow.yaml", fetcher(&address, &format!("{{{name}: \"1\"}}")));
        let finished = run(&folder, "a").await.exits(2);
        assert!(finished.stderr.contains("bad-header"), "{finished}");
        // A name that only the run knows.
        let dynamic = fetcher(&address, r#""${all}""#)
            .replace(
                "inputs: [{name: id, type: string}]",
                "inputs: [{name: id, type: string}, {name: all, type: object}]",
            )
            .replace("requires: [id]", "requires: [id, all]")
            .replace("edges:\n", "edges:\n  - {from: _input.all, to: fetch.all}\n");
        folder.write("flow.yaml", dynamic);
        let request = format!(r#"{{"id": "a", "all": {{"{name}": "1"}}}}"#);
        let arguments = ["run", "flow.yaml", "--input", "-", "--ephemeral"];
        let finished = stave(&folder, arguments).input(&request).finish().await.exits(1);
        assert!(finished.stderr.contains("only the client itself sets"), "{finished}");
        let request = r#"{"id": "a", "all": {"X-Note": "a\r\nHost: b"}}"#;
        stave(&folder, arguments).input(request).finish().await.exits(1);
    }
    assert!(calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_address_that_parsers_read_leniently_is_refused() {
    let folder = Folder::new();
    folder.write("stave.toml", PROJECT);
    for address in ["http:/127.0.0.1:7801/echo?x=://localhost/", "http:127.0.0.1/", "127.0.0.1/x"] {
        folder.write("flow.yaml", fetcher(address, "{}"));
        let finished = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
        assert!(finished.stderr.contains("bad-address"), "{finished}");
    }
}
