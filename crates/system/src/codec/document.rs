//! The document object.

use stave_canon::{Pointer, Value};

use super::node;
use super::reader::{Members, Reader};
use crate::model::SCHEMA_KIND;
use crate::verify::invariants;
use crate::{Document, Node, Version};

pub(super) fn read(reader: &mut Reader, value: &Value) -> Option<Document> {
    let root = Pointer::root();
    let members = reader.object(value, &root)?;
    match reader.required(members, "schema_kind") {
        Some(Value::String(kind)) if kind == SCHEMA_KIND => {}
        Some(other) => {
            reader.fault(&root.key("schema_kind"), format!("must be \"{SCHEMA_KIND}\", not {other}"));
        }
        None => {}
    }
    let version = version(reader, members);
    let tenant_id = reader.written_text(members, "tenant_id");
    let repo_id = reader.written_text(members, "repo_id");
    let nodes = nodes(reader, members);
    for fault in invariants::document(&tenant_id, &nodes) {
        reader.fault(&fault.pointer, fault.message);
    }
    let nodes = nodes.into_iter().map(|(_, node)| node).collect();
    Some(Document { version: version.unwrap_or_default(), tenant_id, repo_id, nodes })
}

fn nodes(reader: &mut Reader, members: Members<'_>) -> Vec<(Pointer, Node)> {
    let Some(value) = reader.required(members, "nodes") else { return Vec::new() };
    let pointer = members.pointer.key("nodes");
    let items = reader.items(value, &pointer).iter().enumerate();
    let nodes = items.filter_map(|(index, item)| {
        let pointer = pointer.index(index);
        node::read(reader, item, &pointer).map(|node| (pointer, node))
    });
    nodes.collect()
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
        let key = if schema.is_some() { "schema_version" } else { "format_version" };
        reader.fault(
            &members.pointer.key(key),
            format!(
                "schema_version {} with format_version {} is not supported, only 1 with \"1.0\" and 2 with \"2.0\"",
                pair.0, pair.1
            ),
        );
    }
    found
}
