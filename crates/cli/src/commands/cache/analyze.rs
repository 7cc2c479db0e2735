//! `stave cache analyze`: where the tokens and the money of a trace go.

use std::collections::BTreeMap;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{Cell, CellAlignment, Table};
use stave_block::{PositionKind, Replay, TracedRequest, VariableKind, find_variables};
use stave_canon::Value;

use super::arguments::Analyze;
use super::{picture, simulate, trace};
use crate::exit::{Exit, Stop};
use crate::files::write_private;
use crate::terminal::{self, Terminal};

pub(super) fn analyze(arguments: &Analyze, _: Terminal) -> Result<Exit, Stop> {
    let trace = trace::read(&arguments.trace)?;
    let replays = simulate::replays(&trace);
    let shares = shares(&trace, &replays[0].1);
    let findings = findings(&trace);
    if let Some(path) = &arguments.svg {
        write_private(path, &picture::svg(&trace, &replays))?;
    }
    if let Some(path) = &arguments.html {
        let tables = [simulate::table(&trace, &replays).to_string(), share_table(&shares).to_string()];
        write_private(path, &picture::html(&trace, &replays, &tables, &findings))?;
    }
    if arguments.trace.json {
        terminal::out(&value(&shares, &findings, &replays).to_string());
        return Ok(Exit::Fine);
    }
    terminal::out(&simulate::table(&trace, &replays).to_string());
    terminal::out(&share_table(&shares).to_string());
    for finding in &findings {
        terminal::out(finding);
    }
    Ok(Exit::Fine)
}

/// Tokens of one part of the requests, over the whole trace.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    tokens: u64,
    /// Of these, sent before in a prefix that was the same.
    repeated: u64,
    /// Of these, read from the cache as sent.
    read: u64,
}

fn shares(trace: &[TracedRequest], as_sent: &Replay) -> BTreeMap<&'static str, Share> {
    let mut shares: BTreeMap<&'static str, Share> = BTreeMap::new();
    let mut seen = std::collections::HashSet::new();
    for (traced, served) in trace.iter().zip(&as_sent.requests) {
        let mut before = 0;
        for (position, tokens) in traced.wire.positions.iter().zip(&traced.tokens) {
            let own = tokens - before;
            let share = shares.entry(part(position.kind, position.message.is_some())).or_default();
            share.tokens += own;
            if !seen.insert(position.prefix) {
                share.repeated += own;
            }
            share.read += served.read.min(*tokens).saturating_sub(before);
            before = *tokens;
        }
    }
    shares
}

fn part(kind: PositionKind, in_messages: bool) -> &'static str {
    match kind {
        PositionKind::Tool => "tools",
        PositionKind::OutputSchema => "output schema",
        PositionKind::ToolUse => "tool calls",
        PositionKind::ToolResult => "tool results",
        PositionKind::Image => "images",
        PositionKind::Document => "documents",
        PositionKind::Audio => "sounds",
        PositionKind::Thinking => "thinking",
        PositionKind::Text if !in_messages => "system",
        PositionKind::Text | PositionKind::Other => "messages",
    }
}

fn share_table(shares: &BTreeMap<&'static str, Share>) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    table.set_header(["part", "tokens", "of all", "sent before", "read as sent"]);
    let all: u64 = shares.values().map(|share| share.tokens).sum::<u64>().max(1);
    let mut rows: Vec<_> = shares.iter().collect();
    rows.sort_by_key(|(_, share)| std::cmp::Reverse(share.tokens));
    for (part, share) in rows {
        let percent = |count: u64, of: u64| format!("{:.1} %", 100.0 * count as f64 / of.max(1) as f64);
        let cells = [
            share.tokens.to_string(),
            percent(share.tokens, all),
            percent(share.repeated, share.tokens),
            percent(share.read, share.tokens),
        ];
        let cells = cells.map(|text| Cell::new(text).set_alignment(CellAlignment::Right));
        table.add_row(std::iter::once(Cell::new(part)).chain(cells));
    }
    table
}

/// What prevents caching: clocks and ids in the instructions, tools that change.
fn findings(trace: &[TracedRequest]) -> Vec<String> {
    let mut clocks: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut changed = 0;
    let mut last_tools: BTreeMap<String, Option<u128>> = BTreeMap::new();
    for traced in trace {
        let system = traced
            .wire
            .positions
            .iter()
            .filter(|position| position.message.is_none() && position.kind == PositionKind::Text);
        for position in system {
            for variable in find_variables(&traced.body[position.range.clone()]) {
                if variable.kind != VariableKind::Day {
                    *clocks.entry(variable.pattern).or_default() += 1;
                }
            }
        }
        let tools = traced.wire.positions.iter().rfind(|position| position.kind == PositionKind::Tool);
        let tools = tools.map(|position| position.prefix);
        let session = traced.session.clone().unwrap_or_default();
        if last_tools.insert(session, tools).is_some_and(|last| last != tools) {
            changed += 1;
        }
    }
    let mut findings: Vec<String> = clocks
        .into_iter()
        .map(|(pattern, count)| {
            format!("{count} times a {pattern} in the instructions: what follows it is not cached")
        })
        .collect();
    if changed > 0 {
        findings
            .push(format!("{changed} times the tools of a session changed: what follows them is not cached"));
    }
    findings
}

fn value(
    shares: &BTreeMap<&'static str, Share>,
    findings: &[String],
    replays: &[(&'static str, Replay)],
) -> Value {
    let parts = shares.iter().map(|(part, share)| {
        let row =
            Value::from_iter([("tokens", share.tokens), ("repeated", share.repeated), ("read", share.read)]);
        (*part, row)
    });
    let costs = replays.iter().map(|(name, replay)| (*name, replay.total.cost));
    Value::from_iter([
        ("parts", Value::from_iter(parts)),
        ("costs", Value::from_iter(costs)),
        ("findings", Value::Array(findings.iter().map(|text| text.as_str().into()).collect())),
    ])
}
