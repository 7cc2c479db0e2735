//! Documents in and out of JSON. The types of the model read and write themselves; the values that they are made of are
//! in [`leaves`].

mod canonical;
mod document;
pub(crate) mod leaves;

use stave_canon::{Pointer, Value};
use stave_diag::Code;
use stave_shape::{FaultKind, Place, Reader, Shape};

use crate::model::{OperationalContract, ProvenancePointer};
use crate::{LoadError, SystemDocument, SystemFault, SystemNode, codes};

pub(crate) use canonical::canonical;
pub use document::schema;

impl SystemDocument {
    /// Reads a document from its file's text. `NaN` and the infinities are refused, although the specification's own
    /// implementation reads them: they are not JSON, and other readers cannot read a document that holds them. An object that names a key twice is refused: two readers could
    /// take two tenants from one document.
    pub fn from_text(text: &str) -> Result<SystemDocument, LoadError> {
        document::read_text(text)
    }

    /// Reads a document from its JSON value.
    pub fn from_value(value: &Value) -> Result<SystemDocument, LoadError> {
        document::read(value)
    }

    /// The document in canonical form if it keeps every rule that a loaded one keeps, for documents that
    /// were built in memory.
    pub fn checked(&self) -> Result<SystemDocument, LoadError> {
        SystemDocument::from_value(&self.to_value())
    }

    /// The canonical form: nodes in order of their ids, lists in their canonical order, nothing that is
    /// absent written as `null`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        document::write(self)
    }

    /// The text of the document's file: two spaces of indentation, sorted keys, no final line feed.
    #[must_use]
    pub fn to_file_text(&self) -> String {
        canonical::file_text(self)
    }
}

impl SystemNode {
    /// Reads a single node, whose tenant is taken for its document's.
    pub fn from_value(value: &Value) -> Result<SystemNode, LoadError> {
        read(value)
    }
}

impl ProvenancePointer {
    /// Reads a single provenance row.
    pub fn from_value(value: &Value) -> Result<Self, LoadError> {
        read(value)
    }
}

/// The canonical form of a node.
#[must_use]
pub fn node_value(node: &SystemNode) -> Value {
    node.write()
}

/// The canonical form of a contract.
#[must_use]
pub fn contract_value(contract: &OperationalContract) -> Value {
    contract.write()
}

/// Reads a value, or says everything that is wrong with it.
pub(crate) fn read<T: Shape>(value: &Value) -> Result<T, LoadError> {
    let mut reader = Reader::new();
    let read = T::read(value, &Place::root(), &mut reader);
    finish(reader, read)
}

/// `result`, unless a fault was noted on the way to it.
pub(crate) fn finish<T>(reader: Reader, result: Option<T>) -> Result<T, LoadError> {
    let faults = violations(reader);
    match result {
        Some(result) if faults.is_empty() => Ok(result),
        _ => Err(LoadError::Faults(faults)),
    }
}

/// Notes a fault with a code of its own.
pub(crate) fn note(reader: &mut Reader, code: Code, pointer: &Pointer, message: impl Into<String>) {
    reader.fault(&Place::at(pointer), None, rule(code, message));
}

pub(crate) fn rule(code: Code, message: impl Into<String>) -> FaultKind {
    FaultKind::rule(code.0, message)
}

/// The faults of the form as violations of the specification.
fn violations(reader: Reader) -> Vec<SystemFault> {
    let violation = |fault: stave_shape::Fault| {
        let (code, message) = match fault.kind {
            FaultKind::MissingKey(_) => (codes::SYSTEM_MISSING_FIELD, fault.kind.to_string()),
            FaultKind::UnknownKey { key, .. } => (codes::SYSTEM_UNKNOWN_KEY, format!("unknown key {key:?}")),
            FaultKind::WrongType { .. } => (codes::SYSTEM_WRONG_TYPE, fault.kind.to_string()),
            FaultKind::WrongMark { .. } => (codes::SYSTEM_UNSUPPORTED_VERSION, fault.kind.to_string()),
            FaultKind::NoItems => (codes::SYSTEM_BAD_VALUE, "must not be empty".to_owned()),
            FaultKind::UnknownWord { words, found } => {
                (codes::SYSTEM_BAD_VALUE, format!("{found:?} is not one of {}", words.join(", ")))
            }
            FaultKind::Rule { rule, message } => (Code(rule), message),
            FaultKind::Empty(_) | FaultKind::OutOfRange { .. } | FaultKind::WrongForm { .. } => {
                (codes::SYSTEM_BAD_VALUE, fault.kind.to_string())
            }
        };
        SystemFault { code, pointer: fault.pointer, message }
    };
    reader.finish().into_iter().map(violation).collect()
}
