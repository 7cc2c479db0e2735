//! One node of a run, whole, with what models were asked on its behalf.

use stave_canon::{Object, Value};
use stave_exec::dataflow::{NodeData, Origin};
use stave_runtime::evidence::{AskedPrompt, TurnUsage};
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
fn shown(question: &AskedPrompt, stored: &StoredRun, node: &str) -> Value {
    let usage = question.turns.first().and_then(|turn| turn.usage).unwrap_or_default();
    let data = stored.document.node(node).and_then(|node| NodeData::read(&node.extra).ok().flatten());
    let origins = data.map(|data| data.text_origins).unwrap_or_default();
    let origin = |name: &str| -> Option<Origin> {
        // What is no text of its own stands where the template names it.
        let of = |wanted: &str| origins.iter().find(|(key, _)| key == wanted).map(|(_, origin)| *origin);
        of(name).or_else(|| of("template"))
    };
    let mut sum: u64 = 0;
    let blocks = question.blocks.iter().enumerate().map(|(index, block)| {
        sum = sum.saturating_add(block.tokens.map(u64::from).unwrap_or_default());
        let cache = match sum {
            sum if sum <= usage.cache_read => "read",
            sum if sum <= usage.cache_read.saturating_add(usage.cache_write) => "written",
            _ => "none",
        };
        let is_stable = matches!(block.provenance.word(), "developer" | "system");
        let at = origin(block.name.as_deref().unwrap_or_default()).map(place).unwrap_or_default();
        let mut members = members_of(block.to_value());
        members.shift_insert(0, "index".into(), index.into());
        members.insert("cache".into(), cache.into());
        members.insert("stable".into(), is_stable.into());
        members.insert("origin".into(), at);
        Value::Object(members)
    });
    let blocks: Vec<Value> = blocks.collect();
    let turns = question.turns.iter().enumerate().map(|(number, turn)| {
        let mut members = members_of(turn.to_value());
        members.shift_insert(0, "number".into(), number.into());
        members.insert("usage".into(), turn.usage.map(shown_usage).into());
        Value::Object(members)
    });
    let turns: Vec<Value> = turns.collect();
    let mut members = members_of(question.to_value());
    members.insert("blocks".into(), blocks.into());
    members.insert("turns".into(), turns.into());
    members.into()
}

/// The tokens of a turn under the names of the run API.
fn shown_usage(usage: TurnUsage) -> Value {
    Value::from_iter([
        ("input_tokens", usage.input),
        ("output_tokens", usage.output),
        ("cache_read_tokens", usage.cache_read),
        ("cache_write_tokens", usage.cache_write),
    ])
}

fn members_of(value: Value) -> Object {
    match value {
        Value::Object(members) => members,
        _ => Object::new(),
    }
}
