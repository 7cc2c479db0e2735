//! An exception of the interpreter as the pool receives it.

use monty_types::{CodeLoc, ExcType, MontyException};
use stave_script::protocol::JobFailure;
use stave_script::{CodePlace, CodeRange, Limit};

/// Messages longer than this are cut: they may quote a whole value.
const MAX_MESSAGE: usize = 2_000;

/// How the places of an exception relate to the text its author wrote.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// How many lines the text has; places beyond belong to the call that was added to it.
    pub(crate) lines: u32,
    /// Columns that were put before the first line.
    pub(crate) indent: u32,
}

impl Frame {
    pub(crate) fn of(text: &str, indent: u32) -> Self {
        Frame { lines: u32::try_from(text.lines().count()).unwrap_or(u32::MAX), indent }
    }

    fn place(self, place: CodeLoc) -> CodePlace {
        let indent = if place.line == 1 { self.indent } else { 0 };
        CodePlace { line: place.line, column: place.column.saturating_sub(indent).max(1) }
    }
}

pub(crate) fn of(exception: &MontyException, frame: Frame) -> JobFailure {
    // The innermost place that is the author's own.
    let range = exception
        .traceback()
        .iter()
        .rev()
        .find(|place| place.start.line <= frame.lines)
        .map(|place| CodeRange { start: frame.place(place.start), end: frame.place(place.end) });
    let message = cut(exception.message().unwrap_or_default());
    match limit(exception) {
        Some(limit) => JobFailure::LimitExceeded { limit, detail: message, range },
        None => JobFailure::Raised { kind: exception.exc_type().to_string(), message, range },
    }
}

/// The bound behind an exception that the interpreter raised by itself.
fn limit(exception: &MontyException) -> Option<Limit> {
    let message = exception.message().unwrap_or_default();
    match exception.exc_type() {
        ExcType::MemoryError if message.contains("memory limit exceeded") => Some(Limit::Memory),
        ExcType::TimeoutError if message.contains("time limit exceeded") => Some(Limit::Time),
        ExcType::RecursionError => Some(Limit::Recursion),
        _ => None,
    }
}

fn cut(message: &str) -> String {
    match message.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}… (cut)", message.get(..end).unwrap_or_default()),
        None => message.to_owned(),
    }
}
