//! The document object. Its nodes are read one at a time, so that a text of any length is never held as
//! a second tree of values.

use stave_canon::{DuplicateKeys, Items, ParseOptions, Pointer, Value, parse_each};
use stave_shape::{Place, Reader, Shape, ValueKind};

use super::canonical::sorted;
use super::leaves::text;
use super::{rule, violations};
use crate::model::SCHEMA_KIND;
use crate::verify::invariants;
use crate::{LoadError, SystemDocument, SystemNode, SystemVersion, codes, strip};

/// A system: what it is made of, whose it is, and what it may touch. Beyond the schema, node ids are unique, all parts
/// belong to the document's tenant, and contracts are whole.
#[derive(Debug, Shape)]
#[shape(open, name = "Document", mark(schema_kind = SCHEMA_KIND), check = version_is_known)]
struct DocumentForm {
    /// 1 with format version 1.0, or 2 with 2.0.
    #[shape(default = SystemVersion::default().schema_version().into(), with = schema_version)]
    schema_version: Value,
    /// The form of the document.
    #[shape(default = SystemVersion::default().format_version().into(), with = format_version)]
    format_version: Value,
    /// Whose system it is.
    #[shape(stand_in, with = text)]
    tenant_id: String,
    /// The repository that the system belongs to.
    #[shape(stand_in, with = text)]
    repo_id: String,
    /// The parts of the system.
    #[shape(stand_in, with = nodes)]
    nodes: Vec<SystemNode>,
}

/// The JSON Schema of a document.
#[must_use]
pub fn schema() -> Value {
    stave_shape::document::<DocumentForm>("urn:stave:system:2.0", "System document")
}

/// Reads a document's text.
pub(super) fn read_text(text: &str) -> Result<SystemDocument, LoadError> {
    let mut nodes = Nodes::new();
    let options = ParseOptions { duplicate_keys: DuplicateKeys::Refuse, non_finite: false };
    let rest = parse_each(text, options, "nodes", &mut nodes)?;
    nodes.document(&rest)
}

/// Reads a document that is a value already.
pub(super) fn read(value: &Value) -> Result<SystemDocument, LoadError> {
    let mut nodes = Nodes::new();
    for item in value.get("nodes").and_then(Value::as_array).unwrap_or_default() {
        nodes.read(item);
    }
    nodes.document(value)
}

/// The canonical form.
pub(super) fn write(document: &SystemDocument) -> Value {
    let form = DocumentForm {
        schema_version: document.version.schema_version().into(),
        format_version: document.version.format_version().into(),
        tenant_id: strip(&document.tenant_id).to_owned(),
        repo_id: strip(&document.repo_id).to_owned(),
        nodes: Vec::new(),
    };
    let mut value = form.write();
    if let Some(members) = value.as_object_mut() {
        let nodes = sorted(document).into_iter().map(Shape::write).collect();
        members.insert("nodes".to_owned(), Value::Array(nodes));
    }
    value
}

/// The nodes so far.
struct Nodes {
    reader: Reader,
    root: Pointer,
    read: Vec<SystemNode>,
    /// The place of each of them; items that are no objects leave a gap.
    places: Vec<usize>,
    next: usize,
}

impl Nodes {
    fn new() -> Self {
        let root = Pointer::root().key("nodes");
        Nodes { reader: Reader::new(), root, read: Vec::new(), places: Vec::new(), next: 0 }
    }

    fn read(&mut self, item: &Value) {
        let place = Place::at(&self.root);
        if let Some(node) = SystemNode::read(item, &place.index(self.next), &mut self.reader) {
            self.read.push(node);
            self.places.push(self.next);
        }
        self.next += 1;
    }

