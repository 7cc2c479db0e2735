//! The document object. Its nodes are read one at a time, so that a text of any length is never held as
//! a second tree of values.

use stave_canon::{DuplicateKeys, Items, ParseError, ParseOptions, Pointer, Value, parse_each};

use super::node;
use super::reader::{Members, Reader};
use crate::model::SCHEMA_KIND;
use crate::verify::invariants;
use crate::{Document, Node, Version, codes};

/// Reads a document's text.
pub(super) fn read_text(reader: &mut Reader, text: &str) -> Result<Option<Document>, ParseError> {
    let mut nodes =
        Nodes { reader, root: Pointer::root().key("nodes"), read: Vec::new(), places: Vec::new(), next: 0 };
    let options = ParseOptions { duplicate_keys: DuplicateKeys::Refuse, non_finite: true };
    let rest = parse_each(text, options, "nodes", &mut nodes)?;
    let Nodes { read, places, .. } = nodes;
    Ok(document(reader, &rest, read, &places))
}

/// Reads a document that is a value already.
pub(super) fn read(reader: &mut Reader, value: &Value) -> Option<Document> {
    let mut nodes =
        Nodes { reader, root: Pointer::root().key("nodes"), read: Vec::new(), places: Vec::new(), next: 0 };
    for item in value.get("nodes").and_then(Value::as_array).unwrap_or_default() {
        nodes.read(item);
    }
    let Nodes { read, places, .. } = nodes;
    document(reader, value, read, &places)
}

/// The nodes so far.
struct Nodes<'r> {
    reader: &'r mut Reader,
    root: Pointer,
    read: Vec<Node>,
    /// Where each of them stood; items that are no objects leave a gap.
    places: Vec<usize>,
    next: usize,
}

impl Nodes<'_> {
    fn read(&mut self, item: &Value) {
        if let Some(node) = node::read(self.reader, item, &self.root.index(self.next)) {
            self.read.push(node);
            self.places.push(self.next);
        }
        self.next += 1;
    }
}

impl Items for Nodes<'_> {
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

/// The document around its nodes.
fn document(reader: &mut Reader, value: &Value, nodes: Vec<Node>, places: &[usize]) -> Option<Document> {
    let root = Pointer::root();
    let members = reader.object(value, &root)?;
    match reader.required(members, "schema_kind") {
        Some(Value::String(kind)) if kind == SCHEMA_KIND => {}
        Some(other) => {
            let message = format!("must be \"{SCHEMA_KIND}\", not {other}");
            reader.fault(codes::SYSTEM_UNSUPPORTED_VERSION, &root.key("schema_kind"), message);
        }
        None => {}
    }
    let version = version(reader, members);
    let tenant_id = reader.written_text(members, "tenant_id");
    let repo_id = reader.written_text(members, "repo_id");
    if let Some(value) = reader.required(members, "nodes") {
        reader.items(value, &root.key("nodes"));
    }
    reader.note(invariants::document(&tenant_id, &nodes, places));
    Some(Document { version: version.unwrap_or_default(), tenant_id, repo_id, nodes })
}

/// Both fields together must be a supported pair; each is the current one when it is absent.
fn version(reader: &mut Reader, members: Members<'_>) -> Option<Version> {
    let (schema, format) = (members.object.get("schema_version"), members.object.get("format_version"));
    let current = Version::default();
    let (current_schema, current_format) = (current.schema_version().into(), current.format_version().into());
    let pair = (schema.unwrap_or(&current_schema), format.unwrap_or(&current_format));
    let found = Version::ALL.into_iter().find(|version| {
        pair.0.as_i64() == Some(version.schema_version()) && pair.1.as_str() == Some(version.format_version())
    });
    if found.is_none() {
        let known = Version::ALL.iter().any(|version| pair.0.as_i64() == Some(version.schema_version()));
        // The one that is there is at fault; of both, the format when the schema alone could be meant.
        let key = if schema.is_some() && !(known && format.is_some()) {
            "schema_version"
        } else {
            "format_version"
        };
        reader.fault(
            codes::SYSTEM_UNSUPPORTED_VERSION,
            &members.pointer.key(key),
            format!(
                "schema_version {} with format_version {} is not supported, only 1 with \"1.0\" and 2 with \"2.0\"",
                pair.0, pair.1
            ),
        );
    }
    found
}
