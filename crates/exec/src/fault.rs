//! A violation of the specification at a place in a document.

use stave_canon::Value;
use stave_diag::{Code, Diagnostic, SourceId, Span, codes};

use crate::{Acceptance, Document, On};

/// One violation: which rule, where, and what a person should do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentFault {
    pub code: Code,
    /// A JSON pointer to the value at fault, or to the object that lacks one.
    pub pointer: String,
    pub message: String,
    pub help: Option<String>,
}

impl DocumentFault {
    pub(crate) fn new(code: Code, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        DocumentFault { code, pointer: pointer.into(), message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl std::fmt::Display for DocumentFault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pointer = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(out, "{pointer}: {} [{}]", self.message, self.code)
    }
}

/// Reads an exec document from its text, with a diagnostic at a line and column for every violation.
pub fn check_text(source: SourceId, text: &str, acceptance: Acceptance) -> Result<Document, Vec<Diagnostic>> {
    let value: Value = stave_canon::parse_untrusted(text).map_err(|error| {
        let end = text.len().min(error.offset + 1);
        let start = error.offset.min(end);
        let span = Span::new(source, text.floor_char_boundary(start), text.ceil_char_boundary(end));
        vec![Diagnostic::new(codes::exec::EXEC_NOT_JSON, span, error.message)]
    })?;
    crate::read(&value, acceptance).map_err(|faults| {
        let mut diagnostics: Vec<Diagnostic> =
            faults.into_iter().map(|fault| locate(source, text, fault)).collect();
        stave_diag::sort(&mut diagnostics);
        diagnostics
    })
}

/// What a document has of a later minor version than [`crate::VERSION`]: it is kept, and no runtime of this version
/// obeys it. A document of this version has nothing of the kind.
#[must_use]
pub fn later_version(document: &Document) -> Vec<DocumentFault> {
    if document.version == crate::VERSION {
        return Vec::new();
    }
    let code = codes::exec::EXEC_LATER_VERSION;
    let message = format!(
        "version {:?} is later than {:?}: what it adds is kept and has no effect here",
        document.version,
        crate::VERSION
    );
    let mut found = vec![DocumentFault::new(code, "/version", message)];
    for (index, edge) in document.graph.edges.iter().enumerate() {
        if let On::Later(word) = &edge.on {
            let message =
                format!("the edge from `{}` to `{}` on `{word}` is never taken", edge.from, edge.to);
            let fault = DocumentFault::new(code, format!("/graph/edges/{index}/on"), message);
            found.push(fault.help("this runtime takes edges on `success` and `failure`"));
        }
    }
    found
}

/// [`later_version`] at lines and columns of the document's text.
#[must_use]
pub fn later_additions(source: SourceId, text: &str, document: &Document) -> Vec<Diagnostic> {
    later_version(document).into_iter().map(|fault| locate(source, text, fault)).collect()
}

pub(crate) fn locate(source: SourceId, text: &str, fault: DocumentFault) -> Diagnostic {
    let range = stave_canon::locate(text, &fault.pointer).unwrap_or(0..0);
    // A whole object is too much to underline for something it lacks; its first character marks it.
    let opens = text.as_bytes().get(range.start).is_some_and(|byte| matches!(byte, b'{' | b'['));
    let end = if opens { range.start + 1 } else { range.end };
    let diagnostic = Diagnostic::new(fault.code, Span::new(source, range.start, end), fault.message);
    match fault.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}
