//! Times Stave beside named peers, in the same run and in turns, and prints the ratios.
//!
//! Invariant: nothing is asserted about time. A peer that is not installed takes its row and no other
//! row with it, and a row whose answer differs from ours says so.

#![expect(clippy::disallowed_methods, reason = "a program of its own, which measures the machine it runs on")]

mod benchmarks;
#[expect(
    dead_code,
    clippy::expect_used,
    clippy::panic,
    reason = "shared with tests, which kill nodes and stop where a server does not start"
)]
#[path = "../../tests/program/restate/cluster.rs"]
mod cluster;
mod compile_program;
mod contest;
mod cost;
mod engine;
mod engines;
#[expect(
    dead_code,
    clippy::expect_used,
    clippy::panic,
    reason = "shared with tests, which do more with their folders and stop where that fails"
)]
#[path = "../../tests/program/folder.rs"]
mod folder;
mod machine;
mod peer;
mod plans;
mod proxies;
mod report;
mod serve;
mod traces;
mod worker;
mod workload;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use benchmarks::{BENCHMARKS, Benchmark};
use contest::Settings;
use machine::Machine;

/// Times Stave beside named peers and prints the ratios.
#[derive(Debug, Parser)]
#[command(name = "stave-bench", args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Benchmarks to run; all of them when none is named.
    names: Vec<String>,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
    /// How often each contestant takes its turn.
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
}

#[derive(Debug, Subcommand)]
enum Command {
    Traces(traces::Traces),
    Plans(plans::Plans),
    Engines(engines::Engines),
    Serve(serve::Serve),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match &arguments.command {
        None => benchmarks(&arguments),
        Some(Command::Engines(arguments)) => match engines::table(arguments, &Machine::look()) {
            Ok(table) => print(&table),
            Err(error) => refuse(&error.to_string()),
        },
        Some(Command::Serve(arguments)) => match serve::table(arguments) {
            Ok((table, true)) => print(&table),
            Ok((table, false)) => {
                print(&table);
                ExitCode::FAILURE
            }
            Err(error) => refuse(&error.to_string()),
        },
        Some(Command::Plans(arguments)) => print(&plans::table(arguments).to_string()),
        Some(Command::Traces(arguments)) => match traces::write(arguments) {
            Ok(count) => {
                say(&format!("{count} traces written"));
                ExitCode::SUCCESS
            }
            Err(message) => refuse(&message),
        },
    }
}

fn benchmarks(arguments: &Arguments) -> ExitCode {
    let chosen = match chosen(&arguments.names) {
        Ok(chosen) => chosen,
        Err(message) => return refuse(&message),
    };
    let machine = Machine::look();
    let settings = Settings { rounds: arguments.rounds, ..Settings::DEFAULT };
    let before = machine::load();
    let outcomes: Vec<report::Outcome> = chosen
        .into_iter()
        .map(|benchmark| {
            say(&format!("{}: {}", benchmark.name, benchmark.about));
            let comparisons = (benchmark.prepare)(&machine);
            let standings =
                comparisons.into_iter().map(|comparison| contest::hold(comparison, &settings)).collect();
            report::Outcome { benchmark, standings }
        })
        .collect();
    let load = (before, machine::load());
    let circumstances = report::Circumstances { machine: &machine, settings, load };
    let text = if arguments.json {
        report::json(&circumstances, &outcomes)
    } else {
        report::tables(&circumstances, &outcomes)
    };
    print(&text)
}

fn print(text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn refuse(message: &str) -> ExitCode {
    say(message);
    ExitCode::from(2)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Benchmark>, String> {
    if names.is_empty() {
        return Ok(BENCHMARKS.iter().collect());
    }
    let find = |name: &String| {
        BENCHMARKS.iter().find(|benchmark| benchmark.name == name).ok_or_else(|| {
            let known: Vec<&str> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
            format!("there is no benchmark `{name}`; there are {}", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

/// Progress is for people and stays out of what is printed for programs.
fn say(text: &str) {
    // A closed terminal is no reason to stop measuring.
    let _ = writeln!(std::io::stderr(), "{text}");
}
