//! The sensitivity of a flow's values, for the gates that everything passes on its way out of a run.
//!
//! The levels are those that the checker finds, baked into the policy under `sensitivity`. A flow without labels
//! has no entry here.

use std::collections::BTreeMap;

use stave_canon::{Object, Value};
use stave_flow::model::{Flow, Sensitivity};
use stave_flow::{Levels, Scopes, levels};

/// The key of the policy that has the levels.
const KEY: &str = "sensitivity";

/// Adds the labels of a flow to the policy that is baked into its document.
pub(super) fn with_labels(mut policy: Object, flow: &Flow) -> Object {
    let Levels { context, inputs, outputs, replies, reads } = levels(flow, &Scopes::default());
    let inputs = inputs.into_iter().map(|(node, ports)| (node, Value::Object(written(ports)))).collect();
    let parts = [
        ("context", written(context)),
        ("inputs", inputs),
        ("outputs", written(outputs)),
        ("replies", written(replies)),
        ("reads", written(reads)),
    ];
    for (key, part) in parts.into_iter().filter(|(_, part): &(_, Object)| !part.is_empty()) {
        let sensitivity = policy.entry(KEY.to_owned()).or_insert_with(|| Object::new().into());
        if let Some(sensitivity) = sensitivity.as_object_mut() {
            sensitivity.insert(key.to_owned(), part.into());
        }
    }
    policy
}

fn written(levels: BTreeMap<String, Sensitivity>) -> Object {
    levels.into_iter().map(|(name, level)| (name, level.word().into())).collect()
}
