//! Two runs side by side.

use std::collections::BTreeSet;

use stave_canon::{Pointer, Value};
use stave_runtime::journal::StoredRun;
use stave_runtime::report_document::{NodeError, RunReportDocument, TokenUsage, milliseconds};
use stave_runtime::{Cost, NodeReport};

use super::run_view::StoredView;
use crate::api::run_view_types::{Comparison, Difference, FilePlace, NodeComparison, NodeSide, RunSide};
use crate::handlers::Call;
use crate::handlers::runs::find_shown;
use crate::problem::Problem;

/// The most differences that one comparison lists.
const MOST: usize = 500;

pub(super) async fn compare(call: &Call<'_>) -> Result<Comparison, Problem> {
    let wanted = |name: &str| {
        let missing = || Problem::bad_request(format!("`{name}` must name a run"));
        call.parameter(name).map(str::to_owned).ok_or_else(missing)
    };
    let (_, first) = find_shown(call, &wanted("a")?).await?;
    let (_, second) = find_shown(call, &wanted("b")?).await?;
    compared(&first, &second)
}

fn compared(first: &StoredRun, second: &StoredRun) -> Result<Comparison, Problem> {
    let (left, right) = (StoredView::new(first)?, StoredView::new(second)?);
    let mut ids: Vec<&str> = left.nodes().map(|node| node.id.as_str()).collect();
    ids.extend(right.nodes().map(|node| node.id.as_str()).filter(|id| !ids.contains(id)).collect::<Vec<_>>());
    let nodes = ids.into_iter().map(|id| {
        let find = |view: &StoredView<'_>| view.nodes().find(|node| node.id == id).cloned();
        let (a, b) = (find(&left), find(&right));
        let inputs = differences(
            left.inputs(id).map(Value::Object).as_ref(),
            right.inputs(id).map(Value::Object).as_ref(),
        );
        let outputs = differences(outputs(first, id).as_ref(), outputs(second, id).as_ref());
        let word = |node: &Option<NodeReport>| node.as_ref().map(|node| node.status.word());
        let is_same = word(&a) == word(&b) && inputs.is_empty() && outputs.is_empty();
        let origin = b.as_ref().or(a.as_ref()).and_then(|node| node.origin);
        NodeComparison {
            id: id.to_owned(),
            a: a.as_ref().map(side).into(),
            b: b.as_ref().map(side).into(),
            inputs,
            outputs,
            same: is_same,
            origin: origin.map(FilePlace::from).into(),
        }
    });
    let output = |run: &StoredRun| run.report().result.ok();
    Ok(Comparison {
        a: run_side(first),
        b: run_side(second),
        same_document: first.document_hash == second.document_hash,
        request: differences(Some(&first.request), Some(&second.request)),
        output: differences(output(first).as_ref(), output(second).as_ref()),
        nodes: nodes.collect(),
    })
}

fn outputs(run: &StoredRun, node: &str) -> Option<Value> {
    let step = run.steps.iter().find(|step| step.node == node)?;
    step.result.outputs.as_ref().ok().cloned().map(Value::Object)
}

fn run_side(run: &StoredRun) -> RunSide {
    let report = RunReportDocument::from(&run.report());
    RunSide {
        run_id: run.summary.id.clone(),
        flow: run.summary.flow.clone(),
        status: run.summary.status,
        started_at: run.summary.started_at.to_string(),
        duration_ms: report.duration_ms,
        usage: report.usage,
    }
}

fn side(node: &NodeReport) -> NodeSide {
    NodeSide {
        status: node.status,
        duration_ms: milliseconds(node.duration),
        attempts: node.attempts,
        model: node.model.clone().into(),
        usage: node.usage.as_ref().map(TokenUsage::from).into(),
        cost_micros: node.cost.map(Cost::micros).into(),
        cached: node.cached,
        reused: node.reused,
        error: NodeError::of(node).into(),
    }
}

/// Where two values differ, innermost places first to be met.
fn differences(before: Option<&Value>, after: Option<&Value>) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(&Pointer::root(), before, after, &mut found);
    found
}

fn walk(at: &Pointer, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Difference>) {
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
        _ => found.push(Difference {
            path: at.as_str().to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stave_shape::Shape as _;

    #[test]
    fn the_innermost_differences_are_told() {
        let value = |text: &str| stave_canon::parse(text).unwrap();
        let (before, after) =
            (value(r#"{"a": {"b": [1, 2]}, "c": 1}"#), value(r#"{"a": {"b": [1, 3, 4]}, "d": 1}"#));
        let found = differences(Some(&before), Some(&after)).write();
        assert_eq!(
            found.to_string(),
            r#"[{"path":"/a/b/1","before":2,"after":3},{"path":"/a/b/2","after":4},{"path":"/c","before":1},{"path":"/d","after":1}]"#
        );
        assert!(differences(Some(&before), Some(&before)).is_empty());
    }
}
