//! Rule 4: both ends of an edge are nodes of the graph.

use std::collections::HashSet;

use stave_canon::Pointer;
use stave_diag::codes::exec as codes;

use crate::{Document, Fault};

pub(crate) fn verify(document: &Document, faults: &mut Vec<Fault>) {
    let known: HashSet<&str> = document.graph.nodes.iter().map(|node| node.id.as_str()).collect();
    let edges = Pointer::root().key("graph").key("edges");
    for (index, edge) in document.graph.edges.iter().enumerate() {
        for (end, id) in [("from", &edge.from), ("to", &edge.to)] {
            if !known.contains(id.as_str()) {
                faults.push(Fault::new(
                    codes::EXEC_UNKNOWN_NODE,
                    edges.index(index).key(end),
                    format!("no node has the id {id:?}"),
                ));
            }
        }
    }
}
