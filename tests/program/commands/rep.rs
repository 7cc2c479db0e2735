//! `stave rep`: the protocol, spoken to the real program the way an orchestrator does.

use std::process::Stdio;
use std::time::Duration;

use stave_canon::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;
use crate::scripted::{Call, Reply, serve};

/// The longest that a peer waits for a reply.
const LONGEST: Duration = Duration::from_secs(20);

/// A running `stave rep`.
struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: i64,
}

impl Peer {
    fn start(folder: &Folder) -> Peer {
        Peer::start_with(folder, &[])
    }

    /// With variables, as an orchestrator starts it.
    fn start_with(folder: &Folder, variables: &[(&str, &str)]) -> Peer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stave"));
        command.arg("rep").current_dir(folder.path()).kill_on_drop(true);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("stave starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Peer { child, input, output, next: 1 }
    }

    async fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
        input.flush().await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(LONGEST, self.output.read_line(&mut line)).await;
        assert!(read.expect("a reply comes in time").unwrap() > 0, "the process ended");
        assert!(line.is_ascii() && line.ends_with('\n'), "{line:?}");
        let reply = stave_canon::parse(&line).unwrap();
        assert!(reply.get("error").is_none() != reply.get("result").is_none(), "{line}");
        reply
    }

    /// A request as an orchestrator sends it: ids count from 1.
    async fn call(&mut self, method: &str, params: &str) -> Value {
        let id = self.next;
        self.next += 1;
        self.send(&format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "{method}", "params": {params}}}"#))
            .await;
        let reply = self.receive().await;
        assert_eq!(reply.get("id").and_then(Value::as_i64), Some(id), "{reply}");
        reply
    }

    async fn start_run(&mut self, ir: &str, inputs: &str) -> String {
        let params = format!(r#"{{"ir": {ir}, "inputs": {inputs}, "options": {{"run_id": null}}}}"#);
        let reply = self.call("Runtime.StartRun", &params).await;
        let id = reply.pointer("/result/run_id").and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    /// Polls until the end, like an orchestrator, and gives the last poll's result.
    async fn until_it_ends(&mut self, run: &str) -> Value {
        for _ in 0..200 {
            let reply = self.call("Runtime.Poll", &format!(r#"{{"run_id": "{run}"}}"#)).await;
            let result = reply.get("result").unwrap_or_else(|| panic!("{reply}")).clone();
            match text(&result, "status").unwrap() {
                "pending" | "running" => {}
                "completed" | "failed" => return result,
                other => panic!("{other} is no status"),
            }
        }
        panic!("the run does not end");
    }
}

fn node(id: &str, kind: &str, with: &str) -> String {
    format!(
        r#"{{"id": "{id}", "type": "{kind}", "with": {with}, "timeout_ms": 0, "retry": {{"max": 0, "backoff_ms": 0}}}}"#
    )
}

fn document(nodes: &[String], edges: &str) -> String {
    format!(
        r#"{{"version": "1.0.0", "flow": {{"name": "plant", "timeout_ms": 0}}, "inputs_schema": {{}},
            "constants": {{"policyRef": "none", "policy": {{}}}},
            "graph": {{"nodes": [{}], "edges": [{edges}]}},
            "metadata": {{"generated_at": "2024-06-30T18:25:43Z", "source_file": "plant.wdl"}}}}"#,
        nodes.join(",")
    )
    .replace('\n', " ")
}

/// Says what it was given.
fn echo() -> String {
    let nodes = [
        node("when_0", "switch", r#"{"key_from": "$.inputs.mode", "cases": {}, "default": "_DEFAULT"}"#),
        node("more", "dsl.emit", r#"{"x": "1"}"#),
        node("emit_1", "dsl.emit", r#"{"said": "$input.word", "more": "$step.more.x"}"#),
        node("finish_2", "finish", "{}"),
    ];
    let edges = r#"{"from": "when_0", "to": "more", "on": "success", "case": "more"},
        {"from": "when_0", "to": "emit_1", "on": "success", "case": "_DEFAULT"},
        {"from": "more", "to": "emit_1", "on": "success"}, {"from": "emit_1", "to": "finish_2", "on": "success"}"#;
    document(&nodes, edges)
}

fn post(id: &str, port: u16) -> String {
    node(id, "http.post", &format!(r#"{{"url": "http://127.0.0.1:{port}/{id}"}}"#))
}

#[tokio::test]
async fn an_orchestrator_runs_a_document() {
    let folder = Folder::new();
    let mut peer = Peer::start(&folder);
    let capabilities = peer.call("Runtime.Capabilities", "{}").await;
    let result = capabilities.get("result").unwrap();
    assert_eq!(text(result, "version"), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(text(result, "ir_version"), Some("1.0.0"));
    for kind in ["switch", "finish", "dsl.emit", "policy.apply", "http.post"] {
        assert!(items(result, "step_kinds").contains(&kind.into()), "{result}");
    }
    assert!(result.pointer("/limits/concurrency").and_then(Value::as_i64) > Some(0), "{result}");
    assert!(!folder.has(".stave"), "asking leaves nothing behind");
    let run = peer.start_run(&echo(), r#"{"word": "gr\u00fcn", "mode": "more"}"#).await;
    let end = peer.until_it_ends(&run).await;
    assert_eq!(text(&end, "status"), Some("completed"), "{end}");
    let outputs = end.pointer("/summary/outputs").unwrap();
    assert_eq!(outputs.to_string(), r#"{"said":"grün","more":1}"#);
    assert_eq!(end.pointer("/summary/completed_steps").and_then(Value::as_i64), Some(4), "{end}");
    assert_eq!(end.pointer("/summary/failed_steps").and_then(Value::as_i64), Some(0));
    // Only the last poll counts for an orchestrator, so it reports everything, in order.
    let events = items(&end, "events");
    let sequence: Vec<Option<i64>> =
        events.iter().map(|event| event.get("sequence").and_then(Value::as_i64)).collect();
    assert_eq!(sequence, (1..=10).map(Some).collect::<Vec<_>>(), "{end}");
    let steps = events.iter().filter(|event| text(event, "type") == Some("step"));
    let steps: Vec<(&str, &str)> =
        steps.map(|event| (text(event, "step_id").unwrap(), text(event, "state").unwrap())).collect();
    let wanted = ["when_0", "more", "emit_1", "finish_2"];
    let wanted: Vec<(&str, &str)> =
        wanted.iter().flat_map(|step| [(*step, "started"), (*step, "succeeded")]).collect();
    assert_eq!(steps, wanted);
    assert_eq!(peer.until_it_ends(&run).await, end, "a poll after the end reports the same");
    let health = peer.call("Runtime.Health", "{}").await;
    assert_eq!(health.pointer("/result/ok"), Some(&Value::Bool(true)));
    // The run is in the journal like any other.
    let shown = stave(&folder, ["runs", "show", &run, "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&shown, "status"), Some("ok"), "{shown}");
}

#[tokio::test]
async fn a_compiled_workflow_decides_by_its_policy() {
    let folder = Folder::new();
    folder.write("plant.pdl", "version: 1\narms:\n  default:\n    limit: 75\nevaluate:\n  t = first_numeric(values)\n  hot = t > arms.active.limit\nemit:\n  hot: hot\n");
    folder.write("plant.wdl", "version: 1\nworkflow: plant\ninputs:\n  v: object\nsteps:\n  - decide(policy.apply):\n      values: $input.v\noutputs:\n  hot: $step.decide.hot\n");
    stave(&folder, ["compile", "plant.wdl", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    let ir = stave_canon::parse(&folder.read("out/flows/plant.ir.json")).unwrap().to_string();
    let mut peer = Peer::start(&folder);
    for (reading, hot) in [("80", true), ("20", false)] {
        let run = peer.start_run(&ir, &format!(r#"{{"v": {{"oven": {reading}}}}}"#)).await;
        let end = peer.until_it_ends(&run).await;
        assert_eq!(end.pointer("/summary/outputs/hot"), Some(&Value::Bool(hot)), "{end}");
    }
}

#[tokio::test]
async fn what_can_not_run_is_refused_with_its_code() {
    let folder = Folder::new();
    let mut peer = Peer::start(&folder);
    let unknown = document(&[node("a", "opcua.write", "{}"), node("b", "x.y", "{}")], "");
    let cycle = document(
        &[node("a", "dsl.emit", "{}"), node("b", "dsl.emit", "{}")],
        r#"{"from": "a", "to": "b", "on": "success"}, {"from": "b", "to": "a", "on": "success"}"#,
    );
    let cases = [
        (format!(r#"{{"ir": {}}}"#, echo().replace("1.0.0", "2.0.0")), 1001, "version"),
        (format!(r#"{{"ir": {unknown}}}"#), 1002, "x.y"),
        (r#"{"ir": {}}"#.to_owned(), 1003, "missing"),
        (r#"{"ir": 5}"#.to_owned(), 1003, "object"),
        ("{}".to_owned(), 1003, "`ir`"),
        (format!(r#"{{"ir": {cycle}}}"#), 1003, "cycle"),
        (format!(r#"{{"ir": {}, "inputs": [1]}}"#, echo()), 1003, "`inputs`"),
        (format!(r#"{{"ir": {}, "options": 1}}"#, echo()), 1003, "`options`"),
        (format!(r#"{{"ir": {}, "options": {{"run_id": 7}}}}"#, echo()), 1003, "`run_id`"),
    ];
    for (params, code, word) in cases {
        let reply = peer.call("Runtime.StartRun", &params).await;
        assert_eq!(reply.pointer("/error/code").and_then(Value::as_i64), Some(code), "{reply}");
        assert!(text(reply.get("error").unwrap(), "message").unwrap().contains(word), "{reply}");
        assert_eq!(reply.pointer("/error/data/retriable"), Some(&Value::Bool(false)), "{reply}");
    }
    let everything = peer.call("Runtime.StartRun", r#"{"ir": {}}"#).await;
    assert!(items(everything.pointer("/error/data").unwrap(), "details").len() >= 6, "{everything}");
    let reply = peer.call("Runtime.Dance", "{}").await;
    assert_eq!(reply.pointer("/error/code").and_then(Value::as_i64), Some(3002), "{reply}");
    // Another minor release of the document is taken.
    let run = peer.start_run(&echo().replace("1.0.0", "1.7.0"), "{}").await;
    assert_eq!(text(&peer.until_it_ends(&run).await, "status"), Some("completed"));
}

#[tokio::test]
async fn an_id_is_used_once_and_an_unknown_run_has_failed() {
    let folder = Folder::new();
    let mut peer = Peer::start(&folder);
    let params =
        format!(r#"{{"ir": {}, "inputs": {{}}, "options": {{"run_id": "mine", "trace_id": "t"}}}}"#, echo());
    let first = peer.call("Runtime.StartRun", &params).await;
    assert_eq!(first.pointer("/result/run_id").and_then(Value::as_str), Some("mine"), "{first}");
    peer.until_it_ends("mine").await;
    let again = peer.call("Runtime.StartRun", &params).await;
    assert_eq!(again.pointer("/error/code").and_then(Value::as_i64), Some(1003), "{again}");
    let unknown = peer.call("Runtime.Poll", r#"{"run_id": "nobody"}"#).await;
    assert_eq!(unknown.pointer("/result/status").and_then(Value::as_str), Some("failed"), "{unknown}");
    assert!(unknown.pointer("/result/summary/error/message").is_some(), "{unknown}");
    let unknown = peer.call("Runtime.Cancel", r#"{"run_id": "nobody"}"#).await;
    assert_eq!(unknown.pointer("/result/ok"), Some(&Value::Bool(false)), "{unknown}");
    let nameless = peer.call("Runtime.Poll", "{}").await;
    assert_eq!(nameless.pointer("/error/code").and_then(Value::as_i64), Some(1003), "{nameless}");
}

#[tokio::test]
async fn a_failed_step_is_told_with_its_code_and_its_step() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    let mut peer = Peer::start(&folder);
    let run = peer.start_run(&document(&[post("call", 1)], ""), "{}").await;
    let end = peer.until_it_ends(&run).await;
    assert_eq!(text(&end, "status"), Some("failed"), "{end}");
    let error = end.pointer("/summary/error").unwrap();
    assert_eq!(error.get("code").and_then(Value::as_i64), Some(2001), "{end}");
    assert_eq!(error.pointer("/data/step_id").and_then(Value::as_str), Some("call"), "{end}");
    assert_eq!(error.pointer("/data/attempt").and_then(Value::as_i64), Some(1), "{end}");
    assert_eq!(error.pointer("/data/details/code").and_then(Value::as_str), Some("http-failed"), "{end}");
    assert_eq!(end.pointer("/summary/failed_steps").and_then(Value::as_i64), Some(1), "{end}");
    let failed = items(&end, "events").iter().any(|event| text(event, "state") == Some("failed"));
    assert!(failed, "{end}");
}

#[tokio::test]
async fn a_poll_waits_for_news_and_holds_nobody_up() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let entrance = std::sync::Arc::clone(&gate);
    let server = serve(move |_: Call| {
        let entrance = std::sync::Arc::clone(&entrance);
        async move {
            entrance.acquire().await.unwrap().forget();
            Reply::json(200, "{}".to_owned())
        }
    })
    .await;
    let mut peer = Peer::start(&folder);
    let run = peer.start_run(&document(&[post("slow", server.port)], ""), "{}").await;
    let poll = format!(r#"{{"run_id": "{run}"}}"#);
    // Once a poll reported the step's beginning, there is no news until the step is done.
    loop {
        let told = peer.call("Runtime.Poll", &poll).await;
        assert_eq!(told.pointer("/result/status").and_then(Value::as_str), Some("running"), "{told}");
        let events = items(told.get("result").unwrap(), "events");
        if events.iter().any(|event| text(event, "step_id") == Some("slow")) {
            break;
        }
    }
    peer.send(&format!(r#"{{"jsonrpc": "2.0", "id": 100, "method": "Runtime.Poll", "params": {poll}}}"#))
        .await;
    peer.send(r#"{"jsonrpc": "2.0", "id": 101, "method": "Runtime.Health"}"#).await;
    let health = peer.receive().await;
    assert_eq!(health.get("id").and_then(Value::as_i64), Some(101), "the poll did not wait: {health}");
    assert_eq!(health.pointer("/result/details/running").and_then(Value::as_i64), Some(1), "{health}");
    gate.add_permits(1);
    let poll = peer.receive().await;
    assert_eq!(poll.get("id").and_then(Value::as_i64), Some(100), "{poll}");
    assert_eq!(text(&peer.until_it_ends(&run).await, "status"), Some("completed"));
}

#[tokio::test]
async fn a_cancelled_run_has_failed_and_its_step_is_stopped() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    let server = serve(move |_: Call| async move {
        tokio::time::sleep(Duration::from_secs(600)).await;
        Reply::json(200, "{}".to_owned())
    })
    .await;
    let mut peer = Peer::start(&folder);
    let run = peer.start_run(&document(&[post("stuck", server.port)], ""), "{}").await;
    let cancelled = peer.call("Runtime.Cancel", &format!(r#"{{"run_id": "{run}"}}"#)).await;
    assert_eq!(cancelled.pointer("/result/ok"), Some(&Value::Bool(true)), "{cancelled}");
    let end = peer.until_it_ends(&run).await;
    assert_eq!(text(&end, "status"), Some("failed"), "{end}");
    assert_eq!(end.pointer("/summary/reason").and_then(Value::as_str), Some("cancelled"), "{end}");
    let again = peer.call("Runtime.Cancel", &format!(r#"{{"run_id": "{run}"}}"#)).await;
    assert_eq!(again.pointer("/result/ok"), Some(&Value::Bool(false)), "{again}");
    let shown = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&items(&shown, "runs")[0], "status"), Some("cancelled"), "{shown}");
}

#[tokio::test]
async fn lines_that_are_no_requests_are_answered_and_harm_nothing() {
    let folder = Folder::new();
    let mut peer = Peer::start(&folder);
    for line in
        ["{", "[]", "[1, 2]", "null", "7", r#"{"id": {}, "method": "x"}"#, r#"{"id": 4}"#, "\u{fffd}\u{0}"]
    {
        peer.send("").await;
        peer.send(line).await;
        let reply = peer.receive().await;
        assert_eq!(reply.pointer("/error/code").and_then(Value::as_i64), Some(3001), "{line}: {reply}");
    }
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    peer.send(&deep).await;
    assert_eq!(peer.receive().await.pointer("/error/code").and_then(Value::as_i64), Some(3001));
    for version in [r#""jsonrpc": "1.0", "#, r#""jsonrpc": 2.0, "#, ""] {
        peer.send(&format!(r#"{{{version}"id": 9, "method": "Runtime.Health"}}"#)).await;
        let reply = peer.receive().await;
        assert_eq!(reply.pointer("/error/code").and_then(Value::as_i64), Some(-32600), "{reply}");
        assert_eq!(reply.get("id").and_then(Value::as_i64), Some(9), "{reply}");
    }
    // Nobody waits for the reply to a request without an id.
    peer.send(r#"{"jsonrpc": "2.0", "method": "Runtime.Health"}"#).await;
    peer.send(r#"{"jsonrpc": "2.0", "id": "text", "method": "Runtime.Health"}"#).await;
    let reply = peer.receive().await;
    assert_eq!(text(&reply, "id"), Some("text"), "{reply}");
}

#[tokio::test]
async fn it_ends_with_its_input_and_owes_no_answer() {
    let folder = Folder::new();
    let mut peer = Peer::start(&folder);
    let start = format!(
        r#"{{"jsonrpc": "2.0", "id": 1, "method": "Runtime.StartRun", "params": {{"ir": {}, "options": {{"run_id": "r"}}}}}}"#,
        echo()
    );
    peer.send(&start).await;
    peer.send(r#"{"jsonrpc": "2.0", "id": 2, "method": "Runtime.Poll", "params": {"run_id": "r"}}"#).await;
    drop(peer.input.take());
    let mut output = String::new();
    let read = peer.output.read_to_string(&mut output);
    tokio::time::timeout(LONGEST, read).await.expect("it ends").unwrap();
    assert_eq!(output.lines().count(), 2, "{output}");
    let status = tokio::time::timeout(LONGEST, peer.child.wait()).await.expect("it ends").unwrap();
    assert!(status.success(), "{status}");
    let mut errors = String::new();
    peer.child.stderr.take().unwrap().read_to_string(&mut errors).await.unwrap();
    assert_eq!(errors, "", "nobody reads what it says beside its replies");
}

#[cfg(unix)]
#[tokio::test]
async fn it_ends_at_once_when_it_is_told_to_and_its_run_can_be_resumed() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    let slow = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_slow = std::sync::Arc::clone(&slow);
    let server = serve(move |_: Call| {
        let is_slow = is_slow.load(std::sync::atomic::Ordering::Relaxed);
        async move {
            if is_slow {
                tokio::time::sleep(Duration::from_secs(600)).await;
            }
            Reply::json(200, "{}".to_owned())
        }
    })
    .await;
    let mut peer = Peer::start(&folder);
    let nodes = [post("stuck", server.port), node("end", "finish", "{}")];
    let ir = document(&nodes, r#"{"from": "stuck", "to": "end", "on": "success"}"#);
    let run = peer.start_run(&ir, "{}").await;
    peer.call("Runtime.Poll", &format!(r#"{{"run_id": "{run}"}}"#)).await;
    let process = peer.child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").arg(&process).status().unwrap().success());
    let status = tokio::time::timeout(LONGEST, peer.child.wait()).await.expect("it ends").unwrap();
    assert!(status.success(), "{status}");
    slow.store(false, std::sync::atomic::Ordering::Relaxed);
    let report = stave(&folder, ["runs", "resume", &run, "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&report, "status"), Some("ok"), "{report}");
}

#[tokio::test]
async fn a_run_whose_id_was_told_is_not_lost_when_the_process_is_killed() {
    let folder = Folder::new();
    for count in 1..=5 {
        let mut peer = Peer::start(&folder);
        let run = peer.start_run(&echo(), r#"{"word": "hush"}"#).await;
        peer.child.kill().await.unwrap();
        let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
        assert_eq!(items(&listed, "runs").len(), count, "{listed}");
        stave(&folder, ["runs", "show", &run]).finish().await.exits(0);
    }
}

#[tokio::test]
async fn the_same_id_in_another_process_is_another_run() {
    let folder = Folder::new();
    for word in ["one", "two"] {
        let mut peer = Peer::start(&folder);
        let params = format!(
            r#"{{"ir": {}, "inputs": {{"word": "{word}"}}, "options": {{"run_id": "mine"}}}}"#,
            echo()
        );
        let started = peer.call("Runtime.StartRun", &params).await;
        assert_eq!(started.pointer("/result/run_id").and_then(Value::as_str), Some("mine"), "{started}");
        let end = peer.until_it_ends("mine").await;
        assert_eq!(end.pointer("/summary/outputs/said").and_then(Value::as_str), Some(word), "{end}");
    }
    let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
    assert_eq!(items(&listed, "runs").len(), 2, "{listed}");
}

#[tokio::test]
async fn the_variables_of_an_orchestrator_are_obeyed_or_refused_by_name() {
    let folder = Folder::new();
    let variables = [
        ("TRACE_MIND_RUN_ID", "run-7"),
        ("TRACE_MIND_TRACE_ID", "trace-7"),
        ("TRACE_MIND_ENGINE_TIMEOUT", "120"),
        ("TRACE_MIND_ALLOW_SHELL", "0"),
        ("TRACE_MIND_LOG_JSON", "1"),
    ];
    let mut peer = Peer::start_with(&folder, &variables);
    let traced = document(&[node("emit", "dsl.emit", r#"{"trace": "$input.trace_id"}"#)], "");
    assert_eq!(peer.start_run(&traced, "{}").await, "run-7");
    let end = peer.until_it_ends("run-7").await;
    assert_eq!(end.pointer("/summary/outputs/trace").and_then(Value::as_str), Some("trace-7"), "{end}");
    let warned =
        |event: &Value| text(event, "level") == Some("warning") && event.to_string().contains("LOG_JSON");
    assert!(items(&end, "events").iter().any(warned), "{end}");
    assert_ne!(peer.start_run(&traced, "{}").await, "run-7", "the variable names one run");
    for (name, value) in [("TRACE_MIND_ENGINE_TIMEOUT", "soon"), ("TRACE_MIND_ALLOW_SHELL", "yes")] {
        let mut peer = Peer::start_with(&folder, &[(name, value)]);
        let reply = peer.call("Runtime.StartRun", &format!(r#"{{"ir": {traced}}}"#)).await;
        assert_eq!(reply.pointer("/error/code").and_then(Value::as_i64), Some(1003), "{reply}");
        assert!(reply.to_string().contains(name), "{reply}");
    }
}

#[tokio::test]
async fn a_run_ends_before_the_orchestrator_gives_it_up_and_later_versions_are_told() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    let server = serve(|_: Call| async {
        tokio::time::sleep(LONGEST).await;
        Reply::json(200, "{}")
    })
    .await;
    let mut peer = Peer::start_with(&folder, &[("TRACE_MIND_ENGINE_TIMEOUT", "0.2")]);
    let later = document(&[post("stuck", server.port)], "").replace("1.0.0", "1.3.0");
    let run = peer.start_run(&later, "{}").await;
    let end = peer.until_it_ends(&run).await;
    assert_eq!(end.pointer("/summary/reason").and_then(Value::as_str), Some("timeout"), "{end}");
    assert!(
        items(&end, "events").iter().any(|event| event.to_string().contains("exec-later-version")),
        "{end}"
    );
}
