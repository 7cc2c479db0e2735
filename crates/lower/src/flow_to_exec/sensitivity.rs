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
    let scopes = scopes(&policy);
    let Levels { context, inputs, outputs, replies, errors, reads, state } = levels(flow, &scopes);
    let inputs = inputs.into_iter().map(|(node, ports)| (node, Value::Object(written(ports)))).collect();
    let parts = [
        ("context", written(context)),
        ("inputs", inputs),
        ("outputs", written(outputs)),
        ("replies", written(replies)),
        ("errors", written(errors)),
        ("reads", written(reads)),
        ("state", written(state)),
    ];
    for (key, part) in parts.into_iter().filter(|(_, part): &(_, Object)| !part.is_empty()) {
        let sensitivity = policy.entry(KEY.to_owned()).or_insert_with(|| Object::new().into());
        if let Some(sensitivity) = sensitivity.as_object_mut() {
            sensitivity.insert(key.to_owned(), part.into());
        }
    }
    policy
}

/// What the project says about labels, as its policy has it. A level that is not understood is the highest.
fn scopes(policy: &Object) -> Scopes {
    let table = |name: &str| {
        let table = policy.get(KEY).and_then(|rules| rules.get(name)?.as_object());
        table.into_iter().flatten().map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default()))
    };
    Scopes {
        fields: table("fields").map(|(name, word)| (name, Sensitivity::at_worst(Some(word)))).collect(),
        declassify: table("declassify").map(|(name, reason)| (name, reason.to_owned())).collect(),
        ..Scopes::default()
    }
}

fn written(levels: BTreeMap<String, Sensitivity>) -> Object {
    levels.into_iter().map(|(name, level)| (name, level.word().into())).collect()
}
