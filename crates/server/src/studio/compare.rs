//! Two runs side by side.

use std::collections::BTreeSet;

use stave_canon::{Pointer, Value};
use stave_runtime::journal::StoredRun;
use stave_runtime::{Cost, NodeReport};

use super::object;
use super::run_view::{RunView, place, usage};
use crate::handlers::Call;
use crate::handlers::runs::find_shown;
use crate::problem::Problem;

/// The most differences that one comparison lists.
const MOST: usize = 500;

pub(super) async fn compare(call: &Call<'_>) -> Result<Value, Problem> {
    let wanted = |name: &str| {
        let missing = || Problem::bad_request(format!("`{name}` must name a run"));
        call.parameter(name).map(str::to_owned).ok_or_else(missing)
    };
    let (_, first) = find_shown(call, &wanted("a")?).await?;
    let (_, second) = find_shown(call, &wanted("b")?).await?;
    Ok(compared(&first, &second))
}

fn compared(first: &StoredRun, second: &StoredRun) -> Value {
    let (left, right) = (RunView::new(first), RunView::new(second));
    let mut ids: Vec<&str> = left.nodes().map(|node| node.id.as_str()).collect();
    ids.extend(right.nodes().map(|node| node.id.as_str()).filter(|id| !ids.contains(id)).collect::<Vec<_>>());
    let nodes = ids.into_iter().map(|id| {
        let find = |view: &RunView<'_>| view.nodes().find(|node| node.id == id).cloned();
        let (a, b) = (find(&left), find(&right));
        let inputs = differences(
            left.inputs(id).map(Value::Object).as_ref(),
            right.inputs(id).map(Value::Object).as_ref(),
        );
        let outputs = differences(outputs(first, id).as_ref(), outputs(second, id).as_ref());
        let word = |node: &Option<NodeReport>| node.as_ref().map(|node| node.status.word());
        let is_same = word(&a) == word(&b) && inputs.is_empty() && outputs.is_empty();
        let origin = b.as_ref().or(a.as_ref()).and_then(|node| node.origin);
        object([
            ("id", id.into()),
            ("a", a.as_ref().map(side).unwrap_or_default()),
            ("b", b.as_ref().map(side).unwrap_or_default()),
            ("inputs", inputs.into()),
            ("outputs", outputs.into()),
            ("same", is_same.into()),
            ("origin", origin.map(place).unwrap_or_default()),
        ])
    });
    let nodes: Vec<Value> = nodes.collect();
    let output = |run: &StoredRun| run.report().result.ok();
    object([
        ("a", run_side(first)),
        ("b", run_side(second)),
        ("same_document", (first.document_hash == second.document_hash).into()),
        ("request", differences(Some(&first.request), Some(&second.request)).into()),
        ("output", differences(output(first).as_ref(), output(second).as_ref()).into()),
        ("nodes", nodes.into()),
    ])
}

fn outputs(run: &StoredRun, node: &str) -> Option<Value> {
    let step = run.steps.iter().find(|step| step.node == node)?;
    step.result.outputs.as_ref().ok().cloned().map(Value::Object)
}

fn run_side(run: &StoredRun) -> Value {
    let report = run.report();
    let value = report.to_value();
    object([
        ("run_id", run.summary.id.as_str().into()),
        ("flow", run.summary.flow.as_str().into()),
        ("status", run.summary.status.word().into()),
        ("started_at", run.summary.started_at.to_string().into()),
        ("duration_ms", value.get("duration_ms").cloned().unwrap_or_default()),
        ("usage", value.get("usage").cloned().unwrap_or_default()),
    ])
}

fn side(node: &NodeReport) -> Value {
    object([
        ("status", node.status.word().into()),
        ("duration_ms", (node.duration.as_micros() as f64 / 1000.0).into()),
        ("attempts", node.attempts.into()),
        ("model", node.model.clone().into()),
        ("usage", node.usage.as_ref().map(usage).unwrap_or_default()),
        ("cost_micros", node.cost.map(Cost::micros).into()),
        ("cached", node.cached.into()),
        ("reused", node.reused.into()),
        (
            "error",
            node.failure
                .as_ref()
                .map(|failure| failure.to_error_value(&node.id, node.attempts))
                .unwrap_or_default(),
        ),
    ])
}

/// Where two values differ, innermost places first to be met.
fn differences(before: Option<&Value>, after: Option<&Value>) -> Vec<Value> {
    let mut found = Vec::new();
    walk(&Pointer::root(), before, after, &mut found);
    found
}

fn walk(at: &Pointer, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Value>) {
    if before == after || found.len() >= MOST {
        return;
    }
    match (before, after) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                walk(&at.key(key), left.get(key), right.get(key), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                walk(&at.index(index), left.get(index), right.get(index), found);
            }
        }
        _ => {
            let mut members = vec![("path", Value::from(at.as_str()))];
            members.extend(before.map(|value| ("before", value.clone())));
            members.extend(after.map(|value| ("after", value.clone())));
            found.push(Value::from_iter(members));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_differences_are_told() {
        let value = |text: &str| stave_canon::parse(text).unwrap();
        let (before, after) =
            (value(r#"{"a": {"b": [1, 2]}, "c": 1}"#), value(r#"{"a": {"b": [1, 3, 4]}, "d": 1}"#));
        let found = Value::from(differences(Some(&before), Some(&after)));
        assert_eq!(
            found.to_string(),
            r#"[{"path":"/a/b/1","before":2,"after":3},{"path":"/a/b/2","after":4},{"path":"/c","before":1},{"path":"/d","after":1}]"#
        );
        assert!(differences(Some(&before), Some(&before)).is_empty());
    }
}
