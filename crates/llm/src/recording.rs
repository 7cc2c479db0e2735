//! Recorded exchanges: what was asked of a model and what it answered, in a file that people can read and edit.
//!
//! A recording is YAML, because its texts are long and have lines: a block scalar shows a prompt as it is, a
//! comment can say why a reply was changed by hand, and a difference between two recordings reads well. A
//! recorded request matches by its hash ([`request_hash`]); an exchange written by hand may match by a pattern.
//!
//! Invariant: headers and keys are never in a recording, and values that equal a given secret are replaced.

mod difference;
mod file;
mod fingerprint;
mod recorder;
mod redact;
mod replayer;
mod yaml;

use std::time::Duration;

use stave_canon::Value;
use stave_diag::{Diagnostic, Source, SourceId, Span};
use stave_shape::Shape;
use thiserror::Error;

pub use file::schema;
use file::texts;
pub use fingerprint::{request_hash, stable_request};
pub use recorder::Recorder;
pub use redact::Redactor;
pub use replayer::Replayer;

use crate::{Message, Request, Response};

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
    pub when: ExchangeMatch,
    pub answer: Answer,
    /// How often the answer is given; `None` is without end.
    pub times: Option<u32>,
}

/// Which requests an exchange answers.
#[derive(Debug, Clone, PartialEq)]
pub enum ExchangeMatch {
    /// The same request, apart from what does not change the answer.
    Request(Box<Request>),
    /// Any request that fits.
    Pattern(RequestPattern),
}

/// A looser rule, for exchanges that are written by hand. Everything it names must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Shape)]
#[shape(name = "Pattern", not_null)]
pub struct RequestPattern {
    pub model: Option<String>,
    /// Each must occur in the text of some message.
    #[shape(default, omit_default, with = texts)]
    pub contains: Vec<String>,
    /// Each must occur in the text of the last message.
    #[shape(default, omit_default, with = texts)]
    pub last_contains: Vec<String>,
    /// None may occur in the text of any message.
    #[shape(default, omit_default, with = texts)]
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
        let Some(root) = root.filter(|root| root.entries().is_some()) else {
            return Err(whole("a recording is a mapping with `version` and `exchanges`"));
        };
        stave_shape::read(root).map(file::RecordingFile::recording).map_err(|faults| {
            let Some(first) = faults.0.first() else { return whole("a recording cannot be read") };
            let span = file::place(root, first).unwrap_or(start);
            fault(span, file::message(first))
        })
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
            yaml::write_item(&exchange.write(), 2, &mut text);
        }
        text
    }
}

impl Exchange {
    /// A recorded exchange, answered once.
    #[must_use]
    pub fn recorded(request: Request, response: Response) -> Self {
        Exchange {
            when: ExchangeMatch::Request(Box::new(request)),
            answer: Answer::Response(Box::new(response)),
            times: Some(1),
        }
    }
}

impl RequestPattern {
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.write()
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

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Answer::Response(Box::new(response))
    }
}
