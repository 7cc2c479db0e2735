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
    if let Some(version) = value.as_object_mut().and_then(|flow| flow.get_mut("version"))
        && let Value::Number(number) = version
    {
        // An unquoted `1.0` is read as the text that it should have been.
        *version = Value::from(stave_canon::python_float(number.as_f64()));
    }
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

#[cfg(test)]
mod tests {
    use stave_diag::SourceId;

    use super::*;

    const FLOW: &str = "version: \"1.0\"\nmetadata: {name: a}\nnodes: {n: {type: transform, inputs: []}}\nedges: [{from: a, to: b}, {from: c, to: d}]\n";

    fn hash(text: &str) -> Result<String, InexactNumber> {
        semantic_hash(&crate::yaml::read(SourceId(0), text).root.unwrap())
    }

    #[test]
    fn layout_is_no_part_of_the_meaning() {
        let same = [
            "# why\nversion: 1.0\nmetadata:\n  name: a\n  created_at: x\n  modified_at: y\nedges:\n  - {to: b, from: a}\n  - from: 'c'\n    to: d\nnodes:\n  n:\n    id: n\n    position: {x: 1, y: 2}\n    type: transform\n    inputs: []\n",
            r#"{"edges":[{"from":"a","to":"b"},{"from":"c","to":"d"}],"version":"1.0","metadata":{"name":"a"},"nodes":{"n":{"inputs":[],"type":"transform"}}}"#,
            "version: \"1.0\"\nmetadata: &m {name: a}\nnodes: {n: &n {type: transform, <<: {inputs: []}}}\nedges: [{from: a, to: b}, {from: c, to: d}]\n",
        ];
        for text in same {
            assert_eq!(hash(text), hash(FLOW), "{text}");
        }
        assert_eq!(hash(FLOW).unwrap().len(), "sha256:".len() + 64);
    }

    #[test]
    fn everything_else_is() {
        let table = [
            ("name: a", "name: b"),
            ("from: a", "from: x"),
            ("\"1.0\"", "\"1.1\""),
            ("type: transform", "type: transform, x-note: 1"),
            ("n: {type", "m: {type"),
            ("[{from: a, to: b}, {from: c, to: d}]", "[{from: c, to: d}, {from: a, to: b}]"),
        ];
        for (from, to) in table {
            assert_ne!(hash(&FLOW.replace(from, to)), hash(FLOW), "{to}");
        }
    }

    #[test]
    fn a_number_that_would_be_rounded_is_refused() {
        assert!(hash("a: 9007199254740993\n").is_err());
    }
}
