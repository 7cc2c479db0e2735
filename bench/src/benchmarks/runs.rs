//! Steps that do nothing: what the engine itself costs, in memory and with every result on disk before the
//! next step, beside LangGraph on the same graphs; and what a step costs as the graph grows.

use std::path::PathBuf;
use std::sync::Arc;

use stave_exec::Document;

use super::Benchmark;
use crate::contest::{Comparison, Contestant, Entrant, Work};
use crate::engine::Runs;
use crate::machine::Machine;
use crate::peer::Peer;
use crate::workload::graph;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "runs",
    about: "graphs of steps that do nothing, in memory and journalled, beside LangGraph",
    prepare,
};

const CONDITION: &str = "value > 0";

fn prepare(machine: &Machine) -> Vec<Comparison> {
    let peer = Peer::start(machine, include_str!("../peers/runs.py"), stave_canon::Value::Null);
    let folder = std::env::temp_dir().join(format!("stave-bench-{}", std::process::id()));
    let graphs: [(&str, Arc<Document>, u32); 3] = [
        ("linear100", graph::linear(100, None), 100),
        ("fan10", graph::fan(10), 11),
        ("cond50", graph::linear(50, Some(CONDITION)), 50),
    ];
    let mut comparisons = Vec::new();
    for (name, document, steps) in graphs {
        let (memory, durable) = rows(name);
        let title = |title: [&'static str; 3]| {
            title[["linear100", "fan10", "cond50"].iter().position(|known| *known == name).unwrap_or(0)]
        };
        comparisons.push(Comparison {
            title: title([
                "100 steps in a row, in memory",
                "10 steps side by side, in memory",
                "50 steps with conditions, in memory",
            ]),
            work: Work::Calls(steps),
            entrants: vec![ours("EmbeddedEngine", &document, None, 1), peer.entrant("LangGraph", memory)],
        });
        comparisons.push(Comparison {
            title: title([
                "100 steps in a row, durable",
                "10 steps side by side, durable",
                "50 steps with conditions, durable",
            ]),
            work: Work::Calls(steps),
            entrants: vec![
                ours("EmbeddedEngine, journal synced", &document, Some(folder.join(name)), 1),
                peer.entrant("LangGraph, SqliteSaver, sync", durable),
            ],
        });
    }
    let shared = graph::linear(100, None);
    comparisons.push(Comparison {
        title: "32 runs of 100 steps at once, durable",
        work: Work::Calls(3200),
        entrants: vec![
            ours("EmbeddedEngine, journal synced", &shared, Some(folder.join("many")), 32),
            peer.entrant("LangGraph, SqliteSaver, sync, 32 threads", "many_durable"),
        ],
    });
    comparisons.push(Comparison {
        title: "10,000 runs of 10 steps at once, in memory",
        work: Work::Calls(100_000),
        entrants: vec![ours("EmbeddedEngine", &graph::linear(10, None), None, 10_000)],
    });
    for (title, count) in
        [("10 steps", 10), ("100 steps", 100), ("1,000 steps", 1_000), ("10,000 steps", 10_000)]
    {
        comparisons.push(Comparison {
            title,
            work: Work::Calls(count),
            entrants: vec![ours("EmbeddedEngine, in memory", &graph::linear(count as usize, None), None, 1)],
        });
    }
    comparisons
}

fn rows(name: &str) -> (&'static str, &'static str) {
    match name {
        "fan10" => ("fan10_memory", "fan10_durable"),
        "cond50" => ("cond50_memory", "cond50_durable"),
        _ => ("linear100_memory", "linear100_durable"),
    }
}

fn ours(name: &'static str, document: &Arc<Document>, journal: Option<PathBuf>, at_once: usize) -> Entrant {
    let runs = Runs::new(Arc::clone(document), journal, at_once);
    Entrant { name, contestant: runs.map(|runs| Box::new(runs) as Box<dyn Contestant>) }
}
