//! The tables for people and the object for programs.

use comfy_table::{Cell, CellAlignment, Table, presets};
use stave_canon::Value;

use crate::benchmarks::Benchmark;
use crate::contest::{Placing, Settings, Standings, Times, Work};
use crate::cost::Spread;
use crate::machine::Machine;

/// A benchmark and what came of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) benchmark: &'static Benchmark,
    pub(crate) standings: Vec<Standings>,
}

/// What a reader must know to judge the times.
#[derive(Debug)]
pub(crate) struct Circumstances<'m> {
    pub(crate) machine: &'m Machine,
    pub(crate) settings: Settings,
    /// The load averages before and after the run.
    pub(crate) load: (Option<String>, Option<String>),
}

/// One table for each benchmark, with a line on the machine above and the legend below.
pub(crate) fn tables(circumstances: &Circumstances<'_>, outcomes: &[Outcome]) -> String {
    let unknown = || "unknown".to_owned();
    let (before, after) = circumstances.load.clone();
    let mut text = format!(
        "{} processors, load {} before and {} after, {} rounds in turns\n",
        circumstances.machine.processors,
        before.unwrap_or_else(unknown),
        after.unwrap_or_else(unknown),
        circumstances.settings.rounds,
    );
    for outcome in outcomes {
        let Benchmark { name, about, .. } = outcome.benchmark;
        text.push_str(&format!("\n{name}: {about}\n{}\n", table(outcome)));
        text.push_str(&absences(outcome));
    }
    text.push_str(
        "\nTimes are medians for one iteration (lowest to highest round). A ratio is the peer's time over ours \
         of the same\nround: above 1, ours took less. Where the rounds disagree about who took less, it is in \
         question marks.\nAbsolute times are of this machine at this moment; only ratios say something elsewhere.",
    );
    text
}

fn table(outcome: &Outcome) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    table.set_header(["", "CPU time", "wall time", "per CPU second", "ratio of CPU", "ratio of wall"]);
    for standings in &outcome.standings {
        table.add_row([standings.title]);
        for placing in &standings.placings {
            let mut cells = vec![Cell::new(format!("  {}", placing.name))];
            match &placing.times {
                Ok(times) => cells.extend(
                    row(times, standings.work)
                        .into_iter()
                        .map(|text| Cell::new(text).set_alignment(CellAlignment::Right)),
                ),
                Err(_) => cells.push(Cell::new("absent").set_alignment(CellAlignment::Right)),
            }
            table.add_row(cells);
        }
    }
    table
}

/// Who did not take part, and why, each reason once.
fn absences(outcome: &Outcome) -> String {
    let mut lines: Vec<String> = Vec::new();
    for placing in outcome.standings.iter().flat_map(|standings| &standings.placings) {
        if let Err(error) = &placing.times {
            let line = format!("{}: {error}\n", placing.name);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines.concat()
}

fn row(times: &Times, work: Work) -> [String; 5] {
    let ratio_of_cpu = match times.agrees {
        Some(false) => format!("{}, other answer", ratio(times.cpu_ratio)),
        _ => ratio(times.cpu_ratio),
    };
    [
        duration(times.cpu_ns),
        duration(times.wall_ns),
        rate(times.cpu_ns, work),
        ratio_of_cpu,
        ratio(times.wall_ratio),
    ]
}

fn duration(nanoseconds: Spread) -> String {
    let (divisor, unit) = match nanoseconds.median {
        median if median >= 1e6 => (1e6, "ms"),
        median if median >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    let Spread { median, low, high } = nanoseconds;
    format!("{} {unit} ({}–{})", number(median / divisor), number(low / divisor), number(high / divisor))
}

fn ratio(ratio: Option<Spread>) -> String {
    let Some(Spread { median, low, high }) = ratio else { return String::new() };
    let doubt = if low < 1.0 && high > 1.0 { "?" } else { "" };
    format!("{doubt}{}{doubt} ({}–{})", number(median), number(low), number(high))
}

fn rate(nanoseconds: Spread, work: Work) -> String {
    let seconds = nanoseconds.median.max(1.0) / 1e9;
    match work {
        Work::Bytes(bytes) => format!("{} MB", number(bytes as f64 / 1e6 / seconds)),
        Work::Calls(calls) => format!("{:.0} calls", f64::from(calls) / seconds),
    }
}

/// About three digits that matter.
fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.1 => format!("{value:.2}"),
        value => format!("{value:.4}"),
    }
}

/// One object with everything the tables show, in plain units.
pub(crate) fn json(circumstances: &Circumstances<'_>, outcomes: &[Outcome]) -> String {
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::from);
    let (before, after) = &circumstances.load;
    let benchmarks: Vec<Value> = outcomes
        .iter()
        .map(|outcome| {
            object([
                ("name", outcome.benchmark.name.into()),
                ("comparisons", outcome.standings.iter().map(comparison).collect::<Vec<_>>().into()),
            ])
        })
        .collect();
    let report = object([
        ("processors", circumstances.machine.processors.into()),
        ("load_before", text(before)),
        ("load_after", text(after)),
        ("rounds", u64::from(circumstances.settings.rounds).into()),
        ("benchmarks", benchmarks.into()),
    ]);
    report.to_string()
}

