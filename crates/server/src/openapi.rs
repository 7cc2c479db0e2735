//! The OpenAPI document of what a principal can ask for.

use stave_canon::{Object, Value};

use crate::handlers::Call;

/// The paths that every server has: path, method, id, what it is for, the schema of its body, the schema of
/// its answer, and the statuses it answers with beside 200.
const PATHS: &[Operation] = &[
    Operation::get("/v2/health/live", "live", "Whether the process works", "Object").open(),
    Operation::get("/v2/health/ready", "ready", "Whether runs are taken", "Object").open(),
    Operation::get("/v2", "server", "Name and version of the server", "Object").open(),
    Operation::get("/v1/models", "v1Models", "Names of the flows", "Models"),
    Operation::get("/v2/models", "v2Models", "Names of the flows", "Models"),
    Operation::get("/runs", "runs", "Runs, the newest first", "Runs"),
    Operation::post(
        "/runs",
        "startRun",
        "Begins a run and answers at once; with `?wait` when it has ended",
        "StartRun",
        "Object",
    ),
    Operation::get("/runs/{run}", "run", "Where a run stands, with each of its nodes", "Object"),
    Operation::get("/runs/{run}/questions", "questions", "What a run asks people to decide", "Object"),
    Operation::get("/runs/{run}/events", "events", "What happens in a run, as server-sent events", "Events"),
    Operation {
        method: "post",
        ..Operation::get("/runs/{run}/cancel", "cancelRun", "Ends a run, or asks it to end", "Object")
    },
    Operation::post(
        "/runs/{run}/replay",
        "replayRun",
        "Runs the document of a run that has ended again, from a node on or from what failed",
        "Replay",
        "Object",
    ),
    Operation::post(
        "/runs/{run}/resume",
        "resumeRun",
        "Goes on with a run that was interrupted",
        "Resume",
        "Object",
    ),
    Operation::post(
        "/runs/{run}/nodes/{node}/decision",
        "decide",
        "A person's decision, after which the run goes on",
        "Decision",
        "Object",
    ),
    Operation::get("/openapi.json", "openapi", "This document", "Object"),
    Operation::get("/metrics", "metrics", "What Prometheus collects", "Text"),
];

struct Operation {
    path: &'static str,
    method: &'static str,
    id: &'static str,
    about: &'static str,
    body: Option<&'static str>,
    answer: &'static str,
    is_open: bool,
}

impl Operation {
    const fn get(
        path: &'static str,
        id: &'static str,
        about: &'static str,
        answer: &'static str,
    ) -> Operation {
        Operation { path, method: "get", id, about, body: None, answer, is_open: false }
    }

    const fn post(
        path: &'static str,
        id: &'static str,
        about: &'static str,
        body: &'static str,
        answer: &'static str,
    ) -> Operation {
        Operation { path, method: "post", id, about, body: Some(body), answer, is_open: false }
    }

    const fn open(mut self) -> Operation {
        self.is_open = true;
        self
    }

    fn to_value(&self) -> Value {
        let body = self.body.map(reference);
        operation(self.id, self.about, parameters(self), body, self.answer, self.is_open)
    }
}

