//! The table of a run: every node with its status, time and tokens.

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{Cell, CellAlignment, Color, Table};
use stave_diag::render::{Colour, visible};
use stave_runtime::journal::{RunStatus, RunSummary};
use stave_runtime::{NodeReport, RunReport, Status};

/// Lays out the nodes of a run in document order, with a line of totals.
pub(crate) fn nodes(report: &RunReport, standing: RunStatus, colour: Colour) -> String {
    let mut table = empty(colour);
    table.set_header(["node", "step", "status", "tries", "ms", "tokens in", "out", "note"]);
    for node in report.nodes.iter().filter(|node| !node.id.starts_with('_')) {
        table.add_row(row(node));
    }
    let usage = report.usage();
    let cost = report.cost().map(stave_llm::prices::Cost::micros).filter(|cost| *cost > 0);
    let cost = cost.map(|cost| format!("{} $", money(cost)));
    table.add_row([
        cell(&report.flow),
        Cell::new("total"),
        run_status(standing),
        Cell::new(""),
        number(format!("{:.1}", report.duration.as_secs_f64() * 1000.0)),
        number(tokens(usage.input)),
        number(tokens(usage.output)),
        Cell::new(cost.unwrap_or_default()),
    ]);
    table.to_string()
}

/// Lays out a list of runs.
pub(crate) fn runs(runs: &[RunSummary], colour: Colour) -> String {
    let mut table = empty(colour);
    table.set_header(["run", "flow", "status", "steps", "started", "took ms"]);
    for run in runs {
        let took = run.ended_at.map(|end| end.duration_since(run.started_at).unsigned_abs());
        table.add_row([
            cell(&run.id),
            cell(&run.flow),
            run_status(run.status),
            number(run.steps.to_string()),
            Cell::new(format!("{:.0}", run.started_at)),
            number(took.map_or_else(String::new, |took| format!("{:.1}", took.as_secs_f64() * 1000.0))),
        ]);
    }
    table.to_string()
}

/// A table without rows.
pub(crate) fn empty(colour: Colour) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    match colour {
        Colour::Always => table.enforce_styling(),
        Colour::Never => table.force_no_tty(),
    };
    table
}

fn row(node: &NodeReport) -> Vec<Cell> {
    let (input, output) = node.usage.map_or((0, 0), |usage| (usage.input, usage.output));
    vec![
        cell(&node.id),
        cell(&node.kind),
        status(node),
        number(if node.attempts == 0 { String::new() } else { node.attempts.to_string() }),
        number(format!("{:.1}", node.duration.as_secs_f64() * 1000.0)),
        number(tokens(input)),
        number(tokens(output)),
        cell(&note(node)),
    ]
}

fn note(node: &NodeReport) -> String {
    let mut notes = Vec::new();
    notes.extend(node.reason.clone());
    notes.extend(node.model.clone());
    notes.extend(node.cached.then(|| "cached".to_owned()));
    notes.extend(node.reused.then(|| "reused".to_owned()));
    notes.extend((node.reused_items > 0).then(|| format!("{} items reused", node.reused_items)));
    if node.degraded {
        notes.push("fallback".to_owned());
    }
    if !node.dropped_outputs.is_empty() {
        notes.push(format!("dropped {}", node.dropped_outputs.join(", ")));
    }
    notes.extend(node.flagged.iter().cloned());
    notes.join("; ")
}

fn run_status(status: RunStatus) -> Cell {
    Cell::new(status.word()).fg(match status {
        RunStatus::Ok => Color::Green,
        RunStatus::Error => Color::Red,
        _ => Color::Yellow,
    })
}

/// The status of a node in words for people: a step that has not begun does not wait for anybody.
pub(crate) fn status_word(node: &NodeReport) -> &'static str {
    let waits = node.started.is_some() || node.reason.is_some();
    if node.status == Status::Waiting && !waits { "not started" } else { node.status.word() }
}

fn status(node: &NodeReport) -> Cell {
    let colour = match node.status {
        Status::Ok => Color::Green,
        Status::Error => Color::Red,
        Status::Skipped | Status::Cancelled | Status::Waiting => Color::Yellow,
    };
    Cell::new(status_word(node)).fg(colour)
}

/// A cell with a text of somebody else's, which must not steer the terminal.
pub(crate) fn cell(text: &str) -> Cell {
    Cell::new(visible(text))
}

fn number(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn tokens(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

/// Millionths as a decimal with six places.
fn money(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
