//! The runtime of the whole flow, and budgets.

use super::fields::{Fields, Reader};
use crate::model::{Budget, FlowRuntime};
use crate::yaml::YamlEntry;

pub(super) fn flow_runtime(reader: &mut Reader<'_>, entry: &YamlEntry) -> Option<FlowRuntime> {
    let owner = "`runtime` of the flow";
    let mut fields = Fields::of(reader, &entry.value, entry.key.span, owner.to_owned())?;
    let timeout_ms = fields.count(reader, "timeout_ms", 1);
    let budget = fields.optional("budget").and_then(|entry| budget(reader, entry, owner));
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(FlowRuntime { span, timeout_ms, budget, extra })
}

pub(super) fn budget(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Budget> {
    let key_span = entry.key.span;
    let mut fields = Fields::of(reader, &entry.value, key_span, format!("`budget` of {owner}"))?;
    let tokens = fields.count(reader, "tokens", 1);
    let cost_usd = fields.positive_number(reader, "cost_usd");
    let calls = fields.count(reader, "calls", 1);
    let wall_ms = fields.count(reader, "wall_ms", 1);
    let span = fields.span;
    let extra = fields.finish_closed(reader);
    Some(Budget { key_span, span, tokens, cost_usd, calls, wall_ms, extra })
}
