//! Rule 3: there is at least one node, and node ids are unique.

use std::collections::HashMap;

use stave_canon::Pointer;
use stave_diag::codes::exec as codes;

use crate::{Document, Fault};

pub(crate) fn verify(document: &Document, faults: &mut Vec<Fault>) {
    let nodes = Pointer::root().key("graph").key("nodes");
    if document.graph.nodes.is_empty() {
        faults.push(Fault::new(codes::EXEC_NO_NODES, nodes, "the graph has no nodes"));
        return;
    }
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (index, node) in document.graph.nodes.iter().enumerate() {
        if let Some(earlier) = first.get(node.id.as_str()) {
            let fault = Fault::new(
                codes::EXEC_DUPLICATE_NODE,
                nodes.index(index).key("id"),
                format!("node id {:?} is taken", node.id),
            );
            faults.push(fault.help(format!("node {earlier} of the graph has it; choose another id")));
        } else {
            first.insert(&node.id, index);
        }
    }
}
