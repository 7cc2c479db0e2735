//! Rule 4: both ends of an edge are nodes of the graph.

use std::collections::HashSet;

use stave_canon::Value;
use stave_diag::codes::exec as codes;

use super::listed;
use crate::DocumentFault;

pub(crate) fn verify(document: &Value, faults: &mut Vec<DocumentFault>) {
    let (Some((nodes, _)), Some((edges, at))) = (listed(document, "nodes"), listed(document, "edges")) else {
        return;
    };
    let known: HashSet<&str> = nodes.iter().filter_map(|node| node.get("id")?.as_str()).collect();
    for (index, edge) in edges.iter().enumerate() {
        for end in ["from", "to"] {
            let id = edge.get(end).and_then(Value::as_str).filter(|id| super::is_identifier(id));
            if let Some(id) = id.filter(|id| !known.contains(id)) {
                let message = format!("no node has the id {id:?}");
                faults.push(DocumentFault::new(codes::EXEC_UNKNOWN_NODE, at.index(index).key(end), message));
            }
        }
    }
}
