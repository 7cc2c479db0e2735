//! One file per command.

mod block;
mod bundle;
mod cache;
mod check;
mod compile;
mod diff;
mod edit;
mod exec;
mod explain;
mod features;
mod fmt;
mod gateway;
mod graph;
mod keys;
mod lsp;
mod merge;
mod new;
mod ops;
mod prompt;
mod rep;
mod run;
mod runs;
mod schema;
mod serve;
mod state;
pub(crate) mod system;
mod test;
mod why;

pub(crate) use block::Block;
pub(crate) use cache::Cache;
pub(crate) use diff::Diff;
pub(crate) use edit::Edit;
pub(crate) use features::Features;
pub(crate) use gateway::GatewayStats;
pub(crate) use keys::Keys;
pub(crate) use lsp::Lsp;
pub(crate) use merge::Merge;
pub(crate) use ops::Ops;
pub(crate) use prompt::Prompt;
pub(crate) use rep::Rep;
pub(crate) use runs::Runs;
pub(crate) use serve::Mcp;
pub(crate) use state::State;
pub(crate) use test::Test;
pub(crate) use why::Why;

use crate::args::{Arguments, Command};
use crate::exit::{Exit, Stop};
use crate::terminal::{self, Terminal};

/// Runs a command to its exit code.
pub(crate) fn run(arguments: Arguments) -> Exit {
    let terminal = Terminal::new(arguments.color);
    let is_json = arguments.command.is_json();
    let result = match arguments.command {
        Command::Check(arguments) => check::check(&arguments, terminal),
        Command::Fmt(arguments) => fmt::fmt(&arguments, terminal),
        Command::Graph(arguments) => graph::graph(&arguments, terminal),
        Command::Schema(arguments) => schema::schema(&arguments),
        Command::Edit(arguments) => edit::edit(&arguments, terminal),
        Command::Diff(arguments) => diff::diff(&arguments, terminal),
        Command::Merge(arguments) => merge::merge(&arguments, terminal),
        Command::Lsp(arguments) => lsp::lsp(&arguments),
        Command::Run(arguments) => run::run(&arguments, terminal),
        Command::Runs(arguments) => runs::runs(&arguments, terminal),
        Command::State(arguments) => state::state(&arguments, terminal),
        Command::Test(arguments) => test::test(&arguments, terminal),
        Command::Why(arguments) => why::why(&arguments, terminal),
        Command::Compile(arguments) => compile::compile(&arguments, terminal),
        Command::Exec(arguments) => exec::exec(&arguments, terminal),
        Command::Serve(arguments) => serve::serve(&arguments, terminal),
        Command::Mcp(arguments) => serve::mcp(&arguments, terminal),
        Command::Gateway(arguments) => gateway::gateway(&arguments, terminal),
        Command::System(arguments) => system::system(&arguments, terminal),
        Command::Bundle(arguments) => bundle::bundle(&arguments, terminal),
        Command::Keys(arguments) => keys::keys(&arguments, terminal),
        Command::Features(arguments) => features::features(&arguments),
        Command::Block(arguments) => block::block(&arguments, terminal),
        Command::Cache(arguments) => cache::cache(&arguments, terminal),
        Command::Prompt(arguments) => prompt::prompt(&arguments, terminal),
        Command::Rep(arguments) => rep::rep(&arguments),
        Command::New(arguments) => new::new(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments, terminal),
        Command::Ops(arguments) => ops::ops(&arguments, terminal),
        Command::PyWorker => stave_pyworker::main_loop(std::io::stdin(), std::io::stdout())
            .map(|()| Exit::Fine)
            .map_err(|error| Stop::internal(format!("the Python worker stopped: {error}"))),
    };
    result.unwrap_or_else(|stop| {
        if is_json {
            terminal::out(&stop.to_value().to_string());
        } else {
            terminal.stop(&stop);
        }
        stop.exit
    })
}
