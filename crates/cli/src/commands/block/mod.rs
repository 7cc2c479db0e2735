//! `stave block`: model requests as blocks, shown, compared and checked.

mod arguments;
mod check;
mod diff;
mod input;
mod show;
mod stored;

use crate::exit::{Exit, Stop};
use crate::terminal::Terminal;

pub(crate) use arguments::Block;
use arguments::BlockCommand;

pub(crate) fn block(arguments: &Block, terminal: Terminal) -> Result<Exit, Stop> {
    match &arguments.command {
        BlockCommand::Show(arguments) => show::show(arguments, terminal),
        BlockCommand::Diff(arguments) => diff::diff(arguments),
        BlockCommand::Check(arguments) => check::check(arguments),
    }
}
