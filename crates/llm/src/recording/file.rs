//! The file of a recording: what each key holds.

use std::time::Duration;

use stave_canon::Value;
use stave_diag::{SourceId, Span};
use stave_shape::{Definitions, Fault, FaultKind, Place, Reader, Shape, ValueKind, ValueNode};
use stave_yaml::Tree;

use super::{Answer, Exchange, ExchangeMatch, Recording, RequestPattern, VERSION};
use crate::codec::neutral;
use crate::{Part, Request, Response};

/// The rule of faults that only recordings have.
const RULE: &str = "recording";

/// Recorded exchanges with models.
#[derive(Debug, Shape)]
#[shape(name = "Recording", mark(version = VERSION))]
pub(super) struct RecordingFile {
    /// In the order in which equal requests are answered.
    #[shape(default, null_is_absent)]
    exchanges: Vec<Exchange>,
}

/// One question and its answer: either `request` or `match`, and either `response` or `error`.
#[derive(Debug, Shape)]
#[shape(not_null, name = "Exchange", check = has_a_question_and_an_answer)]
struct ExchangeForm {
    /// The same request, apart from what does not change the answer.
    request: Option<Request>,
    /// Any request that fits.
    #[shape(rename = "match")]
    pattern: Option<RequestPattern>,
    /// How often the answer is given, or `always`. A request is answered once when absent, a match always.
    times: Option<Times>,
    /// The answer; a text stands for its content.
    response: Option<RecordedResponse>,
    error: Option<RecordedError>,
}

/// The provider refuses, as it would with this status.
#[derive(Debug, Shape)]
#[shape(not_null)]
struct RecordedError {
    #[shape(with = status)]
    status: u16,
    #[shape(default)]
    message: String,
    /// What the provider asks to wait, in milliseconds.
    #[shape(max = i64::MAX)]
    retry_after_ms: Option<u64>,
}

#[derive(Debug)]
struct RecordedResponse(Response);

#[derive(Debug, Clone, Copy)]
enum Times {
    Always,
    Count(u32),
}

/// The JSON Schema of a recording.
#[must_use]
pub fn schema() -> Value {
    stave_shape::document::<RecordingFile>("urn:stave:recording:1", "Recorded model exchanges")
}

/// The sentence about a fault.
pub(super) fn message(fault: &Fault) -> String {
    let key = fault.pointer.as_str().trim_start_matches('/');
    match &fault.kind {
        FaultKind::MissingKey("version") => format!("`version: {VERSION}` is missing"),
        FaultKind::WrongMark { found, .. } => {
            format!("version {found} is not known; this program reads version {VERSION}")
        }
        FaultKind::UnknownKey { .. } | FaultKind::WrongType { .. } if !key.contains('/') => {
            format!("`{key}` is unknown here or has the wrong type")
        }
        kind => neutral::message(kind, &fault.pointer, "a recording"),
    }
}

/// Where a fault is shown: at its value, and for an unknown key of the file at what the key holds.
pub(super) fn place(root: &Tree, fault: &Fault) -> Option<Span> {
    let key = fault.pointer.as_str().trim_start_matches('/');
    let entry = root.entries().unwrap_or_default().iter().find(|entry| entry.key.value.as_str() == key);
    match (entry, &fault.span) {
        (Some(entry), _) => Some(entry.value.span),
        (None, Some(span)) => Some(Span::new(SourceId(0), span.start, span.end)),
        (None, None) => None,
    }
}

impl RecordingFile {
    pub(super) fn recording(self) -> Recording {
        Recording { exchanges: self.exchanges }
    }
}

fn has_a_question_and_an_answer<N: ValueNode>(
    _: Option<&ExchangeForm>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    for [one, other] in [["request", "match"], ["response", "error"]] {
        if node.member(one).is_some() == node.member(other).is_some() {
            let message = format!("an exchange has either `{one}` or `{other}`");
            reader.fault(at, node.span(), FaultKind::rule(RULE, message));
        }
    }
}

