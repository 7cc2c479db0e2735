//! `stave-bench plans`: what the cache planner's plans cost on generated traces, beside the requests as
//! they were sent and beside the bound below which nothing comes.

use clap::Args;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use stave_block::{PlannerSettings, Strategy, TracedRequest, simulate, tokens_by_bytes};
use stave_lower::read_wire;

use crate::workload::trace::{KINDS, Kind, Wire};

/// Show what plans cost on generated traces, as ratios to the bound and to the requests as sent
#[derive(Debug, Args)]
pub(crate) struct Plans {
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds from the first one on
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// Kinds to measure; all of them when none is named
    kinds: Vec<String>,
    /// Show each trace too
    #[arg(long)]
    each: bool,
}

/// The cost of one trace, in tokens at the input price.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Costs {
    pub(crate) as_sent: f64,
    pub(crate) planned: f64,
    pub(crate) bound: f64,
    /// Planned requests that the provider would refuse.
    pub(crate) refused: usize,
}

impl Costs {
    pub(crate) fn of(trace: &[TracedRequest]) -> Self {
        let replay = |strategy| simulate(trace, strategy, PlannerSettings::default());
        let planned = replay(Strategy::Planned);
        Costs {
            as_sent: replay(Strategy::AsSent).total.cost,
            planned: planned.total.cost,
            bound: replay(Strategy::Optimum).total.cost,
            refused: planned.refused.len(),
        }
    }

    pub(crate) fn to_bound(self) -> f64 {
        self.planned / self.bound.max(1.0)
    }

    pub(crate) fn to_as_sent(self) -> f64 {
        self.planned / self.as_sent.max(1.0)
    }
}

/// A generated trace with its tokens counted, four bytes each.
pub(crate) fn traced(kind: &Kind, seed: u64, wire: Wire) -> Vec<TracedRequest> {
    let lines = kind.lines(seed, wire).into_iter();
    lines
        .filter_map(|line| {
            let wire = read_wire(&line.body, None).ok()?;
            let tokens = tokens_by_bytes(&wire, 4.0);
            Some(TracedRequest { time: line.time, session: line.session, body: line.body, wire, tokens })
        })
        .collect()
}

/// The table of ratios.
pub(crate) fn table(arguments: &Plans) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    table.set_header(["kind", "interface", "to the bound", "worst", "to as sent", "worst", "refused"]);
    let wanted =
        |kind: &&Kind| arguments.kinds.is_empty() || arguments.kinds.iter().any(|name| name == kind.name);
    for (word, wire) in [("anthropic", Wire::Anthropic), ("openai", Wire::OpenAi)] {
        let mut all = Vec::new();
        for kind in KINDS.iter().filter(wanted) {
            let seeds = arguments.seed..arguments.seed.saturating_add(arguments.seeds);
            let costs: Vec<(u64, Costs)> =
                seeds.map(|seed| (seed, Costs::of(&traced(kind, seed, wire)))).collect();
            if arguments.each {
                for (seed, cost) in &costs {
                    table.add_row(row(&format!("{} {seed}", kind.name), word, &[*cost]));
                }
            }
            let costs: Vec<Costs> = costs.into_iter().map(|(_, costs)| costs).collect();
            table.add_row(row(kind.name, word, &costs));
            all.extend(costs);
        }
        table.add_row(row("all", word, &all));
    }
    table
}

fn row(name: &str, wire: &str, costs: &[Costs]) -> Vec<String> {
    let mean =
        |of: fn(Costs) -> f64| costs.iter().map(|costs| of(*costs)).sum::<f64>() / costs.len().max(1) as f64;
    let most = |of: fn(Costs) -> f64| costs.iter().map(|costs| of(*costs)).fold(0.0, f64::max);
    let refused: usize = costs.iter().map(|costs| costs.refused).sum();
    vec![
        name.to_owned(),
        wire.to_owned(),
        format!("{:.4}", mean(Costs::to_bound)),
        format!("{:.4}", most(Costs::to_bound)),
        format!("{:.4}", mean(Costs::to_as_sent)),
        format!("{:.4}", most(Costs::to_as_sent)),
        refused.to_string(),
    ]
}
