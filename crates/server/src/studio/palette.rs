//! The nodes that can be added, each as it is when it is new.

use stave_canon::Value;
use stave_flow::ops::{CATALOGUE, OperationSchema};
use stave_flow::schema;

use super::object;

/// A node as it is when it is new: what it is called, its group, and its fields.
struct Blank {
    /// The operation; none for what is no operation.
    op: Option<&'static str>,
    group: &'static str,
    title: &'static str,
    /// What its id begins as.
    id: &'static str,
    node: &'static str,
}

const PROMPT: Blank = Blank {
    op: None,
    group: "model",
    title: "Ask a model",
    id: "answer",
    node: r#"{"inputs": [{"name": "question", "type": "string"}], "outputs": [{"name": "answer", "type": "string"}],
        "prompt": {"system": "You are a helpful assistant.\n", "template": "{{ question }}\n"}}"#,
};

const CODE: Blank = Blank {
    op: None,
    group: "code",
    title: "Python",
    id: "step",
    node: r#"{"inputs": [{"name": "value", "type": "object"}], "outputs": [{"name": "result", "type": "object"}],
        "transform": {"mode": "code", "spec": "def transform(inputs, context, state):\n    return {\"result\": inputs[\"value\"]}\n"}}"#,
};

const BLANKS: &[Blank] = &[
    Blank {
        op: Some("hopsworks.read_features"),
        group: "features",
        title: "Read features",
        id: "read_features",
        node: r#"{"inputs": [{"name": "key", "type": "string"}], "outputs": [{"name": "features", "type": "object"}],
            "transform": {"mode": "declarative", "spec": {"op": "hopsworks.read_features",
                "args": {"feature_group": "customers", "key": "${key}"}}}}"#,
    },
    Blank {
        op: Some("hopsworks.write_features"),
        group: "features",
        title: "Write features",
        id: "write_features",
        node: r#"{"inputs": [{"name": "data", "type": "object"}], "outputs": [],
            "transform": {"mode": "declarative", "spec": {"op": "hopsworks.write_features",
                "args": {"feature_group": "predictions", "data": "${data}"}}}}"#,
    },
    Blank {
        op: Some("hopsworks.get_model"),
        group: "features",
        title: "Find a model",
        id: "get_model",
        node: r#"{"inputs": [], "outputs": [{"name": "model", "type": "object"}],
            "transform": {"mode": "declarative", "spec": {"op": "hopsworks.get_model", "args": {"name": "predictor"}}}}"#,
    },
    Blank {
        op: Some("http.get"),
        group: "http",
        title: "GET request",
        id: "http_get",
        node: r#"{"inputs": [{"name": "id", "type": "string"}], "outputs": [{"name": "answer", "type": "object"}],
            "transform": {"mode": "declarative", "spec": {"op": "http.get",
                "args": {"url": "https://api.example.com/items/${id}"}}}}"#,
    },
    Blank {
        op: Some("http.post"),
        group: "http",
        title: "POST request",
        id: "http_post",
        node: r#"{"inputs": [{"name": "data", "type": "object"}], "outputs": [{"name": "answer", "type": "object"}],
            "transform": {"mode": "declarative", "spec": {"op": "http.post",
                "args": {"url": "https://api.example.com/items", "body": "${data}"}}}}"#,
    },
    Blank {
        op: Some("transform.filter"),
        group: "transform",
        title: "Filter a list",
        id: "filter",
        node: r#"{"inputs": [{"name": "items", "type": "array"}], "outputs": [{"name": "kept", "type": "array"}],
            "transform": {"mode": "declarative", "spec": {"op": "transform.filter",
                "args": {"expression": "item is not None", "input": "${items}"}}}}"#,
    },
    Blank {
        op: Some("transform.map"),
        group: "transform",
        title: "Map a list",
        id: "map",
        node: r#"{"inputs": [{"name": "items", "type": "array"}], "outputs": [{"name": "results", "type": "array"}],
            "transform": {"mode": "declarative", "spec": {"op": "transform.map",
                "args": {"expression": "item", "input": "${items}"}}}}"#,
    },
    Blank {
        op: Some("transform.reduce"),
        group: "transform",
        title: "Reduce a list",
        id: "reduce",
        node: r#"{"inputs": [{"name": "items", "type": "array"}], "outputs": [{"name": "result", "type": "array"}],
            "transform": {"mode": "declarative", "spec": {"op": "transform.reduce",
                "args": {"expression": "acc + [item]", "input": "${items}", "initial": []}}}}"#,
    },
    Blank {
        op: Some("io.format_response"),
        group: "io",
        title: "Build a response",
        id: "respond",
        node: r#"{"inputs": [{"name": "data", "type": "object"}], "outputs": [{"name": "response", "type": "object"}],
            "transform": {"mode": "declarative", "spec": {"op": "io.format_response",
                "args": {"template": {"status": "success", "data": "${data}"}}}}}"#,
    },
    Blank {
        op: Some("transform.each"),
        group: "transform",
        title: "Run a node for each item",
        id: "each",
        node: r#"{"inputs": [{"name": "items", "type": "array"}], "outputs": [{"name": "results", "type": "array"}],
            "transform": {"mode": "declarative", "spec": {"op": "transform.each",
                "args": {"input": "${items}", "node": "step"}}}}"#,
    },
    Blank {
        op: Some("human.approve"),
        group: "human",
        title: "Ask a person",
        id: "approve",
        node: r#"{"inputs": [{"name": "request", "type": "object"}], "outputs": [{"name": "request", "type": "object"}],
            "transform": {"mode": "declarative", "spec": {"op": "human.approve", "args": {"message": "May this go on?"}}}}"#,
    },
    Blank {
        op: Some("mcp.call"),
        group: "tools",
        title: "Call a tool",
        id: "call_tool",
        node: r#"{"inputs": [{"name": "arguments", "type": "object"}], "outputs": [{"name": "result", "type": "object"}],
            "transform": {"mode": "declarative", "spec": {"op": "mcp.call",
                "args": {"server": "server", "tool": "tool", "arguments": "${arguments}"}}}}"#,
    },
    Blank {
        op: Some("opcua.read"),
        group: "tools",
        title: "Read a plant",
        id: "read_plant",
        node: r#"{"inputs": [], "outputs": [{"name": "values", "type": "object"}],
            "transform": {"mode": "declarative", "spec": {"op": "opcua.read",
                "args": {"endpoint": "opc.tcp://plant.example:4840", "node_ids": ["ns=2;i=5001"]}}}}"#,
    },
    Blank {
        op: Some("opcua.write"),
        group: "tools",
        title: "Set a value of a plant",
        id: "write_plant",
        node: r#"{"inputs": [{"name": "value", "type": "number"}], "outputs": [{"name": "written", "type": "object"}],
            "transform": {"mode": "declarative", "spec": {"op": "opcua.write",
                "args": {"endpoint": "opc.tcp://plant.example:4840", "node_id": "ns=2;i=5001", "value": "${value}"}}}}"#,
    },
];

