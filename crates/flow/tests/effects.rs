//! What a node changes outside the flow: by its operation, by its tools, and by the nodes that it runs.

use stave_diag::{Diagnostic, SourceId};
use stave_flow::{CheckOptions, load};

/// A flow in which `caller` is followed by nothing, `send` posts and `ask` is a model with a tool.
fn findings(caller: &str) -> Vec<Diagnostic> {
    let text = format!(
        r#"version: "1.0"
metadata: {{name: f}}
context: {{requires: [items, question]}}
nodes:
  caller:
    type: transform
{caller}
  send:
    type: transform
    inputs: [{{name: item, type: object}}]
    outputs: [{{name: answer, type: object}}]
    transform: {{mode: declarative, spec: {{op: http.post, args: {{url: "https://a.example.com/", body: "${{item}}"}}}}}}
  relay:
    type: transform
    inputs: [{{name: rows, type: array}}]
    outputs: [{{name: results, type: array}}]
    transform: {{mode: declarative, spec: {{op: transform.each, args: {{input: "${{rows}}", node: send}}}}}}
  reply:
    type: transform
    inputs: [{{name: question, type: string}}]
    outputs: [{{name: text, type: string}}]
    transform: {{mode: declarative, spec: {{op: io.format_response, args: {{template: "${{question}}"}}}}}}
edges:
  - {{from: _input.items, to: caller.items}}
  - {{from: _input.question, to: reply.question}}
  - {{from: reply.text, to: _output}}
"#
    );
    load(SourceId(0), &text, &CheckOptions::default()).diagnostics
}

fn of<'d>(code: &str, found: &'d [Diagnostic]) -> Vec<&'d str> {
    found.iter().filter(|found| found.code.0 == code).map(|found| found.message.as_str()).collect()
}

fn each(node: &str, more: &str) -> String {
    format!(
        r#"    inputs: [{{name: items, type: array}}]
    outputs: [{{name: results, type: array}}]
    transform: {{mode: declarative, spec: {{op: transform.each, args: {{input: "${{items}}", node: {node}}}}}}}
{more}"#
    )
}

fn prompt(tool: &str) -> String {
    format!(
        r#"    inputs: [{{name: items, type: array}}]
    outputs: [{{name: text, type: string}}]
    prompt:
      template: "{{{{ items }}}}"
      tools: [{{name: t, description: d, parameters: {{type: object, properties: {{item: {{type: object}}}}}}, {tool}}}]
    runtime: {{cache: {{ttl_seconds: 60}}}}"#
    )
}

#[test]
fn a_node_that_works_by_the_nodes_it_runs_is_not_unused() {
    assert_eq!(of("unused-node", &findings(&each("send", ""))), [""; 0]);
    assert_eq!(of("unused-node", &findings(&each("relay", ""))), [""; 0]);
    let found = findings(&each("reply", ""));
    assert!(of("unused-node", &found).contains(&"nothing uses what node `caller` makes"), "{found:?}");
}

#[test]
fn a_cache_leaves_the_effects_of_called_nodes_out_at_any_depth() {
    let cache = "    runtime: {cache: {ttl_seconds: 60}}";
    for node in ["send", "relay"] {
        let found = findings(&each(node, cache));
        let wanted = "`send`, which it runs, has effects, and a cached answer would leave them out";
        assert_eq!(of("cached-effect", &found), [wanted], "{node}");
    }
    let found = findings(&prompt("maps_to: send"));
    let wanted = "`send`, which it runs, has effects, and a cached answer would leave them out";
    assert_eq!(of("cached-effect", &found), [wanted]);
    let found = findings(&prompt("mcp: files/write"));
    assert_eq!(
        of("cached-effect", &found),
        ["a tool of `caller` has effects, and a cached answer would leave them out"]
    );
}

#[test]
fn the_help_about_repeated_effects_fits_the_operation() {
    let call = r#"    inputs: [{name: items, type: array}]
    outputs: [{name: results, type: array}]
    transform: {mode: declarative, spec: {op: mcp.call, args: {server: s, tool: t, arguments: {event_time: now}}}}
    runtime: {retries: 1}"#;
    let found = findings(call);
    let help =
        found.iter().find(|found| found.code.0 == "repeated-effect").and_then(|found| found.help.clone());
    assert_eq!(help.as_deref(), Some("leave `retries` out: the server cannot see that two calls are one"));
}

#[test]
fn retries_of_a_caller_are_those_of_its_parts() {
    let found = findings(&each("send", "    runtime: {retries: 2}"));
    assert_eq!(of("repeated-effect", &found), [""; 0]);
}