fn comparison(standings: &Standings) -> Value {
    let (unit, amount) = match standings.work {
        Work::Bytes(bytes) => ("bytes", bytes as u64),
        Work::Calls(calls) => ("calls", u64::from(calls)),
    };
    object([
        ("title", standings.title.into()),
        ("unit", unit.into()),
        ("units_per_iteration", amount.into()),
        ("contestants", standings.placings.iter().map(contestant).collect::<Vec<_>>().into()),
    ])
}

fn contestant(placing: &Placing) -> Value {
    match &placing.times {
        Ok(times) => object([
            ("name", placing.name.into()),
            ("iterations_per_sample", times.iterations.into()),
            ("cpu_ns", spread(Some(times.cpu_ns))),
            ("wall_ns", spread(Some(times.wall_ns))),
            ("cpu_ratio", spread(times.cpu_ratio)),
            ("wall_ratio", spread(times.wall_ratio)),
            ("same_answer", times.agrees.map_or(Value::Null, Value::from)),
        ]),
        Err(error) => object([("name", placing.name.into()), ("absent", error.to_string().into())]),
    }
}

fn spread(spread: Option<Spread>) -> Value {
    let Some(Spread { median, low, high }) = spread else { return Value::Null };
    object([("median", median.into()), ("low", low.into()), ("high", high.into())])
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::from_iter(members.map(|(name, value)| (name.to_owned(), value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_that_rounds_disagree_about_is_in_question_marks() {
        assert_eq!(ratio(None), "");
        assert_eq!(ratio(Some(Spread { median: 3.456, low: 2.0, high: 12.34 })), "3.46 (2.00–12.3)");
        assert_eq!(ratio(Some(Spread { median: 1.2, low: 0.9, high: 1.5 })), "?1.20? (0.90–1.50)");
    }

    #[test]
    fn an_absent_peer_is_explained_once_and_below_the_table() {
        let standings = |title| {
            let error = crate::contest::Error::Missing("install it".to_owned());
            Standings {
                title,
                work: Work::Calls(1),
                placings: vec![Placing { name: "peer", times: Err(error) }],
            }
        };
        let benchmark = &crate::benchmarks::BENCHMARKS[0];
        let outcome = Outcome { benchmark, standings: vec![standings("one"), standings("two")] };
        assert_eq!(absences(&outcome), "peer: install it\n");
        assert_eq!(table(&outcome).to_string().matches("absent").count(), 2);
    }

    #[test]
    fn units_follow_the_median() {
        assert_eq!(duration(Spread { median: 1500.0, low: 900.0, high: 250_000.0 }), "1.50 µs (0.90–250)");
        assert_eq!(rate(Spread { median: 1e9, low: 1e9, high: 1e9 }, Work::Bytes(5_000_000)), "5.00 MB");
        assert_eq!(rate(Spread { median: 1e6, low: 1e6, high: 1e6 }, Work::Calls(100)), "100000 calls");
    }
}
