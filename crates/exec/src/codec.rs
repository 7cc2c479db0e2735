//! JSON to [`Document`] and back.

use stave_canon::{Object, Pointer, Value};
use stave_diag::codes::exec as codes;
use stave_shape::{Definitions, FaultKind, Pattern, Place, Reader, Shape};

use crate::contract::StepContract;
use crate::dataflow::{EdgeData, NodeData, PORT_LISTS};
use crate::spacing::{self, RetrySpacing};
use crate::{Document, DocumentFault, VERSION, verify};

/// Which versions a reader takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// Only the version that the published schema names, with its closed objects closed.
    Exact,
    /// Any `1.y.z`: what a later minor release adds is kept and ignored.
    Additive,
}

/// Reads a document, or every violation in it.
pub fn read(value: &Value, acceptance: Acceptance) -> Result<Document, Vec<DocumentFault>> {
    let version = value.get("version").and_then(Value::as_str).filter(|version| !version.is_empty());
    let refused = version.filter(|version| !fits(version, acceptance));
    let mut reader = Reader::new();
    reader.closed = refused.is_some() || version.is_none_or(|version| version == VERSION);
    let document = Document::read(value, &Place::root(), &mut reader);
    let mut faults: Vec<DocumentFault> = refused.map(unsupported).into_iter().collect();
    faults.extend(reader.finish().into_iter().map(violation));
    verify::verify(value, &mut faults);
    match document {
        Some(document) if faults.is_empty() => Ok(document),
        _ => Err(faults),
    }
}

/// The file form: two spaces, keys in the specification's order, ASCII, no final newline.
#[must_use]
pub fn encode(document: &Document) -> String {
    stave_canon::pretty_insertion_ascii(&to_value(document))
}

/// The document as a JSON value, keys in the specification's order, extras last.
#[must_use]
pub fn to_value(document: &Document) -> Value {
    document.write()
}

/// The JSON Schema of the version that this crate writes.
#[must_use]
pub fn schema() -> Value {
    let mut schema = stave_shape::document::<Document>("urn:stave:exec:1.0.0", "Exec document 1.0.0");
    let properties = schema.as_object_mut().and_then(|schema| schema.get_mut("properties"));
    let version = properties.and_then(Value::as_object_mut).and_then(|fields| fields.get_mut("version"));
    // A schema is of one version, while the reader takes a list of versions.
    if let Some(version) = version {
        *version = Value::Object(Object::from_iter([("const".to_owned(), VERSION.into())]));
    }
    if let Some(Value::Object(types)) = schema.as_object_mut().and_then(|schema| schema.get_mut("$defs")) {
        describe_extras(types);
    }
    schema
}

/// Adds the properties that a flow puts on nodes and edges: those of a node where it has ports.
fn describe_extras(types: &mut Object) {
    let mut definitions = Definitions::default();
    let node = NodeData::schema(&mut definitions);
    let edge = EdgeData::schema(&mut definitions);
    let contract = StepContract::schema(&mut definitions);
    let retry_spacing = RetrySpacing::schema(&mut definitions);
    types.extend(definitions.into_types());
    types.sort_keys();
    let required = |key: &&str| Value::from_iter([("required", vec![*key])]);
    let has_ports = Value::from_iter([("anyOf", PORT_LISTS.iter().map(required).collect::<Vec<_>>())]);
    if let Some(Value::Object(described)) = types.get_mut("Node") {
        if let Some(Value::Object(properties)) = described.get_mut("properties") {
            properties.insert(StepContract::PROPERTY.to_owned(), contract);
            properties.insert(spacing::PROPERTY.to_owned(), retry_spacing);
        }
        described.insert("if".to_owned(), has_ports);
        described.insert("then".to_owned(), node);
    }
    if let Some(Value::Object(described)) = types.get_mut("Edge") {
        described.insert("allOf".to_owned(), vec![edge].into());
    }
}

pub(crate) const IDENTIFIER: Pattern =
    Pattern { name: "an identifier", expression: "^[A-Za-z0-9_.-]+$", fits: verify::is_identifier };

