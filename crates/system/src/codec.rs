//! Documents in and out of JSON.

mod contract;
mod document;
mod node;
mod reader;
mod writer;

use stave_canon::Value;

use crate::{Document, LoadError, Node};
pub(crate) use reader::Reader;

pub(crate) use writer::canonical;
pub use writer::{contract_value, node_value};

impl Document {
    /// Reads a document from its file's text. As in the specification's own implementation, `NaN` and the
    /// infinities inside free-form values are kept. An object that names a key twice is refused: two readers could
    /// take two tenants from one document.
    pub fn from_text(text: &str) -> Result<Document, LoadError> {
        let mut reader = Reader::new();
        let document = document::read_text(&mut reader, text)?;
        reader.finish(document)
    }

    /// Reads a document from its JSON value.
    pub fn from_value(value: &Value) -> Result<Document, LoadError> {
        let mut reader = Reader::new();
        let document = document::read(&mut reader, value);
        reader.finish(document)
    }

    /// The document in canonical form if it keeps every rule that a loaded one keeps, for documents that
    /// were built in memory.
    pub fn checked(&self) -> Result<Document, LoadError> {
        Document::from_value(&self.to_value())
    }

    /// The canonical form: nodes in order of their ids, lists in their canonical order, nothing that is
    /// absent written as `null`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        writer::document_value(self)
    }

    /// The text of the document's file: two spaces of indentation, sorted keys, no final line feed.
    #[must_use]
    pub fn to_file_text(&self) -> String {
        writer::file_text(self)
    }
}

impl Node {
    /// Reads a single node, whose tenant is taken for its document's.
    pub fn from_value(value: &Value) -> Result<Node, LoadError> {
        let mut reader = Reader::new();
        let node = node::read(&mut reader, value, &stave_canon::Pointer::root());
        reader.finish(node)
    }
}

impl crate::model::ProvenancePointer {
    /// Reads a single provenance row.
    pub fn from_value(value: &Value) -> Result<Self, LoadError> {
        let mut reader = Reader::new();
        let row = node::provenance_row(&mut reader, value, &stave_canon::Pointer::root());
        reader.finish(Some(row))
    }
}
