//! Flows to serve.

use crate::folder::Folder;
use crate::json::values;
use crate::scripted::Server;
use crate::scripted::host::HostScript;

/// Repeats the request's text, `prefix` before it; texts that begin with `fail` make its code fail.
pub(crate) fn echo(prefix: &str) -> String {
    format!(
        r#"version: "1.0"
metadata:
  name: echo
context:
  requires: [query]
  optional: [user]
nodes:
  say:
    type: transform
    inputs:
      - {{name: query, type: string}}
    outputs:
      - {{name: reply, type: string}}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            if inputs["query"].startswith("fail"):
                raise ValueError("asked to fail")
            return {{"reply": "{prefix}" + inputs["query"] + str(context.get("user", ""))}}
    runtime: {{retries: 0}}
edges:
  - {{from: _input.query, to: say.query}}
  - {{from: say.reply, to: _output.reply}}
deployment:
  target: local
  context:
    user: {{header: X-User}}
"#
    )
}

/// Asks a person before it answers with `word`.
pub(crate) fn careful(word: &str) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: careful}}
context: {{requires: [amount]}}
nodes:
  ask:
    type: transform
    inputs: [{{name: amount, type: number}}]
    outputs: [{{name: amount, type: number}}]
    transform:
      mode: declarative
      spec: {{op: human.approve, args: {{message: "Pay ${{amount}}?"}}}}
  pay:
    type: transform
    inputs: [{{name: amount, type: number}}]
    outputs: [{{name: paid, type: string}}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {{"paid": "{word} " + str(inputs["amount"])}}
edges:
  - {{from: _input.amount, to: ask.amount}}
  - {{from: ask.amount, to: pay.amount}}
  - {{from: pay.paid, to: _output.paid}}
"#
    )
}

/// Calls a host on this machine.
pub(crate) fn caller(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: caller}}
context: {{requires: [page]}}
nodes:
  fetch:
    type: transform
    inputs: [{{name: page, type: string}}]
    outputs: [{{name: reply, type: object}}]
    transform:
      mode: declarative
      spec:
        op: http.get
        args: {{url: "http://127.0.0.1:{port}/${{page}}"}}
    runtime: {{timeout_ms: 3000, retries: 0}}
edges:
  - {{from: _input.page, to: fetch.page}}
  - {{from: fetch.reply, to: _output.reply}}
"#
    )
}

/// A project of `acme` with the first two flows.
pub(crate) fn project() -> Folder {
    let folder = Folder::new();
    folder.write(
        "stave.toml",
        "[project]\ntenant = \"acme\"\nrepo = \"shop\"\n[http]\nallow = [\"127.0.0.1\"]\n",
    );
    folder.write("flows/echo.yaml", echo(""));
    folder.write("flows/careful.yaml", careful("paid"));
    folder
}

/// The same with `caller`, and a host for it that answers `/slow` after a while.
pub(crate) async fn slow_project(delay_ms: u32) -> (Folder, Server) {
    let page = format!(
        r#"[{{"method": "GET", "path": "/slow", "delay_ms": {delay_ms}, "json": {{"ok": true}}, "times": 9999}}]"#
    );
    let server = HostScript::new(&values(&page)).serve().await;
    let folder = project();
    folder.write("flows/caller.yaml", caller(server.port));
    (folder, server)
}
