//! Recorded exchanges: what was asked of a model and what it answered, in a file that people can read and edit.
//!
//! A recording is YAML, because its texts are long and have lines: a block scalar shows a prompt as it is, a
//! comment can say why a reply was changed by hand, and a difference between two recordings reads well. A
//! recorded request matches by its hash ([`request_hash`]); an exchange written by hand may match by a pattern.
//!
//! Invariant: headers and keys are never in a recording, and values that equal a given secret are replaced.

mod difference;
mod fingerprint;
mod recorder;
mod redact;
mod replayer;
mod yaml;

use std::time::Duration;

use stave_canon::{Object, Value};
use stave_diag::{Diagnostic, Source, SourceId, Span};
use stave_yaml::{Tree, TreeValue};
use thiserror::Error;

pub use fingerprint::{request_hash, stable_request};
pub use recorder::Recorder;
pub use redact::Redactor;
pub use replayer::Replayer;

use crate::{ErrorKind, Message, Request, Response};

/// The version of the file format.
const VERSION: i64 = 1;

/// The longest recording.
const MAX_BYTES: usize = 64 << 20;

const HEADER: &str = "# Recorded model exchanges. A request matches by its hash; see docs/llm.md for how to write one by hand.\n";

/// Exchanges in file order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recording {
    pub exchanges: Vec<Exchange>,
}

/// One question and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    pub when: When,
    pub answer: Answer,
    /// How often the answer is given; `None` is without end.
    pub times: Option<u32>,
}

/// Which requests an exchange answers.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// The same request, apart from what does not change the answer.
    Request(Box<Request>),
    /// Any request that fits.
    Pattern(Pattern),
}

/// A looser rule, for exchanges that are written by hand. Everything it names must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pattern {
    pub model: Option<String>,
    /// Each must occur in the text of some message.
    pub contains: Vec<String>,
    /// Each must occur in the text of the last message.
    pub last_contains: Vec<String>,
    /// None may occur in the text of any message.
    pub excludes: Vec<String>,
}

/// What comes back.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Response(Box<Response>),
    /// The provider refuses, as it would with this status.
    Failure {
        status: u16,
        message: String,
        retry_after: Option<Duration>,
    },
}

/// A recording that cannot be read. Line and column count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line} column {column}: {message}")]
pub struct RecordingError {
    pub message: String,
    pub line: usize,
    pub column: usize,
}

impl Recording {
    /// Reads the text of a recording.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let fault = |span: Span, message: String| {
            let place = Source::new("recording", text).line_column(span.range().start);
            RecordingError { message, line: place.line as usize, column: place.column as usize }
        };
        let document = stave_yaml::read_up_to(MAX_BYTES, SourceId(0), text);
        if let Some(found) = document.diagnostics.into_iter().find(Diagnostic::is_error) {
            return Err(fault(found.primary, found.message));
        }
        let root = document.root.as_ref();
        let start = root.map_or(Span::at(SourceId(0), 0), |root| root.span);
        let whole = |message: &str| fault(start, message.to_owned());
        let entries = root.and_then(Tree::entries);
        let Some(entries) = entries else {
            return Err(whole("a recording is a mapping with `version` and `exchanges`"));
        };
        let mut version = None;
        let mut exchanges = Vec::new();
        for entry in entries {
            let key = entry.key.value.as_str();
            match (key, &entry.value.value) {
                ("version", TreeValue::Number(number)) => version = number.as_i64(),
                ("exchanges", TreeValue::Null) => {}
                ("exchanges", TreeValue::Sequence(items)) => {
                    let read = |tree: &Tree| {
                        Exchange::read(tree.to_value()).map_err(|message| fault(tree.span, message))
                    };
                    exchanges = items.iter().map(read).collect::<Result<_, _>>()?;
                }
                _ => {
                    let message = format!("`{key}` is unknown here or has the wrong type");
                    return Err(fault(entry.value.span, message));
                }
            }
        }
        match version {
            Some(VERSION) => Ok(Recording { exchanges }),
            Some(other) => {
                Err(whole(&format!("version {other} is not known; this program reads version {VERSION}")))
            }
            None => Err(whole("`version: 1` is missing")),
        }
    }

    /// The text of the recording.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut text = format!("{HEADER}version: {VERSION}\nexchanges:");
        if self.exchanges.is_empty() {
            text.push_str(" []\n");
            return text;
        }
        text.push('\n');
        for exchange in &self.exchanges {
            yaml::write_item(&exchange.to_value(), 2, &mut text);
        }
        text
    }
}

impl Exchange {
    /// A recorded exchange, answered once.
    #[must_use]
    pub fn recorded(request: Request, response: Response) -> Self {
        Exchange {
            when: When::Request(Box::new(request)),
            answer: Answer::Response(Box::new(response)),
            times: Some(1),
        }
    }

    fn read(value: Value) -> Result<Self, String> {
        Exchange::from_value(value).map_err(|kind| match kind {
            ErrorKind::Decode(message) => message,
            other => other.to_string(),
        })
    }

