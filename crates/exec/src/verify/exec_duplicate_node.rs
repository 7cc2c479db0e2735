//! Rule 3: node ids are unique. That there is a node is part of the form.

use std::collections::HashMap;

use stave_canon::Value;
use stave_diag::codes::exec as codes;

use super::listed;
use crate::DocumentFault;

pub(crate) fn verify(document: &Value, faults: &mut Vec<DocumentFault>) {
    let Some((nodes, at)) = listed(document, "nodes") else { return };
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let Some(id) = node.get("id").and_then(Value::as_str) else { continue };
        match first.get(id) {
            None => {
                first.insert(id, index);
            }
            Some(earlier) => {
                let message = format!("node id {id:?} is taken");
                let fault =
                    DocumentFault::new(codes::EXEC_DUPLICATE_NODE, at.index(index).key("id"), message);
                faults.push(fault.help(format!("node {earlier} of the graph has it; choose another id")));
            }
        }
    }
}