    /// The document around the nodes.
    fn document(self, value: &Value) -> Result<SystemDocument, LoadError> {
        let mut around = Reader::new();
        let form = DocumentForm::read(value, &Place::root(), &mut around);
        let mut faults = violations(around);
        // Another version explains the faults beside it.
        faults.sort_by_key(|fault| fault.code != codes::SYSTEM_UNSUPPORTED_VERSION);
        let mut faults: Vec<_> = violations(self.reader).into_iter().chain(faults).collect();
        if let Some(form) = &form {
            let mut together = Reader::new();
            invariants::document(&form.tenant_id, &self.read, &self.places, &mut together);
            faults.extend(violations(together));
        }
        let version = form.as_ref().and_then(|form| version(&form.schema_version, &form.format_version));
        match (form, version) {
            (Some(DocumentForm { tenant_id, repo_id, .. }), Some(version)) if faults.is_empty() => {
                Ok(SystemDocument { version, tenant_id, repo_id, nodes: self.read })
            }
            _ => Err(LoadError::Faults(faults)),
        }
    }
}

impl Items for Nodes {
    fn begin(&mut self) {
        self.reader.forget();
        self.read.clear();
        self.places.clear();
        self.next = 0;
    }

    fn item(&mut self, item: Value) {
        self.read(&item);
    }
}

fn version(schema: &Value, format: &Value) -> Option<SystemVersion> {
    SystemVersion::ALL.into_iter().find(|version| {
        schema.as_i64() == Some(version.schema_version()) && format.as_str() == Some(version.format_version())
    })
}

/// Both fields together must be a supported pair; each is the current one when it is absent.
fn version_is_known<N: stave_shape::ValueNode>(
    form: Option<&DocumentForm>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    let Some(form) = form else { return };
    let (schema, format) = (&form.schema_version, &form.format_version);
    if version(schema, format).is_some() {
        return;
    }
    let is_there = |key: &str| node.member(key).is_some();
    let known = SystemVersion::ALL.iter().any(|version| schema.as_i64() == Some(version.schema_version()));
    // The one that is there is at fault; of both, the format when the schema alone could be meant.
    let is_schema = is_there("schema_version") && !(known && is_there("format_version"));
    let key = if is_schema { "schema_version" } else { "format_version" };
    let message = format!(
        "schema_version {schema} with format_version {format} is not supported, only 1 with \"1.0\" and 2 with \"2.0\""
    );
    reader.fault(&at.key(key), None, rule(codes::SYSTEM_UNSUPPORTED_VERSION, message));
}

/// A part of the version, which is judged together with the other.
macro_rules! version_part {
    ($name:ident, $part:ident) => {
        mod $name {
            use stave_canon::Value;
            use stave_shape::{Definitions, Place, Reader, ValueNode};

            use crate::SystemVersion;

            pub(super) fn read<N: ValueNode>(node: N, _: &Place<'_>, _: &mut Reader) -> Option<Value> {
                Some(node.to_value())
            }

            pub(super) fn write(part: &Value) -> Value {
                part.clone()
            }

            pub(super) fn schema(_: &mut Definitions) -> Value {
                let parts = SystemVersion::ALL.map(|version| Value::from(version.$part()));
                Value::from_iter([("enum", Value::Array(parts.to_vec()))])
            }
        }
    };
}

version_part!(schema_version, schema_version);
version_part!(format_version, format_version);

/// The list of nodes, which are read and written one by one.
mod nodes {
    use super::{Place, Reader, Shape, SystemNode, Value, ValueKind};

    pub(super) fn read<N: stave_shape::ValueNode>(
        node: N,
        at: &Place<'_>,
        reader: &mut Reader,
    ) -> Option<Vec<SystemNode>> {
        if node.kind() != ValueKind::Array {
            reader.wrong_type(node, at, "an array");
        }
        Some(Vec::new())
    }

    pub(super) fn write(nodes: &[SystemNode]) -> Value {
        Value::Array(nodes.iter().map(Shape::write).collect())
    }

    pub(super) fn schema(definitions: &mut stave_shape::Definitions) -> Value {
        Vec::<SystemNode>::schema(definitions)
    }
}
