//! The texts of documents, written node by node.

use stave_canon::{Layout, Sink, compact_utf8, pretty_sorted_utf8, write};

use super::node_value;
use crate::model::SCHEMA_KIND;
use crate::{SystemDocument, SystemNode, strip};

/// Writes the canonical text node by node; neither the text nor a tree of it is held whole.
pub(crate) fn canonical(document: &SystemDocument, sink: &mut impl Sink) {
    let text = |value: &str| compact_utf8(&value.into());
    sink.put(&format!("{{\"format_version\":{},\"nodes\":[", text(document.version.format_version())));
    for (index, node) in sorted(document).into_iter().enumerate() {
        sink.put(if index == 0 { "" } else { "," });
        write(&node_value(node), &Layout::COMPACT_UTF8, sink);
    }
    sink.put(&format!(
        "],\"repo_id\":{},\"schema_kind\":{},\"schema_version\":{},\"tenant_id\":{}}}",
        text(strip(&document.repo_id)),
        text(SCHEMA_KIND),
        document.version.schema_version(),
        text(strip(&document.tenant_id)),
    ));
}

/// The file's text, node by node: one node's lines are those of the node alone, four columns further in.
pub(super) fn file_text(document: &SystemDocument) -> String {
    if document.nodes.is_empty() {
        return pretty_sorted_utf8(&document.to_value());
    }
    let text = |value: &str| compact_utf8(&value.into());
    let mut file =
        format!("{{\n  \"format_version\": {},\n  \"nodes\": [", text(document.version.format_version()));
    for (index, node) in sorted(document).into_iter().enumerate() {
        file.push_str(if index == 0 { "" } else { "," });
        for line in pretty_sorted_utf8(&node_value(node)).split('\n') {
            file.push_str("\n    ");
            file.push_str(line);
        }
    }
    file.push_str(&format!(
        "\n  ],\n  \"repo_id\": {},\n  \"schema_kind\": {},\n  \"schema_version\": {},\n  \"tenant_id\": {}\n}}",
        text(strip(&document.repo_id)),
        text(SCHEMA_KIND),
        document.version.schema_version(),
        text(strip(&document.tenant_id)),
    ));
    file
}

/// The nodes in order of their ids.
pub(super) fn sorted(document: &SystemDocument) -> Vec<&SystemNode> {
    let mut nodes: Vec<&SystemNode> = document.nodes.iter().collect();
    nodes.sort_by_key(|node| strip(&node.id));
    nodes
}
