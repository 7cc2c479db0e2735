//! The request, seen as the flow's context.

use stave_canon::{Object, Timestamp, Value};
use stave_diag::codes::run as codes;
use stave_engine::graph::reads_references;
use stave_exec::Document;

use crate::{Failure, failure::FailureKind, port};

/// Fields that the engine provides whether or not they are declared.
const EVENT_TIME: &str = "event_time";
const TRACE_ID: &str = "trace_id";
const RUN_ID: &str = "run_id";
const AUTH: &str = "auth";

/// The request body after it was checked against the flow's declared fields: one object, seen by steps
/// as `_input` fields and as `context`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRequest {
    /// The declared fields that the request has.
    pub fields: Object,
    /// Those fields and the built-in ones.
    pub context: Object,
    pub event_time: Timestamp,
}

impl RunRequest {
    /// Checks a request. All missing required fields are named at once, then all fields of another type than the
    /// flow publishes; undeclared fields are ignored.
    pub fn new(
        body: &Value,
        inputs_schema: &Object,
        run_id: &str,
        arrived_at: Timestamp,
    ) -> Result<RunRequest, Failure> {
        let body = object(body)?;
        let names = |key: &str| match (key, inputs_schema.get(key)) {
            ("properties", Some(Value::Object(properties))) => properties.keys().cloned().collect(),
            (_, Some(Value::Array(names))) => {
                names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        let missing: Vec<String> =
            names("required").into_iter().filter(|name| !body.contains_key(name)).collect();
        if !missing.is_empty() {
            let list = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let message = format!("the request lacks {list}");
            return Err(Failure::new(codes::MISSING_CONTEXT, FailureKind::Request, message).details(missing));
        }
        check_types(body, inputs_schema)?;
        let event_time = match body.get(EVENT_TIME) {
            None => arrived_at,
            Some(value) => parse_event_time(value)?,
        };
        let declared = names("properties");
        let fields: Object = declared
            .iter()
            .filter_map(|name| body.get(name).map(|value| (name.clone(), value.clone())))
            .collect();
        let context = context(&fields, body, event_time, run_id);
        Ok(RunRequest { fields, context, event_time })
    }

    /// The request of a workflow: every field counts. A JSON Schema is enforced; the names and type texts of
    /// a compiled workflow are not one, and a field that is absent is null to a reference that names it.
    pub fn of_workflow(
        body: &Value,
        inputs_schema: &Object,
        run_id: &str,
        arrived_at: Timestamp,
    ) -> Result<RunRequest, Failure> {
        let fields = object(body)?.clone();
        if inputs_schema.get("type").is_some_and(|word| word.as_str().is_some()) {
            let validator = port::compile_schema(&Value::Object(inputs_schema.clone()))?;
            let violations = validator.violations(body);
            if !violations.is_empty() {
                let message = format!("the request violates the inputs schema: {}", violations.join("; "));
                return Err(Failure::new(codes::INVALID_INPUT, FailureKind::Request, message));
            }
        }
        let event_time = fields.get(EVENT_TIME).and_then(|value| parse_event_time(value).ok());
        let event_time = event_time.unwrap_or(arrived_at);
        let context = context(&fields, &fields, event_time, run_id);
        Ok(RunRequest { fields, context, event_time })
    }

    /// The session that session state belongs to.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        self.context.get("session_id").and_then(Value::as_str)
    }
}

/// Whether a run of this document could begin with this request: what a run would refuse before its first step.
pub fn check_request(document: &Document, body: &Value, now: Timestamp) -> Result<(), Failure> {
    let schema = &document.inputs_schema;
    let read = if reads_references(document)? { RunRequest::of_workflow } else { RunRequest::new };
    read(body, schema, "", now).map(drop)
}

/// Refuses fields of another type than the schema publishes. The ports would refuse them too, but perhaps after other steps
/// had their effects.
fn check_types(body: &Object, inputs_schema: &Object) -> Result<(), Failure> {
    let properties = inputs_schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let wrong = properties.filter_map(|(name, property)| {
        let (wanted, value) = (property.get("type")?.as_str()?, body.get(name)?);
        let is_known = ["string", "number", "boolean", "object", "array"].contains(&wanted);
        let found = if matches!(value, Value::Number(_)) { "number" } else { value.kind() };
        (is_known && found != wanted)
            .then(|| format!("`{name}` is {}, not {}", port::article(value.kind()), port::article(wanted)))
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let message = format!("in the request, {}", wrong.join("; "));
    Err(Failure::new(codes::INVALID_INPUT, FailureKind::Request, message))
}

fn object(body: &Value) -> Result<&Object, Failure> {
    body.as_object().ok_or_else(|| {
        let message = format!("the request is {}, not an object", body.kind());
        Failure::new(codes::MISSING_CONTEXT, FailureKind::Request, message)
    })
}

/// The fields and what the engine adds to them.
fn context(fields: &Object, body: &Object, event_time: Timestamp, run_id: &str) -> Object {
    let mut context = fields.clone();
    let text = body.get(EVENT_TIME).cloned().unwrap_or_else(|| event_time.to_string().into());
    context.insert(EVENT_TIME.into(), text);
    context.insert(RUN_ID.into(), run_id.into());
    let trace_id = body.get(TRACE_ID).and_then(Value::as_str).unwrap_or(run_id).to_owned();
    context.insert(TRACE_ID.into(), trace_id.into());
    if let Some(auth @ Value::Object(_)) = body.get(AUTH) {
        context.insert(AUTH.into(), auth.clone());
    }
    context
}

/// The request as it may be stored, and whether it had an `auth`.
#[must_use]
pub fn without_auth(request: &Value) -> (Value, bool) {
    let mut stored = request.clone();
    let auth = stored.as_object_mut().and_then(|body| body.shift_remove(AUTH));
    (stored, auth.is_some())
}

/// What distinguishes the `auth` of a run's request from another one, without revealing it. The run's id is a part of
/// it, so that equal digests do not show which runs one person asked for.
pub(crate) fn auth_digest(run: &str, auth: &Value) -> String {
    let asked = Value::Array(vec![run.into(), auth.clone()]);
    stave_canon::prefixed_sha256(stave_canon::compact_utf8(&asked))
}

/// The same for a request that has one.
pub(crate) fn request_auth_digest(run: &str, request: &Value) -> Option<String> {
    request.get(AUTH).map(|auth| auth_digest(run, auth))
}

/// The request with its `auth` put back.
#[must_use]
pub(crate) fn with_auth(mut request: Value, auth: Value) -> Value {
    if let Some(body) = request.as_object_mut() {
        body.insert(AUTH.to_owned(), auth);
    }
    request
}

fn parse_event_time(value: &Value) -> Result<Timestamp, Failure> {
    let parsed = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    parsed.ok_or_else(|| {
        let message = format!("`event_time` is {value}, not an RFC 3339 timestamp");
        Failure::new(codes::MISSING_CONTEXT, FailureKind::Request, message)
    })
}
