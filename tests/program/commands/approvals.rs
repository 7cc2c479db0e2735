//! Decisions of people: each belongs to one question, in one execution, about the values that were shown.

use stave_canon::Value;

use super::sample::{LOOPBACK, with_tool};
use crate::folder::Folder;
use crate::json::{items, text, values};
use crate::process::stave;
use crate::scripted::host::HostScript;
use crate::scripted::model::ModelScript;

const RUN: [&str; 5] = ["run", "flow.yaml", "--input", "request.json", "--json"];

fn project(flow: &str, request: &str) -> Folder {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", flow);
    folder.write("request.json", request);
    folder
}

async fn shown(folder: &Folder, run: &str) -> Value {
    stave(folder, ["runs", "show", run, "--json"]).finish().await.exits(0).json()
}

/// The executions that ask, as people name them.
async fn asking(folder: &Folder, run: &str) -> Vec<String> {
    let shown = shown(folder, run).await;
    items(&shown, "asks").iter().map(|asked| text(asked, "node").unwrap().to_owned()).collect()
}

const ASKS: &str = "    outputs: [{name: q, type: string}]\n    \
    transform: {mode: declarative, spec: {op: human.approve, args: {message: \"May I do ${q}?\"}}}";

#[tokio::test]
async fn a_tool_that_asks_a_person_stops_the_model_until_there_is_a_decision() {
    for deny in [false, true] {
        let model = ModelScript::new(&values(
            r#"[{"tool_calls": [{"name": "look", "arguments": {"q": "pay"}}]}, {"content": "done"}]"#,
        ));
        let server = model.serve().await;
        let folder = project(&with_tool(server.port, ASKS), r#"{"q": "go"}"#);
        let waiting = stave(&folder, RUN).finish().await.exits(1).json();
        assert_eq!(waiting.pointer("/error/kind").and_then(Value::as_str), Some("waiting"), "{waiting}");
        assert_eq!(waiting.pointer("/error/node").and_then(Value::as_str), Some("ask[1].look"), "{waiting}");
        assert_eq!(
            waiting.pointer("/nodes/look/status").and_then(Value::as_str),
            Some("waiting"),
            "{waiting}"
        );
        assert_eq!(model.log.lock().calls.len(), 1, "the model hears nothing before the decision");
        let run = text(&waiting, "run_id").unwrap();
        let told = stave(&folder, ["runs", "show", run]).finish().await.exits(0);
        assert!(told.stdout.contains("May I do pay?"), "{told}");
        stave(&folder, ["runs", "resume", run]).finish().await.exits(1);
        assert_eq!(asking(&folder, run).await, ["ask[1].look"]);
        let mut arguments = vec!["runs", "approve", run, "ask[1].look", "--json"];
        if deny {
            arguments.push("--deny");
        }
        let done = stave(&folder, arguments).finish().await.exits(0).json();
        assert_eq!(done.pointer("/output/a").and_then(Value::as_str), Some("done"), "{done}");
        let calls = &model.log.lock().calls;
        assert_eq!(calls.len(), 2, "no turn was paid twice");
        let second = String::from_utf8_lossy(&calls.last().unwrap().body).into_owned();
        assert_eq!(second.contains("a person denied it"), deny, "{second}");
        assert!(!second.contains("waits for a decision"), "{second}");
    }
}

const BATCH: &str = r#"version: "1.0"
metadata: {name: batch}
context: {requires: [amounts]}
nodes:
  agree:
    type: transform
    inputs: [{name: amount, type: number}]
    outputs: [{name: amount, type: number}]
    transform: {mode: declarative, spec: {op: human.approve, args: {message: "Pay ${amount}?"}}}
  all:
    type: transform
    inputs: [{name: amounts, type: array}]
    outputs: [{name: results, type: array}, {name: errors, type: array}]
    transform: {mode: declarative, spec: {op: transform.each, args: {input: "${amounts}", node: agree}}}
edges:
  - {from: _input.amounts, to: all.amounts}
  - {from: all.results, to: _output.results}
  - {from: all.errors, to: _output.errors}
"#;

#[tokio::test]
async fn every_item_of_a_list_is_asked_about_and_decided_by_itself() {
    let folder = project(BATCH, r#"{"amounts": [5, 6, 7]}"#);
    let waiting = stave(&folder, RUN).finish().await.exits(1).json();
    let run = text(&waiting, "run_id").unwrap();
    assert_eq!(asking(&folder, run).await, ["all[0].agree", "all[1].agree", "all[2].agree"]);
    for wrong in ["agree", "all", "all[3].agree", "all[0].all"] {
        stave(&folder, ["runs", "approve", run, wrong]).finish().await.exits(2);
    }
    stave(&folder, ["runs", "approve", run, "all[2].agree"]).finish().await.exits(0);
    assert_eq!(asking(&folder, run).await, ["all[0].agree", "all[1].agree"]);
    stave(&folder, ["runs", "approve", run, "all[0].agree", "--deny"]).finish().await.exits(0);
    let done =
        stave(&folder, ["runs", "approve", run, "all[1].agree", "--json"]).finish().await.exits(0).json();
    assert_eq!(done.pointer("/output/results").unwrap().to_string(), "[6,7]", "{done}");
    let error = done.pointer("/output/errors/0").unwrap();
    assert_eq!(error.get("index").and_then(Value::as_i64), Some(0), "{done}");
    assert_eq!(text(error, "kind"), Some("denied"), "{done}");
    let reason = done.pointer("/nodes/all/reason").and_then(Value::as_str);
    assert_eq!(reason, Some("1 of 3 items failed: 0"), "{done}");
}

#[tokio::test]
async fn a_test_decides_about_each_item_of_a_list() {
    let test = |decisions: &str, expected: &str| {
        format!(
            "{BATCH}tests:\n  - name: decides\n    request: {{amounts: [5, 6, 7]}}\n    decisions: {decisions}\n    \
             expect: {{contains: {{results: {expected}}}}}\n"
        )
    };
    let folder = project(BATCH, "{}");
    for (decisions, expected) in [
        ("{agree: approve}", "[5, 6, 7]"),
        ("{agree: approve, \"all[1].agree\": deny}", "[5, 7]"),
        ("{agree: deny, \"all[2].agree\": approve}", "[7]"),
    ] {
        folder.write("flow.yaml", test(decisions, expected));
        stave(&folder, ["check", "flow.yaml"]).finish().await.exits(0);
        stave(&folder, ["test", "flow.yaml"]).finish().await.exits(0);
    }
    for wrong in ["all[0].none", "all[x].agree", "all[0].all", "none"] {
        folder.write("flow.yaml", test(&format!("{{\"{wrong}\": deny}}"), "[]"));
        let checked = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
        assert!(checked.stderr.contains("bad-test"), "{wrong}: {checked}");
    }
}

/// Two people agree, one after the other, and then something is paid and told.
fn payment(port: u16) -> String {
    let approval = |name: &str| {
        format!(
            "  {name}:\n    type: transform\n    inputs: [{{name: amount, type: number}}]\n    \
             outputs: [{{name: amount, type: number}}]\n    transform:\n      mode: declarative\n      \
             spec: {{op: human.approve, args: {{message: \"Pay ${{amount}}?\"}}}}\n"
        )
    };
    let post = |name: &str, kind: &str| {
        format!(
            "  {name}:\n    type: transform\n    inputs: [{{name: v, type: {kind}}}]\n    \
             outputs: [{{name: r, type: object}}]\n    runtime: {{retries: 0}}\n    transform:\n      \
             mode: declarative\n      spec: {{op: http.post, args: {{url: \"http://127.0.0.1:{port}/{name}\"}}}}\n"
        )
    };
    format!(
        "version: \"1.0\"\nmetadata: {{name: payment}}\ncontext: {{requires: [amount]}}\nnodes:\n{}{}{}{}edges:\n  \
         - {{from: _input.amount, to: first.amount}}\n  - {{from: first.amount, to: second.amount}}\n  \
         - {{from: second.amount, to: pay.v}}\n  - {{from: pay.r, to: tell.v}}\n  - {{from: tell.r, to: _output}}\n",
        approval("first"),
        approval("second"),
        post("pay", "number"),
        post("tell", "object"),
    )
}

#[tokio::test]
async fn nothing_is_decided_before_it_is_asked_or_about_another_question() {
    let script = HostScript::new(&values(r#"[{"method": "POST", "path": "/pay", "json": {}, "times": 9}]"#));
    let server = script.serve().await;
    let folder = project(&payment(server.port), r#"{"amount": 12}"#);
    let waiting = stave(&folder, RUN).finish().await.exits(1).json();
    let run = text(&waiting, "run_id").unwrap();
    let early = stave(&folder, ["runs", "approve", run, "second"]).finish().await.exits(2);
    assert!(early.stderr.contains("does not ask"), "{early}");
    let other = ["runs", "approve", run, "first", "--digest", "0000"];
    let other = stave(&folder, other).finish().await.exits(2);
    assert!(other.stderr.contains("digest"), "{other}");
    let digest = async |run: &str| {
        let shown = shown(&folder, run).await;
        text(items(&shown, "asks").first().unwrap(), "digest").unwrap().to_owned()
    };
    let first = digest(run).await;
    stave(&folder, ["runs", "approve", run, "first", "--digest", &first]).finish().await.exits(0);
    // The question of another run about the same amount is another question.
    let twin = stave(&folder, RUN).finish().await.exits(1).json();
    let twin = text(&twin, "run_id").unwrap();
    assert_ne!(digest(twin).await, first);
    stave(&folder, ["runs", "approve", twin, "first", "--digest", &first]).finish().await.exits(2);
    assert_eq!(script.log.lock().calls.len(), 0);
}

#[tokio::test]
async fn a_replay_asks_again_before_an_effect_and_repeats_no_other() {
    let script = HostScript::new(&values(
        r#"[{"method": "POST", "path": "/pay", "json": {}, "times": 9},
            {"method": "POST", "path": "/tell", "status": 500, "json": {}, "times": 9}]"#,
    ));
    let server = script.serve().await;
    let folder = project(&payment(server.port), r#"{"amount": 12}"#);
    let paid = || script.log.lock().calls.iter().filter(|call| call.address.path() == "/pay").count();
    let waiting = stave(&folder, RUN).finish().await.exits(1).json();
    let run = text(&waiting, "run_id").unwrap();
    stave(&folder, ["runs", "approve", run, "first"]).finish().await.exits(0);
    let failed = stave(&folder, ["runs", "approve", run, "second", "--json"]).finish().await.exits(1).json();
    assert_eq!(failed.pointer("/error/node").and_then(Value::as_str), Some("tell"), "{failed}");
    assert_eq!(paid(), 1);
    // Telling follows from the decision too, and asking for it again would pay again.
    let refused = stave(&folder, ["runs", "replay", run]).finish().await.exits(2);
    assert!(refused.stderr.contains("replay from `first`"), "{refused}");
    for _ in 0..3 {
        let again = stave(&folder, ["runs", "replay", run, "pay", "--json"]).finish().await.exits(1).json();
        assert_eq!(again.pointer("/error/kind").and_then(Value::as_str), Some("waiting"), "{again}");
        assert_eq!(paid(), 1, "the decision was made for one payment");
    }
}

/// A person agrees to an address, and each item of a list is sent there by a node that the list runs.
fn sent_by_a_list(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: letters}}
context: {{requires: [items, to]}}
nodes:
  agree:
    type: transform
    inputs: [{{name: to, type: string}}]
    outputs: [{{name: to, type: string}}]
    transform: {{mode: declarative, spec: {{op: human.approve, args: {{message: "Send to ${{to}}?"}}}}}}
  send:
    type: transform
    inputs: [{{name: x, type: string}}, {{name: to, type: string}}]
    outputs: [{{name: a, type: object}}]
    transform:
      mode: declarative
      spec: {{op: http.post, args: {{url: "http://127.0.0.1:{port}/send", body: {{x: "${{x}}", to: "${{to}}"}}}}}}
  all:
    type: transform
    inputs: [{{name: items, type: array}}]
    outputs: [{{name: results, type: array}}]
    transform: {{mode: declarative, spec: {{op: transform.each, args: {{input: "${{items}}", node: send, port: x}}}}}}
edges:
  - {{from: _input.to, to: agree.to}}
  - {{from: agree.to, to: send.to}}
  - {{from: _input.items, to: all.items}}
  - {{from: all.results, to: _output}}
"#
    )
}

#[tokio::test]
async fn a_replay_of_a_list_asks_again_for_what_its_node_is_given() {
    let script = HostScript::new(&values(r#"[{"method": "POST", "path": "/send", "json": {}, "times": 9}]"#));
    let server = script.serve().await;
    let folder = project(&sent_by_a_list(server.port), r#"{"items": ["a", "b"], "to": "bob"}"#);
    let sent = || script.log.lock().calls.len();
    let waiting = stave(&folder, RUN).finish().await.exits(1).json();
    let run = text(&waiting, "run_id").unwrap();
    stave(&folder, ["runs", "approve", run, "agree"]).finish().await.exits(0);
    assert_eq!(sent(), 2);
    let again = stave(&folder, ["runs", "replay", run, "all", "--json"]).finish().await.exits(1).json();
    assert_eq!(again.pointer("/error/kind").and_then(Value::as_str), Some("waiting"), "{again}");
    assert_eq!(sent(), 2, "the decision was made for the first two");
}

/// A list whose model asks a person through a tool, and a request that follows from its answers.
fn asked_deep_inside(port: u16, model: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: deep}}
context: {{requires: [items]}}
nodes:
  agree:
    type: transform
    inputs: [{{name: amount, type: number}}]
    outputs: [{{name: amount, type: number}}]
    transform: {{mode: declarative, spec: {{op: human.approve, args: {{message: "Pay ${{amount}}?"}}}}}}
  agent:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: string}}]
    prompt:
      template: "{{{{ q }}}}"
      model: {{provider: openai, name: gpt-4o-mini, endpoint: "http://127.0.0.1:{model}/v1"}}
      tools:
        - name: agree
          description: Asks a person.
          parameters: {{type: object, properties: {{amount: {{type: number}}}}}}
          maps_to: agree
  all:
    type: transform
    inputs: [{{name: items, type: array}}]
    outputs: [{{name: results, type: array}}]
    transform: {{mode: declarative, spec: {{op: transform.each, args: {{input: "${{items}}", node: agent}}}}}}
  pay:
    type: transform
    inputs: [{{name: r, type: array}}]
    outputs: [{{name: o, type: object}}]
    transform: {{mode: declarative, spec: {{op: http.post, args: {{url: "http://127.0.0.1:{port}/pay", body: {{r: "${{r}}"}}}}}}}}
edges:
  - {{from: _input.items, to: all.items}}
  - {{from: all.results, to: pay.r}}
  - {{from: pay.o, to: _output}}
"#
    )
}

