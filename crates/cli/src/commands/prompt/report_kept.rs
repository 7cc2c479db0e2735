//! `stave prompt report` without files: what policies, gate and token budgets did to the requests that were kept, those
//! of the project's runs and those of its gateway.
//!
//! Invariant: only figures are read, which hold no text of a prompt, so nothing that is restricted can be shown.

use comfy_table::{Cell, CellAlignment};
use stave_canon::{Clock, Timestamp, Value};
use stave_gateway::records::prompt_counts;
use stave_prompt::PromptCounts;
use stave_runtime::journal::{RunFilter, Runs};

use super::arguments::PromptReport;
use crate::archive::{Archive, ArchiveLocation, gateway_records, stop};
use crate::exit::{Exit, Stop};
use crate::period::time_of;
use crate::ports::SystemClock;
use crate::table;
use crate::terminal::{self, Terminal};

/// How many runs of a list are asked for at a time.
const PAGE: usize = 256;

/// Which runs and records count.
#[derive(Debug, Clone, Copy)]
struct ReportTime {
    since: Option<Timestamp>,
    until: Timestamp,
}

/// The figures of the project's runs.
#[derive(Debug, Default)]
struct RunFigures {
    runs: u64,
    counts: PromptCounts,
}

pub(super) fn report(arguments: &PromptReport, terminal: Terminal) -> Result<Exit, Stop> {
    if arguments.selected.mode.is_some() || arguments.selected.project.is_some() {
        return Err(Stop::invalid("--mode and --project are about prompts that the report processes")
            .help("name files, or leave the option out to read what was kept"));
    }
    let now = SystemClock.now();
    let when = |text: &Option<String>| text.as_deref().map(|text| time_of(text, now)).transpose();
    let time = ReportTime { since: when(&arguments.since)?, until: when(&arguments.until)?.unwrap_or(now) };
    if time.since.is_some_and(|since| since > time.until) {
        return Err(Stop::invalid("--since is after --until"));
    }
    let runs = of_runs(arguments, time)?;
    let gateway = of_gateway(arguments, time)?;
    if runs.is_none() && gateway.is_none() {
        return Err(Stop::invalid("no runs and no requests of a gateway are kept here")
            .help("--state-dir names the folder that keeps them; `-` processes the prompts on stdin"));
    }
    let (runs, gateway) = (runs.unwrap_or_default(), gateway.unwrap_or_default());
    let mut total = runs.counts.clone();
    total.add(&gateway);
    if arguments.selected.json {
        let value = Value::from_iter([
            ("since", Value::from(time.since.map(|since| since.to_string()))),
            ("until", time.until.to_string().into()),
            ("runs", runs.runs.into()),
            ("flows", runs.counts.sorted().to_value()),
            ("gateway", gateway.sorted().to_value()),
            ("total", total.sorted().to_value()),
        ]);
        terminal::out(&value.to_string());
        return Ok(Exit::Fine);
    }
    let since = time.since.map_or_else(|| "the beginning".to_owned(), |since| since.to_string());
    terminal::out(&format!("from {since} to {}", time.until));
    terminal::out(&format!(
        "flows: {} requests of {} runs, {} denied; gateway: {} requests, {} denied",
        runs.counts.requests, runs.runs, runs.counts.denied, gateway.requests, gateway.denied
    ));
    told(&total.sorted(), terminal);
    Ok(Exit::Fine)
}

/// `None` when no run was ever kept.
fn of_runs(arguments: &PromptReport, time: ReportTime) -> Result<Option<RunFigures>, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    let place = ArchiveLocation { state_dir: arguments.state_dir.clone(), engine: arguments.engine.choice() };
    let Some(archive) = Archive::open_to_read(&place)? else { return Ok(None) };
    runtime.block_on(count_runs(&*archive.runs, time)).map(Some)
}

/// Reads the runs page by page, the newest first, as far back as the time reaches.
async fn count_runs(runs: &dyn Runs, time: ReportTime) -> Result<RunFigures, Stop> {
    let mut figures = RunFigures::default();
    let mut after = None;
    loop {
        let filter = RunFilter { limit: Some(PAGE), after, ..RunFilter::default() };
        let page = runs.list(filter).await.map_err(|error| stop(&error))?;
        let Some(last) = page.last() else { return Ok(figures) };
        after = Some((last.started_at, last.id.clone()));
        for summary in &page {
            if time.since.is_some_and(|since| summary.started_at < since) {
                return Ok(figures);
            }
            if summary.started_at >= time.until {
                continue;
            }
            let run = runs.show(&summary.id).await.map_err(|error| stop(&error))?;
            figures.runs += 1;
            for node in run.report().nodes {
                figures.counts.add(&node.prompts);
            }
        }
    }
}

/// `None` when the gateway never kept anything.
fn of_gateway(arguments: &PromptReport, time: ReportTime) -> Result<Option<PromptCounts>, Stop> {
    let (path, _) = gateway_records(arguments.state_dir.as_deref())?;
    if !path.is_file() {
        return Ok(None);
    }
    let counts = prompt_counts(&path, time.since, time.until);
    counts.map(Some).map_err(|error| Stop::internal(error.to_string()))
}

fn told(counts: &PromptCounts, terminal: Terminal) {
    let number = |count: u64| Cell::new(count).set_alignment(CellAlignment::Right);
    if !counts.policies.is_empty() {
        let mut table = table::empty(terminal.stdout);
        table.set_header(["policy", "field", "denials", "flags"]);
        for one in &counts.policies {
            let cells =
                [Cell::new(&one.policy), Cell::new(&one.field), number(one.denials), number(one.flags)];
            table.add_row(cells);
        }
        terminal::out_styled(&table.to_string());
    }
    if !counts.gate.is_empty() {
        let mut table = table::empty(terminal.stdout);
        table.set_header(["gate rule", "field", "refusals", "redactions", "routed", "reported only"]);
        for one in &counts.gate {
            let cells = [one.refusals, one.redactions, one.routed, one.reported].map(number);
            table.add_row([Cell::new(&one.rule), Cell::new(&one.field)].into_iter().chain(cells));
        }
        terminal::out_styled(&table.to_string());
    }
    if !counts.cuts.is_empty() {
        let mut table = table::empty(terminal.stdout);
        table.set_header(["section", "cut for", "cuts", "tokens"]);
        for one in &counts.cuts {
            let cells =
                [Cell::new(&one.section), Cell::new(&one.reason), number(one.cuts), number(one.tokens)];
            table.add_row(cells);
        }
        terminal::out_styled(&table.to_string());
    }
    if counts.policies.is_empty() && counts.gate.is_empty() && counts.cuts.is_empty() {
        terminal::out("nothing was denied, flagged, redacted or cut");
    }
}
