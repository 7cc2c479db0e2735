//! `stave cache`: traces of requests, replayed, looked at, rewritten and explained.

mod analyze;
mod arguments;
mod explain;
mod money;
mod picture;
mod rewrite;
mod simulate;
mod state;
mod trace;

use crate::exit::{Exit, Stop};
use crate::terminal::Terminal;

pub(crate) use arguments::Cache;
use arguments::CacheCommand;

pub(crate) fn cache(arguments: &Cache, terminal: Terminal) -> Result<Exit, Stop> {
    match &arguments.command {
        CacheCommand::Simulate(arguments) => simulate::simulate(arguments, terminal),
        CacheCommand::Analyze(arguments) => analyze::analyze(arguments, terminal),
        CacheCommand::Rewrite(arguments) => rewrite::rewrite(arguments),
        CacheCommand::Explain(arguments) => explain::explain(arguments),
    }
}