#[tokio::test]
async fn a_replay_does_not_act_on_a_decision_that_a_tool_of_a_listed_model_asked_for() {
    let script = HostScript::new(&values(r#"[{"method": "POST", "path": "/pay", "json": {}, "times": 9}]"#));
    let server = script.serve().await;
    let model = ModelScript::new(&values(
        r#"[{"tool_calls": [{"name": "agree", "arguments": {"amount": 5}}]}, {"content": "Done."},
            {"tool_calls": [{"name": "agree", "arguments": {"amount": 5}}]}, {"content": "Done."}]"#,
    ));
    let models = model.serve().await;
    let folder = project(&asked_deep_inside(server.port, models.port), r#"{"items": ["a"]}"#);
    let paid = || script.log.lock().calls.len();
    let waiting = stave(&folder, RUN).env("OPENAI_API_KEY", "test").finish().await.exits(1).json();
    let run = text(&waiting, "run_id").unwrap();
    let asks = asking(&folder, run).await;
    let approve = ["runs", "approve", run, &asks[0]];
    stave(&folder, approve).env("OPENAI_API_KEY", "test").finish().await.exits(0);
    assert_eq!(paid(), 1);
    let replay = ["runs", "replay", run, "pay", "--json"];
    let refused = stave(&folder, replay).env("OPENAI_API_KEY", "test").finish().await;
    assert_eq!(paid(), 1, "the decision was made for one payment: {refused}");
    assert!(refused.stdout.contains("replay from `all`"), "{refused}");
    refused.exits(2);
}

/// An approval before a step that takes its time and one that pays.
fn paid_late(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: pays}}
context: {{requires: [q]}}
nodes:
  ask:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: q, type: string}}]
    transform: {{mode: declarative, spec: {{op: human.approve, args: {{message: "Pay ${{q}}?"}}}}}}
  slow:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: r, type: object}}]
    transform: {{mode: declarative, spec: {{op: http.get, args: {{url: "http://127.0.0.1:{port}/slow"}}}}}}
  pay:
    type: transform
    inputs: [{{name: q, type: string}}, {{name: w, type: object}}]
    outputs: [{{name: r, type: object}}]
    transform:
      mode: declarative
      spec: {{op: http.post, args: {{url: "http://127.0.0.1:{port}/pay", body: {{q: "${{q}}"}}}}}}
