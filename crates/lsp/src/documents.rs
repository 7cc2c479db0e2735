//! The open documents.

use std::collections::HashMap;

use lsp_types::{TextDocumentContentChangeEvent, Uri};
use stave_diag::Diagnostic;
use stave_flow::CheckOptions;
use stave_flow::service::Analysis;

use crate::LineIndex;

/// What the server takes from outside: how the flows of a folder are judged.
pub trait CheckOptionsSource {
    /// The options for a document, by its URI.
    fn options(&self, uri: &str) -> CheckOptions;

    /// The findings of a text that is not a flow; `None` for flows.
    fn other_findings(&self, uri: &str, text: &str) -> Option<Vec<Diagnostic>> {
        let _ = (uri, text);
        None
    }
}

/// One open document.
pub(crate) struct Document {
    pub(crate) version: i32,
    pub(crate) text: String,
    pub(crate) places: LineIndex,
    /// Made when something is asked about the text.
    analysis: Option<Analysis>,
    pub(crate) is_flow: bool,
    /// Whether the editor has not received this text's findings.
    pub(crate) is_stale: bool,
}

#[derive(Default)]
pub(crate) struct Documents(HashMap<String, Document>);

impl Documents {
    pub(crate) fn open(&mut self, uri: &Uri, version: i32, text: String) {
        let places = LineIndex::new(&text);
        let document = Document { version, text, places, analysis: None, is_flow: true, is_stale: true };
        self.0.insert(uri.as_str().to_owned(), document);
    }

    pub(crate) fn close(&mut self, uri: &Uri) {
        self.0.remove(uri.as_str());
    }

    pub(crate) fn get_mut(&mut self, uri: &Uri) -> Option<&mut Document> {
        self.0.get_mut(uri.as_str())
    }

    pub(crate) fn change(&mut self, uri: &Uri, version: i32, changes: Vec<TextDocumentContentChangeEvent>) {
        let Some(document) = self.0.get_mut(uri.as_str()) else { return };
        for change in changes {
            match change.range {
                None => document.text = change.text,
                Some(range) => {
                    let start = document.places.offset(&document.text, range.start);
                    let end = document.places.offset(&document.text, range.end).max(start);
                    document.text.replace_range(start..end, &change.text);
                }
            }
            document.places = LineIndex::new(&document.text);
        }
        document.version = version;
        document.analysis = None;
        document.is_stale = true;
    }

    /// The documents whose findings are not told yet.
    pub(crate) fn stale(&mut self) -> impl Iterator<Item = (&str, &mut Document)> {
        let stale = self.0.iter_mut().filter(|(_, document)| document.is_stale);
        stale.map(|(uri, document)| (uri.as_str(), document))
    }

    pub(crate) fn has_stale(&self) -> bool {
        self.0.values().any(|document| document.is_stale)
    }
}

impl Document {
    /// Has a text that is not a flow judged by whoever knows its language. Nothing else can be asked about it.
    pub(crate) fn prepare(&mut self, uri: &str, settings: &dyn CheckOptionsSource) {
        if self.analysis.is_none()
            && let Some(diagnostics) = settings.other_findings(uri, &self.text)
        {
            self.analysis = Some(Analysis::of_findings(self.text.clone(), diagnostics));
            self.is_flow = false;
        }
    }

    pub(crate) fn analysis(&mut self, options: &CheckOptions) -> &Analysis {
        self.analysis.get_or_insert_with(|| Analysis::new(self.text.clone(), options))
    }
}
