//! One node of a run, whole, with what models were asked on its behalf.

use stave_canon::{Object, Value};
use stave_exec::dataflow::{NodeData, Origin};
use stave_runtime::journal::StoredRun;

use super::run_view::{RunView, place};
use crate::handlers::Call;
use crate::handlers::runs::find_shown;
use crate::problem::Problem;

pub(super) async fn show(call: &Call<'_>, run: &str, node: &str) -> Result<Value, Problem> {
    let (_, stored) = find_shown(call, run).await?;
    let view = RunView::new(&stored);
    let report = view.nodes().find(|report| report.id == node);
    let report = report.ok_or_else(|| Problem::not_found("node", node).of_run(run))?;
    let mut members = view.node(report, usize::MAX);
    let questions = report.questions.iter().map(|question| shown(question, &stored, node));
    members.insert("questions".into(), Value::Array(questions.collect()));
    Ok(members.into())
}

/// A question with what follows from it: which blocks came from the provider's cache, which are the same for
/// every request, and the lines that they were written on.
fn shown(question: &Value, stored: &StoredRun, node: &str) -> Value {
    let mut members = question.as_object().cloned().unwrap_or_default();
    let turns = members.get("turns").and_then(Value::as_array).unwrap_or_default().to_vec();
    let count = |usage: Option<&Value>, key: &str| {
        usage.and_then(|usage| usage.get(key)).and_then(Value::as_i64).unwrap_or_default()
    };
    let first = turns.first().and_then(|turn| turn.get("usage"));
    let (read, written) = (count(first, "cache_read"), count(first, "cache_write"));
    let data = stored.document.node(node).and_then(|node| NodeData::read(&node.extra).ok().flatten());
    let origins = data.map(|data| data.text_origins).unwrap_or_default();
    let origin = |name: &str| -> Option<Origin> {
        // What is no text of its own stands where the template names it.
        let of = |wanted: &str| origins.iter().find(|(key, _)| key == wanted).map(|(_, origin)| *origin);
        of(name).or_else(|| of("template"))
    };
    let mut sum: i64 = 0;
    if let Some(Value::Array(blocks)) = members.get_mut("blocks") {
        for (index, block) in blocks.iter_mut().enumerate() {
            let Some(block) = block.as_object_mut() else { continue };
            sum += block.get("tokens").and_then(Value::as_i64).unwrap_or_default();
            let cache = match sum {
                sum if sum <= read => "read",
                sum if sum <= read.saturating_add(written) => "written",
                _ => "none",
            };
            let provenance = block.get("provenance").and_then(Value::as_str).unwrap_or_default();
            let is_stable = matches!(provenance, "developer" | "system");
            let name = block.get("name").and_then(Value::as_str).unwrap_or_default();
            let at = origin(name).map(place).unwrap_or_default();
            block.shift_insert(0, "index".into(), index.into());
            block.insert("cache".into(), cache.into());
            block.insert("stable".into(), is_stable.into());
            block.insert("origin".into(), at);
        }
    }
    let turns = turns.iter().enumerate().map(|(number, turn)| {
        let mut turn = turn.as_object().cloned().unwrap_or_default();
        turn.shift_insert(0, "number".into(), number.into());
        let usage = turn.get("usage").filter(|usage| !usage.is_null()).map(|usage| {
            let tokens = |key: &str| Value::from(count(Some(usage), key));
            Object::from_iter([
                ("input_tokens".to_owned(), tokens("input")),
                ("output_tokens".to_owned(), tokens("output")),
                ("cache_read_tokens".to_owned(), tokens("cache_read")),
                ("cache_write_tokens".to_owned(), tokens("cache_write")),
            ])
        });
        turn.insert("usage".into(), usage.map(Value::Object).unwrap_or_default());
        Value::Object(turn)
    });
    let turns: Vec<Value> = turns.collect();
    members.insert("turns".into(), turns.into());
    members.into()
}