edges:
  - {{from: _input.q, to: ask.q}}
  - {{from: ask.q, to: slow.q}}
  - {{from: ask.q, to: pay.q}}
  - {{from: slow.r, to: pay.w}}
  - {{from: pay.r, to: _output.a}}
"#
    )
}

#[tokio::test]
async fn a_replay_of_a_cancelled_run_asks_again_before_an_effect_that_never_began() {
    let host = HostScript::new(&values(
        r#"[{"method": "GET", "path": "/slow", "json": {}, "times": 9, "held": true},
            {"method": "POST", "path": "/pay", "json": {}, "times": 9}]"#,
    ));
    let server = host.serve().await;
    let folder = project(&paid_late(server.port), r#"{"q": "7"}"#);
    let waiting = stave(&folder, RUN).finish().await.exits(1).json();
    let run = text(&waiting, "run_id").unwrap().to_owned();
    let approving = stave(&folder, ["runs", "approve", &run, "ask"]).start();
    for _ in 0..400 {
        if !host.log.lock().calls.is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    stave(&folder, ["runs", "cancel", &run]).finish().await.exits(0);
    host.release();
    approving.finish().await;
    assert_eq!(text(&shown(&folder, &run).await, "status"), Some("cancelled"));
    for _ in 0..2 {
        let replayed = stave(&folder, ["runs", "replay", &run, "--json"]).finish().await.exits(1).json();
        assert_eq!(replayed.pointer("/error/kind").and_then(Value::as_str), Some("waiting"), "{replayed}");
    }
    let paid = host.log.lock().calls.iter().filter(|call| call.address.path() == "/pay").count();
    assert_eq!(paid, 0);
}

#[tokio::test]
async fn a_decision_at_the_command_line_is_that_of_a_user() {
    let flow = r#"version: "1.0"
metadata: {name: asker}
context: {requires: [q]}
nodes:
  ask:
    type: transform
    inputs: [{name: q, type: string}]
    outputs: [{name: q, type: string}]
    transform: {mode: declarative, spec: {op: human.approve, args: {message: "Do ${q}?"}}}
edges:
  - {from: _input.q, to: ask.q}
  - {from: ask.q, to: _output.q}
"#;
    let folder = project(flow, r#"{"q": "it"}"#);
    let waiting = stave(&folder, RUN).finish().await.exits(1).json();
    let run = text(&waiting, "run_id").unwrap();
    for forged in ["key:ann", "user:ann", "", "a\nb"] {
        let refused = stave(&folder, ["runs", "approve", run, "ask", "--by", forged]).finish().await.exits(2);
        assert!(refused.stderr.contains("--by"), "{refused}");
    }
    assert_eq!(asking(&folder, run).await, ["ask"], "nothing was decided");
    stave(&folder, ["runs", "approve", run, "ask", "--by", "bob"]).finish().await.exits(0);
    let shown = shown(&folder, run).await;
    assert_eq!(shown.pointer("/decisions/0/decided_by").and_then(Value::as_str), Some("user:bob"), "{shown}");
}
