//! New nodes, as the catalogue of operations begins them.

use stave_canon::Value;
use stave_diag::SourceId;
use stave_operations::Blank;

/// The fields of a new node, with the type that every node has, first.
#[must_use]
pub fn blank_node(blank: &Blank) -> Value {
    // The texts are constants, which a test adds to a flow one by one.
    let root = stave_yaml::read(SourceId(0), blank.node).root;
    let mut node = root.map(|tree| tree.to_value()).unwrap_or_default();
    if let Some(fields) = node.as_object_mut() {
        fields.shift_insert(0, "type".to_owned(), "transform".into());
    }
    node
}