pub(super) fn palette() -> Value {
    let first = [item(&PROMPT, None), item(&CODE, None)];
    let operations = CATALOGUE.iter().map(|operation| {
        let blank = BLANKS.iter().find(|blank| blank.op == Some(operation.name));
        match blank {
            Some(blank) => item(blank, Some(operation)),
            None => unnamed(operation),
        }
    });
    object([("items", Value::Array(first.into_iter().chain(operations).collect()))])
}

fn item(blank: &Blank, operation: Option<&OperationSchema>) -> Value {
    let summary = match (operation, blank.group) {
        (Some(operation), _) => operation.summary,
        (None, "model") => "asks a model with a prompt made from the inputs",
        (None, _) => "runs Python in the sandbox",
    };
    let id = operation.map_or_else(|| kind(blank).to_owned(), |operation| format!("op:{}", operation.name));
    // The tables above are constants, which a test reads.
    let node = stave_canon::parse(blank.node).unwrap_or_default();
    object([
        ("id", id.into()),
        ("group", blank.group.into()),
        ("title", blank.title.into()),
        ("summary", summary.into()),
        ("op", blank.op.into()),
        ("effects", operation.is_some_and(|operation| operation.effects).into()),
        ("arguments", operation.map_or_else(|| Value::Object(Default::default()), schema::operation)),
        ("id_hint", blank.id.into()),
        ("node", typed(node)),
    ])
}

fn kind(blank: &Blank) -> &'static str {
    if blank.group == "model" { "prompt" } else { "code" }
}

/// An operation that nobody has drawn up a beginning for: one port each way, and no arguments yet.
fn unnamed(operation: &OperationSchema) -> Value {
    let port = |name: &str| Value::from_iter([("name", name), ("type", "object")]);
    let spec = object([("op", operation.name.into()), ("args", Value::Object(Default::default()))]);
    let node = object([
        ("inputs", Value::Array(vec![port("input")])),
        ("outputs", Value::Array(vec![port("output")])),
        ("transform", object([("mode", "declarative".into()), ("spec", spec)])),
    ]);
    object([
        ("id", format!("op:{}", operation.name).into()),
        ("group", "tools".into()),
        ("title", operation.name.into()),
        ("summary", operation.summary.into()),
        ("op", operation.name.into()),
        ("effects", operation.effects.into()),
        ("arguments", schema::operation(operation)),
        ("id_hint", operation.name.replace(['.', '-'], "_").into()),
        ("node", typed(node)),
    ])
}

/// With the type that every node has, first.
fn typed(mut node: Value) -> Value {
    if let Some(fields) = node.as_object_mut() {
        fields.shift_insert(0, "type".to_owned(), "transform".into());
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use stave_flow::Options;
    use stave_flow::edit::{Command, EditRequest, apply};

    const FLOW: &str = r#"version: "1.0"
metadata: {name: f}
context: {requires: [q]}
nodes:
  step:
    type: transform
    inputs: [{name: q, type: string}]
    outputs: [{name: r, type: string}]
    transform: {mode: code, spec: "def transform(inputs, context, state):\n    return {'r': ''}\n"}
edges:
  - {from: _input.q, to: step.q}
  - {from: step.r, to: _output}
"#;

    #[test]
    fn a_new_node_lacks_nothing_but_edges() {
        let palette = palette();
        let items = palette.get("items").and_then(Value::as_array).unwrap();
        assert_eq!(items.len(), CATALOGUE.len() + 2);
        for item in items {
            let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap();
            let id = format!("{}_new", text("id_hint"));
            let node = item.get("node").unwrap().clone();
            let add = Command::AddNode { id, node, after: None };
            let request = EditRequest { allow_errors: true, ..EditRequest::new(vec![add]) };
            let edited = apply(FLOW, &request, &Options::default()).unwrap();
            let errors: Vec<&str> = edited
                .diagnostics
                .iter()
                .filter(|found| found.is_error())
                .map(|found| found.code.0)
                .collect();
            // What a loop runs cannot be known before somebody says so.
            let is_loop = text("id") == "op:transform.each";
            let is_open = |code: &&str| *code == "unconnected-input" || is_loop && *code == "tool-parameter";
            assert!(errors.iter().all(is_open), "{}: {errors:?}\n{:?}", text("id"), edited.diagnostics);
        }
    }
}
