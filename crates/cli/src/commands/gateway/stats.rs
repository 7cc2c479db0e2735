//! `stave gateway stats`: totals over the records of the gateway.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use comfy_table::{Cell, CellAlignment};
use stave_canon::Clock;
use stave_gateway::records::{By, Stats as Evidence, StatsGroup, StatsQuery, Sums, page, shown};

use crate::archive::gateway_records;
use crate::args::GatewayPlace;
use crate::exit::{Exit, Stop};
use crate::period::time_of;
use crate::ports::SystemClock;
use crate::terminal::{self, Terminal};
use crate::{files, table};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave gateway stats                            everything that is kept, by model
  stave gateway stats --since 24h --by session
  stave gateway stats --tenant acme --by key
  stave gateway stats --since 7d --html week.html
  stave gateway stats --json")]
pub(crate) struct Stats {
    /// From when on: a period before now such as 24h or 7d, or a time such as 2026-11-01T00:00:00Z
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only the requests of this tenant
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// What to group by
    #[arg(long, value_enum, default_value_t = Grouping::Model)]
    by: Grouping,
    /// How many groups, sessions and misses to list
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    top: u32,
    /// Write a page with pictures, which needs nothing but itself
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    place: GatewayPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Grouping {
    Session,
    Model,
    Key,
    Upstream,
}

impl Stats {
    pub(crate) fn is_json(&self) -> bool {
        self.place.json
    }
}

pub(super) fn stats(arguments: &Stats, terminal: Terminal) -> Result<Exit, Stop> {
    let (path, _) = gateway_records(arguments.place.state_dir.as_deref())?;
    if !path.is_file() {
        return Err(Stop::invalid("no requests of a gateway are kept here")
            .help("--state-dir names the folder that keeps them"));
    }
    let now = SystemClock.now();
    let query = StatsQuery {
        since: arguments.since.as_deref().map(|text| time_of(text, now)).transpose()?,
        until: now,
        tenant: arguments.tenant.clone(),
        by: match arguments.by {
            Grouping::Session => By::Session,
            Grouping::Model => By::Model,
            Grouping::Key => By::Key,
            Grouping::Upstream => By::Upstream,
        },
        top: arguments.top,
    };
    let evidence = Evidence::of_file(&path, &query).map_err(|error| Stop::internal(error.to_string()))?;
    if let Some(file) = &arguments.html {
        files::write_private(file, &page(&evidence))?;
    }
    if arguments.place.json {
        terminal::out(&evidence.to_value().to_string());
        return Ok(Exit::Fine);
    }
    if let Some(file) = &arguments.html {
        terminal::error(&format!("wrote {}", file.display()));
        return Ok(Exit::Fine);
    }
    terminal::out(&told(&evidence, terminal));
    Ok(Exit::Fine)
}

/// What was spent, and how many requests are not in it.
fn spent(sums: &Sums) -> String {
    match (sums.known_spent(), sums.unpriced) {
        (Some(spent), 1..) => format!("{} + {} unpriced", shown::money(spent), sums.unpriced),
        (spent, _) => shown::known_money(spent),
    }
}

fn told(evidence: &Evidence, terminal: Terminal) -> String {
    let number = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let row = |name: &str, group: &StatsGroup| {
        let sums = &group.sums;
        [
            Cell::new(name),
            number(sums.requests.to_string()),
            number(sums.refused.to_string()),
            number(sums.failed.to_string()),
            number(sums.input.to_string()),
            number(sums.hit_rate().map_or_else(String::new, shown::percent)),
            number(sums.output.to_string()),
            number(spent(sums)),
            number(shown::known_money(sums.known_saved())),
        ]
    };
    let mut groups = table::empty(terminal.stdout);
    groups.set_header([
        evidence.by.word(),
        "requests",
        "refused",
        "failed",
        "tokens in",
        "from cache",
        "out",
        "spent",
        "saved",
    ]);
    for group in &evidence.groups {
        groups.add_row(row(if group.name.is_empty() { "(none)" } else { &group.name }, group));
    }
    let total = StatsGroup { name: String::new(), sums: evidence.total };
    groups.add_row(row("total", &total));
    let mut told = groups.to_string();
    let more = evidence.group_count.saturating_sub(evidence.groups.len() as u64);
    if more > 0 {
        told.push_str(&format!("\nand {more} more"));
    }
    if !evidence.misses.is_empty() {
        let mut misses = table::empty(terminal.stdout);
        misses.set_header(["first difference", "what differs", "requests", "paid again"]);
        for miss in &evidence.misses {
            misses.add_row([
                Cell::new(&miss.place),
                Cell::new(miss.variable.as_deref().unwrap_or("text")),
                number(miss.requests.to_string()),
                number(miss.lost_tokens.to_string()),
            ]);
        }
        told.push_str(&format!("\n{misses}"));
    }
    for (what, reasons) in
        [("not planned", &evidence.not_planned), ("sent on unchanged", &evidence.failed_open)]
    {
        for (reason, requests) in reasons {
            told.push_str(&format!("\n{what}: {reason} ({requests})"));
        }
    }
    told
}