fn fits(version: &str, acceptance: Acceptance) -> bool {
    let numbers: Option<Vec<u64>> = version.split('.').map(plain_number).collect();
    match acceptance {
        Acceptance::Exact => version == VERSION,
        Acceptance::Additive => matches!(numbers.as_deref(), Some([1, _, _])),
    }
}

/// A number of a semantic version: digits without a leading zero.
fn plain_number(text: &str) -> Option<u64> {
    let plain = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    if plain { text.parse().ok() } else { None }
}

fn unsupported(version: &str) -> DocumentFault {
    let pointer = Pointer::root().key("version");
    DocumentFault::new(
        codes::EXEC_UNSUPPORTED_VERSION,
        pointer,
        format!("version {version:?} is not supported"),
    )
    .help(format!("compile the source again; this runtime takes {VERSION:?}"))
}

/// A fault of the form as a violation of the specification's rules.
fn violation(fault: stave_shape::Fault) -> DocumentFault {
    let (code, help) = match &fault.kind {
        FaultKind::MissingKey(_) => (codes::EXEC_MISSING_FIELD, None),
        FaultKind::UnknownKey { known, .. } => {
            (codes::EXEC_UNKNOWN_PROPERTY, Some(format!("it takes {}", known.join(", "))))
        }
        FaultKind::WrongType { .. } | FaultKind::WrongMark { .. } | FaultKind::Rule { .. } => {
            (codes::EXEC_WRONG_TYPE, None)
        }
        FaultKind::OutOfRange { .. } => (codes::EXEC_OUT_OF_RANGE, None),
        FaultKind::Empty(_) => (codes::EXEC_EMPTY_STRING, None),
        FaultKind::NoItems => (codes::EXEC_NO_NODES, None),
        FaultKind::UnknownWord { .. } if fault.pointer.as_str().ends_with("/on") => {
            (codes::EXEC_UNKNOWN_TRANSITION, None)
        }
        FaultKind::UnknownWord { .. } => (codes::EXEC_UNKNOWN_WORD, None),
        FaultKind::WrongForm { .. } => {
            (codes::EXEC_BAD_IDENTIFIER, Some("use letters, digits, `_`, `.` and `-` only".to_owned()))
        }
    };
    let violation = DocumentFault::new(code, fault.pointer, fault.kind.to_string());
    match help {
        Some(help) => violation.help(help),
        None => violation,
    }
}

/// Timeouts and counts. JSON has one kind of number, so `5.0` is the integer five.
pub(crate) mod count {
    use stave_canon::{Number, Value};
    use stave_shape::{Definitions, FaultKind, Place, Reader, ValueNode, integer_schema};

    use crate::MAX_INTEGER;

    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<u32> {
        let whole = match node.number() {
            Some(Number::Int(value)) => value,
            Some(Number::Float(value)) if value.fract() == 0.0 => value as i64,
            Some(Number::Big(_)) => i64::MAX,
            Some(Number::Float(_)) | None => {
                reader.wrong_type(node, at, "an integer");
                return None;
            }
        };
        if !(0..=MAX_INTEGER).contains(&whole) {
            let (wanted, found) = (format!("between 0 and {MAX_INTEGER}"), node.to_value().to_string());
            reader.fault(at, node.span(), FaultKind::OutOfRange { wanted, found });
            return None;
        }
        u32::try_from(whole).ok()
    }

    pub(crate) fn write(count: &u32) -> Value {
        (*count).into()
    }

    pub(crate) fn schema(_: &mut Definitions) -> Value {
        integer_schema(0i64, MAX_INTEGER)
    }
}

/// A time that is kept as it was written; a rule of its own says whether it is one.
pub(crate) mod time_text {
    use stave_canon::Value;
    use stave_shape::{Definitions, Place, Reader, Shape, ValueNode};

    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<String> {
        String::read(node, at, reader)
    }

    pub(crate) fn write(text: &str) -> Value {
        text.into()
    }

    pub(crate) fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", "string"), ("format", "date-time")])
    }
}
