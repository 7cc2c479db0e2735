//! The REP server, fed with arbitrary lines.

use std::sync::Arc;

use proptest::prelude::*;
use stave_exec::Document;
use stave_runtime::Services;
use stave_runtime::journal::Ephemeral;
use stave_runtime::rep::{Host, Incoming, serve};
use stave_runtime::state::MemoryStore;
use stave_script::PythonPool;
use tokio::sync::mpsc;

use crate::world::{python, services};

struct Anything(Arc<PythonPool>);

impl Host for Anything {
    fn services(&self, _: &Document) -> Result<Services, String> {
        Ok(services(&self.0, Arc::new(MemoryStore::default()), Arc::new(Ephemeral)))
    }

    fn concurrency(&self) -> usize {
        4
    }
}

/// A valid document, into which single pieces are put.
const DOCUMENT: &str = r#"{"version": "1.0.0", "flow": {"name": "a", "timeout_ms": 0}, "constants": {"policyRef": "p", "policy": {}},
 "inputs_schema": {}, "graph": {"nodes": [{"id": "a", "type": "@kind@", "with": @with@, "timeout_ms": 0, "retry": {"max": 0, "backoff_ms": 0}}],
 "edges": []}, "metadata": {"generated_at": "2024-06-30T18:25:43Z", "source_file": "a"}}"#;

fn lines() -> impl Strategy<Value = Vec<u8>> {
    let kinds = prop::sample::select(vec!["switch", "dsl.emit", "finish", "policy.apply", "http.get", "x"]);
    let withs = prop::sample::select(vec![
        "{}",
        r#"{"key_from": "$input.a", "cases": {"1": "a"}}"#,
        r#"{"key_from": 5, "cases": 7}"#,
        r#"{"a": "$input", "b": "$step.a", "c": "${x", "d": "[1,"}"#,
        r#"{"values": "$.inputs.a.0.b", "epsilon": "x"}"#,
        r#"{"url": "ftp://"}"#,
        "[]",
    ]);
    let methods = prop::sample::select(vec![
        "Runtime.Capabilities",
        "Runtime.StartRun",
        "Runtime.Poll",
        "Runtime.Cancel",
        "Runtime.Health",
        "x",
    ]);
    let inputs = prop::sample::select(vec!["{}", r#"{"a": 1}"#, r#"{"a": [{"b": null}]}"#, "null", "3"]);
    let request = (methods, kinds, withs, inputs, 0..4_u8).prop_map(|(method, kind, with, inputs, id)| {
        let ir = DOCUMENT.replace("@kind@", kind).replace("@with@", with).replace('\n', "");
        format!(
            r#"{{"jsonrpc": "2.0", "id": {id}, "method": "{method}", "params": {{"ir": {ir}, "inputs": {inputs},
                "run_id": "r{id}", "options": {{"run_id": "r{id}"}}}}}}"#
        )
        .replace('\n', "")
        .into_bytes()
    });
    prop_oneof![
        4 => request,
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => "\\PC{0,40}".prop_map(String::into_bytes),
        1 => r#"[\[\]{}":,a-z0-9 ]{0,40}"#.prop_map(String::into_bytes),
    ]
}

/// Every reply that the lines lead to.
fn replies(lines: &[Vec<u8>]) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (requests, incoming) = mpsc::channel(1000);
        let (replies, mut outgoing) = mpsc::channel(1000);
        for line in lines {
            requests.send(Incoming::Line(line.clone())).await.unwrap();
        }
        requests.send(Incoming::TooLong).await.unwrap();
        drop(requests);
        let host = Anything(python());
        serve(&host, incoming, replies).await;
        let mut told = Vec::new();
        while let Some(reply) = outgoing.recv().await {
            told.push(reply);
        }
        told
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_answered_with_whole_replies(lines in prop::collection::vec(lines(), 0..12)) {
        let told = replies(&lines);
        prop_assert!(!told.is_empty(), "the line that was too long has an answer");
        for reply in told {
            let reply = stave_canon::parse(&reply).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(reply.get("result").is_some(), reply.get("error").is_none(), "{}", reply);
        }
    }
}
