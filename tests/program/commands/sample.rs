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

/// A flow whose model, at a port of this machine, may call the tool `look`; `node` is what the tool gives and does.
pub(super) fn with_tool(port: u16, node: &str) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: tools}}
context: {{requires: [q]}}
nodes:
  ask:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: string}}]
    prompt:
      template: "{{{{ q }}}}"
      model: {{provider: openai, name: gpt-4o-mini, endpoint: "http://127.0.0.1:{port}/v1"}}
      tools:
        - name: look
          description: Looks.
          parameters: {{type: object, properties: {{q: {{type: string}}}}, required: [q]}}
          maps_to: look
    runtime: {{retries: 0}}
  look:
    type: transform
    inputs: [{{name: q, type: string}}]
{node}
edges:
  - {{from: _input.q, to: ask.q}}
  - {{from: ask.a, to: _output.a}}
"#
    )
}

/// A project file that lets flows call this machine.
pub(super) const LOOPBACK: &str = "[http]\nallow = [\"127.0.0.1\"]\n";
