//! Small flows that several tests use.

/// Doubles a number in Python and formats the answer.
pub(super) const DOUBLE: &str = r#"version: "1.0"
metadata: {name: doubler}
context: {requires: [n]}
nodes:
  double:
    type: transform
    inputs: [{name: n, type: number}]
    outputs: [{name: n, type: number}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {'n': inputs['n'] * 2}
  show:
    type: transform
    inputs: [{name: n, type: number}]
    outputs: [{name: text, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "twice is ${n}"}}}
edges:
  - {from: _input.n, to: double.n}
  - {from: double.n, to: show.n}
  - {from: show.text, to: _output.text}
"#;

/// The same flow with an edge to a node that is not there, and an operation that does not exist.
pub(super) fn broken() -> String {
    DOUBLE.replace("to: show.n}", "to: shwo.n}").replace("io.format_response", "io.format_respnse")
}

/// A flow that asks the model at a port of this machine.
pub(super) fn asker(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: asker}}
context: {{requires: [q]}}
nodes:
  ask:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: string}}]
    prompt:
      system: You answer briefly.
      template: "Question: {{{{ q }}}}"
      model: {{provider: openai, name: gpt-4o-mini, endpoint: "http://127.0.0.1:{port}/v1"}}
    runtime: {{retries: 0}}
edges:
  - {{from: _input.q, to: ask.q}}
  - {{from: ask.a, to: _output.a}}
"#
    )
}

/// A project file that lets flows call this machine.
pub(super) const LOOPBACK: &str = "[http]\nallow = [\"127.0.0.1\"]\n";

/// JSON values from text.
pub(super) fn values(text: &str) -> Vec<stave_canon::Value> {
    stave_canon::parse(text).unwrap().as_array().unwrap().to_vec()
}
