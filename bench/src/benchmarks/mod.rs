//! The benchmarks, one file for each.

mod cache;
mod canonical;
mod check;
mod compile;
mod conditions;
mod emission;
mod gate;
mod gateway;
mod model_step;
mod prompt;
mod provider_clients;
mod runs;
mod system;

use crate::contest::Comparison;
use crate::machine::Machine;

/// A family of comparisons on one piece of input.
#[derive(Debug)]
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    /// One line for people.
    pub(crate) about: &'static str,
    pub(crate) prepare: fn(&Machine) -> Vec<Comparison>,
}

pub(crate) static BENCHMARKS: &[Benchmark] = &[
    check::BENCHMARK,
    compile::BENCHMARK,
    emission::BENCHMARK,
    canonical::BENCHMARK,
    cache::BENCHMARK,
    model_step::BENCHMARK,
    conditions::BENCHMARK,
    prompt::BENCHMARK,
    runs::BENCHMARK,
    gate::BENCHMARK,
    gateway::BENCHMARK,
    provider_clients::BENCHMARK,
    system::BENCHMARK,
];