impl Shape for Exchange {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let form = ExchangeForm::read(node, at, reader)?;
        let when = match (form.request, form.pattern) {
            (Some(request), _) => ExchangeMatch::Request(Box::new(request)),
            (None, pattern) => ExchangeMatch::Pattern(pattern?),
        };
        let answer = match (form.response, form.error) {
            (Some(response), _) => response.0.into(),
            (None, error) => {
                let RecordedError { status, message, retry_after_ms } = error?;
                Answer::Failure { status, message, retry_after: retry_after_ms.map(Duration::from_millis) }
            }
        };
        let times = match (form.times, &when) {
            (Some(Times::Count(times)), _) => Some(times),
            (Some(Times::Always), _) | (None, ExchangeMatch::Pattern(_)) => None,
            (None, ExchangeMatch::Request(_)) => Some(1),
        };
        Some(Exchange { when, answer, times })
    }

    fn write(&self) -> Value {
        let (request, pattern) = match &self.when {
            ExchangeMatch::Request(request) => (Some(Request::clone(request)), None),
            ExchangeMatch::Pattern(pattern) => (None, Some(pattern.clone())),
        };
        let (response, error) = match &self.answer {
            Answer::Response(response) => (Some(RecordedResponse(Response::clone(response))), None),
            Answer::Failure { status, message, retry_after } => {
                let wait = retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                let (status, message) = (*status, message.clone());
                (None, Some(RecordedError { status, message, retry_after_ms: wait }))
            }
        };
        let usual = request.is_some().then_some(1);
        let times = (self.times != usual).then(|| self.times.map_or(Times::Always, Times::Count));
        ExchangeForm { request, pattern, times, response, error }.write()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        ExchangeForm::schema(definitions)
    }
}

impl Shape for RecordedResponse {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        if let Some(text) = node.text() {
            let content = vec![Part::text(text)];
            return Some(RecordedResponse(Response { content, ..Response::default() }));
        }
        Response::read(node, at, reader).map(RecordedResponse)
    }

    fn write(&self) -> Value {
        self.0.write()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![String::schema(definitions), Response::schema(definitions)];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}

impl Shape for Times {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let count = || node.number()?.as_i64().and_then(|count| u32::try_from(count).ok());
        let times = match node.text() {
            Some("always") => Some(Times::Always),
            _ => count().map(Times::Count),
        };
        if times.is_none() {
            reader.fault(at, node.span(), FaultKind::rule(RULE, "`times` is a count or `always`"));
        }
        times
    }

    fn write(&self) -> Value {
        match self {
            Times::Always => "always".into(),
            Times::Count(count) => (*count).into(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![Value::from_iter([("const", "always")]), u32::schema(definitions)];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}

/// The status of a refusal.
mod status {
    use stave_canon::Value;
    use stave_shape::{Definitions, FaultKind, Place, Reader, ValueNode, integer_schema};

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<u16> {
        let status = node.number().and_then(|status| status.as_i64());
        let status = status.and_then(|status| u16::try_from(status).ok());
        let status = status.filter(|status| (400..600).contains(status));
        if status.is_none() {
            let message = "`status` of an error is a number from 400 to 599";
            reader.fault(at, node.span(), FaultKind::rule(super::RULE, message));
        }
        status
    }

    pub(super) fn write(status: &u16) -> Value {
        u32::from(*status).into()
    }

    pub(super) fn schema(_: &mut Definitions) -> Value {
        integer_schema(400i64, 599i64)
    }
}

/// One text, or a list of texts.
pub(super) mod texts {
    use super::*;
    use stave_shape::OneOrMany;

    pub(in super::super) fn read<N: ValueNode>(
        node: N,
        at: &Place<'_>,
        reader: &mut Reader,
    ) -> Option<Vec<String>> {
        let mut is_text = node.kind() == ValueKind::String;
        if node.kind() == ValueKind::Array {
            is_text = true;
            node.items(|item| is_text &= item.kind() == ValueKind::String);
        }
        if !is_text {
            let key = at.pointer();
            let key = key.as_str().rsplit('/').next().unwrap_or_default().to_owned();
            let message = format!("`{key}` of a match is a text or a list of texts");
            reader.fault(at, node.span(), FaultKind::rule(RULE, message));
            return None;
        }
        OneOrMany::read(node, at, reader).map(|texts| texts.0)
    }

    pub(in super::super) fn write(texts: &[String]) -> Value {
        texts.to_vec().into()
    }

    pub(in super::super) fn schema(definitions: &mut Definitions) -> Value {
        OneOrMany::<String>::schema(definitions)
    }
}
