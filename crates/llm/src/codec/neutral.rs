//! The neutral model as JSON: what recordings, journals and hashes hold. The types of the model read and write themselves;
//! [`forms`] has those that are written in another way than they are kept.
//!
//! Reading is strict, since people write this form by hand: a misspelt field is an error that names it.

mod forms;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stave_canon::{Pointer, Value};
use stave_shape::{FaultKind, Faults, Shape};

use crate::{ErrorKind, Request, Response};

pub(crate) use forms::content;

impl Request {
    /// The request as JSON. Fields at their default are left out.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.write()
    }

    /// Reads what [`Request::to_value`] writes.
    pub fn from_value(value: &Value) -> Result<Self, ErrorKind> {
        stave_shape::read(value).map_err(|faults| decode(&faults, "a request"))
    }
}

impl Response {
    /// The response as JSON. Fields at their default are left out.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.write()
    }

    /// Reads what [`Response::to_value`] writes, and two short forms for writing by hand: `json` in place of
    /// `content` for a reply that is JSON text, and `tool_calls` for calls by name and arguments.
    pub fn from_value(value: &Value) -> Result<Self, ErrorKind> {
        stave_shape::read(value).map_err(|faults| decode(&faults, "a response"))
    }
}

fn decode(faults: &Faults, root: &str) -> ErrorKind {
    let first = faults.0.first();
    ErrorKind::Decode(first.map(|fault| message(&fault.kind, &fault.pointer, root)).unwrap_or_default())
}

/// The sentence about a fault. `root` is what the document is, with its article.
pub(crate) fn message(kind: &FaultKind, pointer: &Pointer, root: &str) -> String {
    let steps: Vec<&str> = pointer.as_str().split('/').skip(1).collect();
    let is_key = |step: &&str| step.parse::<usize>().is_err();
    // A fault of an item is one of the list.
    let place = steps.iter().rposition(is_key);
    let key = place.and_then(|place| steps.get(place)).copied().unwrap_or_default();
    let owner = object_at(place.and_then(|place| steps.get(..place)).unwrap_or_default(), root);
    match kind {
        FaultKind::MissingKey(field) => format!("the field `{field}` is missing or has the wrong type"),
        FaultKind::WrongType { wanted: "an object", found } => {
            format!("{} must be an object, not {}", object_at(&steps, root), without_article(found))
        }
        FaultKind::WrongType { wanted: wanted @ content::WANTED, found } => {
            format!("content must be {wanted}, not {}", without_article(found))
        }
        FaultKind::UnknownWord { found, .. } if key == "type" => format!("unknown type of part `{found}`"),
        FaultKind::UnknownWord { words, found } => {
            format!("the {key} of {owner} must be {}, not `{found}`", words.join(", "))
        }
        FaultKind::Rule { message, .. } => message.clone(),
        _ => format!("the field `{key}` of {owner} is unknown or has the wrong type"),
    }
}

/// What an object is, by the way to it.
fn object_at<'r>(steps: &[&str], root: &'r str) -> &'r str {
    match steps {
        [] => root,
        [.., "exchanges", _] => "an exchange",
        [.., "messages", _] => "a message",
        [.., "content", _] => "a part",
        [.., "tools", _] => "a tool",
        [.., "tool_calls", _] => "a tool call",
        [.., "source"] => "a source",
        [.., "tool_choice"] => "a tool choice",
        [.., "response_schema"] => "a response schema",
        [.., "usage"] => "usage",
        [.., "request"] => "a request",
        [.., "response"] => "a response",
        [.., "match"] => "a match",
        [.., "error"] => "an error",
        _ => "an object",
    }
}

fn without_article(words: &str) -> &str {
    words.strip_prefix("an ").or_else(|| words.strip_prefix("a ")).unwrap_or(words)
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Request {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Request::from_value(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Response {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Response::from_value(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