    fn from_value(value: Value) -> Result<Self, ErrorKind> {
        let Value::Object(mut fields) = value else { return Err(refuse("an exchange is a mapping")) };
        let when = match (fields.shift_remove("request"), fields.shift_remove("match")) {
            (Some(request), None) => When::Request(Box::new(Request::from_value(request)?)),
            (None, Some(pattern)) => When::Pattern(Pattern::from_value(pattern)?),
            _ => return Err(refuse("an exchange has either `request` or `match`")),
        };
        let answer = match (fields.shift_remove("response"), fields.shift_remove("error")) {
            (Some(Value::String(text)), None) => {
                Response::from_value([("content", text)].into_iter().collect())?.into()
            }
            (Some(response), None) => Response::from_value(response)?.into(),
            (None, Some(error)) => Answer::failure_from_value(error)?,
            _ => return Err(refuse("an exchange has either `response` or `error`")),
        };
        let times = match (fields.shift_remove("times"), &when) {
            (None, When::Request(_)) => Some(1),
            (None, When::Pattern(_)) => None,
            (Some(Value::String(word)), _) if word == "always" => None,
            (Some(value), _) => match value.as_i64().and_then(|times| u32::try_from(times).ok()) {
                Some(times) => Some(times),
                None => return Err(refuse("`times` is a count or `always`")),
            },
        };
        match fields.keys().next() {
            Some(key) => Err(refuse(&format!("the field `{key}` of an exchange is unknown"))),
            None => Ok(Exchange { when, answer, times }),
        }
    }

    fn to_value(&self) -> Value {
        let mut out = Object::new();
        match &self.when {
            When::Request(request) => out.insert("request".to_owned(), request.to_value()),
            When::Pattern(pattern) => out.insert("match".to_owned(), pattern.to_value()),
        };
        let default = matches!(self.when, When::Request(_)).then_some(1);
        if self.times != default {
            out.insert("times".to_owned(), self.times.map_or_else(|| "always".into(), Value::from));
        }
        match &self.answer {
            Answer::Response(response) => out.insert("response".to_owned(), response.to_value()),
            Answer::Failure { status, message, retry_after } => {
                let mut error = Object::new();
                error.insert("status".to_owned(), u32::from(*status).into());
                error.insert("message".to_owned(), message.as_str().into());
                if let Some(wait) = retry_after {
                    let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    error.insert("retry_after_ms".to_owned(), milliseconds.into());
                }
                out.insert("error".to_owned(), error.into())
            }
        };
        Value::Object(out)
    }
}

impl Pattern {
    fn from_value(value: Value) -> Result<Self, ErrorKind> {
        let Value::Object(fields) = value else { return Err(refuse("`match` is a mapping")) };
        let mut pattern = Pattern::default();
        for (key, value) in fields {
            let texts = || match &value {
                Value::String(text) => Some(vec![text.clone()]),
                Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
                _ => None,
            };
            let list = match key.as_str() {
                "model" => {
                    let model = value.as_str().ok_or_else(|| refuse("`model` of a match is a text"))?;
                    pattern.model = Some(model.to_owned());
                    continue;
                }
                "contains" => &mut pattern.contains,
                "last_contains" => &mut pattern.last_contains,
                "excludes" => &mut pattern.excludes,
                _ => return Err(refuse(&format!("the field `{key}` of a match is unknown"))),
            };
            *list =
                texts().ok_or_else(|| refuse(&format!("`{key}` of a match is a text or a list of texts")))?;
        }
        Ok(pattern)
    }

    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        if let Some(model) = &self.model {
            out.insert("model".to_owned(), model.as_str().into());
        }
        for (key, texts) in [
            ("contains", &self.contains),
            ("last_contains", &self.last_contains),
            ("excludes", &self.excludes),
        ] {
            if !texts.is_empty() {
                out.insert(key.to_owned(), texts.clone().into());
            }
        }
        Value::Object(out)
    }

    /// Whether everything that the pattern names holds for `request`.
    #[must_use]
    pub fn fits(&self, request: &Request) -> bool {
        let within = |message: &Message, wanted: &str| message.texts().any(|text| text.contains(wanted));
        let anywhere = |wanted: &String| request.messages.iter().any(|message| within(message, wanted));
        let at_the_end =
            |wanted: &String| request.messages.last().is_some_and(|message| within(message, wanted));
        self.model.as_ref().is_none_or(|model| *model == request.model)
            && self.contains.iter().all(anywhere)
            && self.last_contains.iter().all(at_the_end)
            && !self.excludes.iter().any(anywhere)
    }
}

impl Answer {
    fn failure_from_value(value: Value) -> Result<Self, ErrorKind> {
        let Value::Object(mut fields) = value else { return Err(refuse("`error` is a mapping")) };
        let status = fields.shift_remove("status").and_then(|status| status.as_i64());
        let status = status
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (400..600).contains(status))
            .ok_or_else(|| refuse("`status` of an error is a number from 400 to 599"))?;
        let wait = fields.shift_remove("retry_after_ms").and_then(|wait| wait.as_i64());
        let message = match fields.shift_remove("message") {
            None => String::new(),
            Some(Value::String(text)) => text,
            Some(_) => return Err(refuse("`message` of an error is a text")),
        };
        match fields.keys().next() {
            Some(key) => Err(refuse(&format!("the field `{key}` of an error is unknown"))),
            None => Ok(Answer::Failure {
                status,
                message,
                retry_after: wait.and_then(|wait| u64::try_from(wait).ok()).map(Duration::from_millis),
            }),
        }
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Answer::Response(Box::new(response))
    }
}

fn refuse(message: &str) -> ErrorKind {
    ErrorKind::Decode(message.to_owned())
}