const SCHEMAS: &str = r##"{
  "Object": {"type": "object"},
  "Models": {"type": "object", "required": ["models"], "properties": {"models": {"type": "array", "items": {"type": "string"}}}},
  "Runs": {"type": "object", "required": ["runs"], "properties": {"runs": {"type": "array", "items": {"type": "object"}}, "next": {"type": ["string", "null"], "description": "the `cursor` of the next page; null on the last one"}}},
  "Status": {"type": "string", "enum": ["queued", "running", "waiting", "interrupted", "quarantined", "ok", "error", "cancelled"]},
  "StartRun": {"type": "object", "required": ["flow"], "additionalProperties": false, "properties": {"flow": {"type": "string"}, "input": {"type": "object"},
    "run_id": {"type": "string", "pattern": "^(?!key_)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "description": "the id of the run: the same request again is the same run"}}},
  "Resume": {"type": "object", "additionalProperties": false, "properties": {"auth": {"type": "object"}, "force": {"type": "boolean"}}},
  "Replay": {"type": "object", "additionalProperties": false, "properties": {"node": {"type": ["string", "null"]}, "auth": {"type": "object"}}},
  "Decision": {"type": "object", "required": ["approved"], "additionalProperties": false, "properties": {"approved": {"type": "boolean"}, "comment": {"type": "string"}, "digest": {"type": "string", "description": "the digest of the question that is decided, as the run's `asks` has it"}, "auth": {"type": "object"}}},
  "Tensor": {"type": "object", "required": ["name", "datatype", "shape", "data"], "properties": {
    "name": {"type": "string"}, "datatype": {"type": "string"}, "shape": {"type": "array", "items": {"type": "integer"}}, "data": {"type": "array"}, "parameters": {"type": "object"}}},
  "InferRequest": {"type": "object", "required": ["inputs"], "properties": {"id": {"type": "string"}, "inputs": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Tensor"}}}},
  "InferResponse": {"type": "object", "required": ["model_name", "outputs"], "properties": {
    "model_name": {"type": "string"}, "model_version": {"type": "string"}, "id": {"type": "string"}, "parameters": {"type": "object"},
    "outputs": {"type": "array", "items": {"$ref": "#/components/schemas/Tensor"}}}},
  "Problem": {"type": "object", "required": ["type", "title", "status", "detail"], "properties": {
    "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"},
    "node": {"type": ["string", "null"]}, "trace_id": {"type": ["string", "null"]}}}
}"##;

pub(crate) fn document(call: &Call<'_>) -> Value {
    let mut paths = Object::new();
    let mut add = |path: &str, method: &str, value: Value| {
        let item = paths.entry(path.to_owned()).or_insert_with(|| Value::Object(Object::new()));
        if let Some(item) = item.as_object_mut() {
            item.insert(method.to_owned(), value);
        }
    };
    for operation in PATHS {
        add(operation.path, operation.method, operation.to_value());
    }
    let catalog = call.shared.catalog();
    for (index, model) in catalog.seen(&call.principal).enumerate() {
        let name = encoded(&model.name);
        let each = |what: &str| format!("{what}{index}");
        let request = Value::from(model.document.inputs_schema.clone());
        let batch = Value::from_iter([
            ("type", Value::from("object")),
            ("required", vec!["instances"].into()),
            // A request of a batch that does not fit is answered in its place, so it is taken.
            ("properties", Value::from_iter([("instances", array_of(Value::Object(Object::new())))])),
        ]);
        let body = Value::from_iter([("anyOf", Value::Array(vec![request, batch]))]);
        let about = |text: &str| format!("{text} `{}`", model.name);
        let show = |id: &str| operation(&each(id), &about("The flow"), Vec::new(), None, "Object", false);
        add(&format!("/v1/models/{name}"), "get", show("v1Model"));
        add(&format!("/v2/models/{name}"), "get", show("v2Model"));
        add(&format!("/v2/models/{name}/ready"), "get", show("v2ModelReady"));
        let key = vec![idempotency_key()];
        let predict = operation(&each("predict"), &about("Runs"), key.clone(), Some(body), "Any", false);
        add(&format!("/v1/models/{name}:predict"), "post", predict);
        let infer = operation(
            &each("infer"),
            &about("Runs"),
            key,
            Some(reference("InferRequest")),
            "InferResponse",
            false,
        );
        add(&format!("/v2/models/{name}/infer"), "post", infer);
    }
    let mut components = Object::new();
    components.insert("schemas".into(), stave_canon::parse(SCHEMAS).unwrap_or_default());
    let mut document = Object::new();
    document.insert("openapi".into(), "3.1.0".into());
    let info = [("title", Value::from("Stave")), ("version", call.shared.options.version.into())];
    document.insert("info".into(), info.into_iter().collect());
    document.insert("paths".into(), paths.into());
    if !call.shared.options.keys.current().is_empty() {
        let scheme = Value::from_iter([("type", "http"), ("scheme", "bearer")]);
        components.insert("securitySchemes".into(), Value::from_iter([("key", scheme)]));
        let need = Value::from_iter([("key", Value::Array(Vec::new()))]);
        document.insert("security".into(), Value::Array(vec![need]));
    }
    document.insert("components".into(), components.into());
    document.into()
}

fn operation(
    id: &str,
    about: &str,
    parameters: Vec<Value>,
    body: Option<Value>,
    answer: &str,
    is_open: bool,
) -> Value {
    let mut members = Object::new();
    members.insert("operationId".into(), id.into());
    members.insert("summary".into(), about.into());
    if !parameters.is_empty() {
        members.insert("parameters".into(), parameters.into());
    }
    if let Some(schema) = body {
        let content = content("application/json", Some(schema));
        let is_required = !matches!(id, "resumeRun" | "replayRun");
        let body = [("content", content), ("required", is_required.into())];
        members.insert("requestBody".into(), Value::from_iter(body));
    }
    let (media, schema) = match answer {
        "Events" => ("text/event-stream", None),
        "Text" => ("text/plain", None),
        "Any" => ("application/json", None),
        name => ("application/json", Some(reference(name))),
    };
    let answered = |about: &str, content: Value| {
        Value::from_iter([("description", Value::from(about)), ("content", content)])
    };
    let mut responses = Object::new();
    responses.insert("200".into(), answered("What was asked for", content(media, schema.clone())));
    if matches!(id, "startRun" | "cancelRun" | "resumeRun" | "replayRun" | "decide")
        || id.starts_with("predict")
        || id.starts_with("infer")
    {
        let taken = content("application/json", Some(reference("Object")));
        responses
            .insert("202".into(), answered("The run was taken, and goes on or waits for a person", taken));
    }
    let problem = content("application/problem+json", Some(reference("Problem")));
    responses.insert("default".into(), answered("Why not", problem));
    members.insert("responses".into(), responses.into());
    if is_open {
        members.insert("security".into(), Value::Array(Vec::new()));
    }
    members.into()
}

fn content(media: &str, schema: Option<Value>) -> Value {
    let described: Value = schema.map(|schema| ("schema", schema)).into_iter().collect();
    Value::from_iter([(media, described)])
}

fn parameter(name: &str, place: &str, schema: &str) -> Value {
    Value::from_iter([
        ("name", Value::from(name)),
        ("in", place.into()),
        ("required", (place == "path").into()),
        ("schema", stave_canon::parse(schema).unwrap_or_default()),
    ])
}

/// The key that lets a request be sent again.
fn idempotency_key() -> Value {
    parameter("idempotency-key", "header", r#"{"type": "string", "pattern": "^[!-~]{1,255}$"}"#)
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let mut parameters = Vec::new();
    for name in ["run", "node"] {
        if operation.path.contains(&format!("{{{name}}}")) {
            parameters.push(parameter(name, "path", r#"{"type": "string", "minLength": 1}"#));
        }
    }
    match operation.id {
        "runs" => {
            parameters.push(parameter("flow", "query", r#"{"type": "string"}"#));
            let status = r##"{"$ref": "#/components/schemas/Status"}"##;
            parameters.push(parameter("status", "query", status));
            parameters.push(parameter(
                "cursor",
                "query",
                r#"{"type": "string", "pattern": "^-?[0-9]+[.].+$"}"#,
            ));
            parameters.push(parameter(
                "limit",
                "query",
                r#"{"type": "integer", "minimum": 1, "maximum": 1000}"#,
            ));
        }
        "startRun" => {
            parameters.push(parameter("wait", "query", r#"{"type": "boolean"}"#));
            parameters.push(idempotency_key());
        }
        "events" => parameters.push(parameter("last-event-id", "header", r#"{"type": "string"}"#)),
        _ => {}
    }
    parameters
}

fn reference(name: &str) -> Value {
    Value::from_iter([("$ref", format!("#/components/schemas/{name}"))])
}

fn array_of(items: Value) -> Value {
    Value::from_iter([("type", Value::from("array")), ("items", items)])
}

/// A name as it stands in a path.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}
