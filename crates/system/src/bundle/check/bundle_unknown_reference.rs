//! Every node that a step names is in the document, and every step that the coordination names is in the
//! orchestration. The places are in the specifications, so the issues point at their hashes.

use std::collections::BTreeSet;

use stave_canon::{Pointer, Value};

use super::{Issues, select, text};
use crate::{codes, strip};

pub(super) fn check(issues: &mut Issues<'_>) {
    let nodes: BTreeSet<&str> = issues.subject.document.nodes.iter().map(|node| strip(&node.id)).collect();
    let Some(orchestration) = issues.subject.orchestration else { return };
    let steps = list(orchestration, "steps");
    let hashes = Pointer::root().key("spec_hashes");
    for step in steps {
        if let Some(node) = select::step_node(step).filter(|node| !nodes.contains(node)) {
            let step = text(step, "step_id").unwrap_or_default();
            let message = format!("step {step:?} runs node {node:?}, which is not in the document");
            issues.add(codes::BUNDLE_UNKNOWN_REFERENCE, hashes.key("orchestration_spec_sha256"), message);
        }
    }
    let Some(coordination) = issues.subject.coordination else { return };
    let known: BTreeSet<&str> = steps.iter().filter_map(|step| text(step, "step_id")).collect();
    let bound = list(coordination, "orchestration_bindings");
    let bound =
        bound.iter().flat_map(|binding| list(binding, "orchestration_step_ids")).filter_map(Value::as_str);
    let edges = coordination.get("coordination_graph").map(|graph| list(graph, "edges")).unwrap_or_default();
    let ends = edges.iter().flat_map(|edge| [text(edge, "src_step_id"), text(edge, "dst_step_id")]).flatten();
    let strangers: BTreeSet<&str> = bound.chain(ends).map(strip).filter(|id| !known.contains(id)).collect();
    for id in strangers {
        let message = format!("the coordination names step {id:?}, which the orchestration does not have");
        issues.add(codes::BUNDLE_UNKNOWN_REFERENCE, hashes.key("coordination_spec_sha256"), message);
    }
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_default()
}
