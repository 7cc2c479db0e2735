//! The semantic hash: what the flow means, whatever its layout.

use stave_canon::{InexactNumber, Object, Value};

use crate::yaml::Tree;

/// SHA-256 over RFC 8785 of a flow without positions, times of editing and comments, in the
/// `sha256:<hex>` form. A number that RFC 8785 would round is refused, because two flows could then
/// share a hash.
pub fn semantic_hash(flow: &Tree) -> Result<String, InexactNumber> {
    Ok(stave_canon::prefixed_sha256(stave_canon::rfc8785_exact(&meaning(flow))?))
}

fn meaning(tree: &Tree) -> Value {
    let mut value = tree.to_value();
    if let Some(metadata) = value.as_object_mut().and_then(|flow| flow.get_mut("metadata"))
        && let Some(metadata) = metadata.as_object_mut()
    {
        metadata.retain(|key, _| !key.ends_with("_at"));
    }
    if let Some(Value::Object(nodes)) = value.as_object_mut().and_then(|flow| flow.get_mut("nodes")) {
        for (id, node) in nodes.iter_mut() {
            if let Some(node) = node.as_object_mut() {
                without_layout(id, node);
            }
        }
    }
    value
}

/// A node's `id` only repeats its key, so a node with it and one without it are the same.
fn without_layout(id: &str, node: &mut Object) {
    node.shift_remove("position");
    if node.get("id").and_then(Value::as_str) == Some(id) {
        node.shift_remove("id");
    }
}
