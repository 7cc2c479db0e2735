//! JSON-RPC 2.0: one object a line. A reply without an error has no `error` at all, because peers look for
//! the key and not for its value.

use stave_canon::{Object, Value, compact_ascii, parse_untrusted_bytes};

use super::fault::{Code, Fault};
use super::lines::{Incoming, MAX_LINE_BYTES};

/// A request; without an id nobody waits for its reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Object,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    /// An empty line.
    Nothing,
    Request(Request),
    /// Not a request; the id is null when there is none to be seen.
    Malformed(Value, Fault),
}

pub(super) fn read(incoming: Incoming) -> Message {
    let malformed = |message: String| Message::Malformed(Value::Null, Fault::transport(message));
    let line = match incoming {
        Incoming::Line(line) => line,
        Incoming::TooLong => return malformed(format!("a line is longer than {MAX_LINE_BYTES} bytes")),
    };
    if line.iter().all(u8::is_ascii_whitespace) {
        return Message::Nothing;
    }
    let mut object = match parse_untrusted_bytes(&line) {
        Ok(Value::Object(object)) => object,
        Ok(other) => return malformed(format!("a request is an object, and this is {}", other.kind())),
        Err(error) => return malformed(format!("a line is not JSON: {error}")),
    };
    let id = object.shift_remove("id");
    let is_id = |id: &Value| matches!(id, Value::Null | Value::Number(_) | Value::String(_));
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return malformed("an `id` is a number or a text".to_owned());
    }
    let shown = id.clone().unwrap_or_default();
    let Some(Value::String(method)) = object.shift_remove("method") else {
        return Message::Malformed(shown, Fault::transport("`method` is missing or no text"));
    };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        let fault = Fault::new(Code::InvalidRequest, "`jsonrpc` is not \"2.0\"", Value::Null);
        return Message::Malformed(shown, fault);
    }
    let params = match object.shift_remove("params") {
        None | Some(Value::Null) => Object::new(),
        Some(Value::Object(params)) => params,
        Some(other) => {
            let message = format!("`params` is {}, not an object", other.kind());
            return Message::Malformed(shown, Fault::schema(message, Value::Null));
        }
    };
    Message::Request(Request { id, method, params })
}

pub(super) fn reply(id: &Value, result: Result<Value, Fault>) -> String {
    match result {
        Ok(result) => line(id, "result", result),
        Err(fault) => error(id, &fault),
    }
}

pub(super) fn error(id: &Value, fault: &Fault) -> String {
    line(id, "error", fault.to_value())
}

/// ASCII only, so that a peer reads it whatever encoding it assumes.
fn line(id: &Value, key: &str, value: Value) -> String {
    let mut object = Object::new();
    object.insert("jsonrpc".into(), "2.0".into());
    object.insert("id".into(), id.clone());
    object.insert(key.to_owned(), value);
    compact_ascii(&Value::Object(object))
}
