//! Flows in layers, made from a stream of bytes: every node takes several edges from the layer before it.
//!
//! The number of ways through such a flow doubles with each layer, so whatever follows each way by itself never ends. A
//! fuzz target and a test share this file.

use std::fmt::Write;

/// What the nodes between the request and the last prompt are.
const KINDS: &[&str] = &[
    r#"transform: {mode: code, spec: "def transform(inputs, context, state):\n    return {'x': inputs['a']}\n"}"#,
    r#"transform: {mode: declarative, spec: {op: io.format_response, args: {template: "${a}"}}}"#,
    r#"transform: {mode: code, spec: "def transform(inputs, context, state):\n    return {'x': inputs['b']}\n"}"#,
    r#"transform: {mode: declarative, spec: {op: http.get, args: {url: "https://in.example.com/${a}"}}}"#,
    r#"state: {scope: session, key: "k_{session_id}"}
    transform: {mode: code, spec: "def transform(inputs, context, state):\n    return {'x': str(state.get('x'))}\n"}"#,
    r#"prompt: {template: "{{ a }} {{ b }}", model: {provider: openai, name: gpt-4o-mini}}"#,
];

/// A flow with this many layers.
pub(crate) fn flow(bytes: &[u8], layers: usize) -> String {
    let mut bytes = bytes.iter();
    // Without further bytes every choice is the first one.
    let mut choice = || bytes.next().map_or(0, |byte| usize::from(*byte));
    let width = 1 + choice() % 3;
    let label = if choice().is_multiple_of(2) { "" } else { "  sensitivity: {secret: private}\n" };
    let mut nodes = String::new();
    let mut edges = String::new();
    for layer in 0..layers {
        for place in 0..width {
            // Most of them hand on what they are given.
            let kind = KINDS[(choice() % 18).saturating_sub(12) % KINDS.len()];
            let _ = write!(
                nodes,
                "  n{layer}_{place}:\n    type: transform\n    inputs: [{{name: a, type: string}}, {{name: b, type: string}}]\n    \
                 outputs: [{{name: x, type: string}}]\n    {kind}\n"
            );
            for port in ["a", "b"] {
                let from = match (layer, choice()) {
                    (0, drawn) if drawn.is_multiple_of(4) => continue,
                    (0, drawn) if drawn.is_multiple_of(2) => "_input.secret".to_owned(),
                    (0, _) => "_input.query".to_owned(),
                    (_, drawn) => format!("n{}_{}.x", layer - 1, drawn % width),
                };
                let _ = writeln!(edges, "  - {{from: {from}, to: n{layer}_{place}.{port}}}");
            }
        }
    }
    let last = layers.saturating_sub(1);
    format!(
        "version: \"1.1\"\nmetadata: {{name: layers}}\ncontext:\n  requires: [query, secret]\n{label}nodes:\n{nodes}  \
         ask:\n    type: transform\n    inputs: [{{name: q, type: string}}]\n    outputs: [{{name: a, type: string}}]\n    \
         prompt: {{template: \"{{{{ q }}}}\", model: {{provider: openai, name: gpt-4o-mini}}}}\nedges:\n{edges}  \
         - {{from: n{last}_0.x, to: ask.q}}\n  - {{from: ask.a, to: _output.a}}\n"
    )
}
