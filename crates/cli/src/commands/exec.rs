//! `stave exec`: looking at exec documents. One file per action.

mod graph;
mod show;
mod validate;
mod verify;

use crate::args::exec::{Exec, ExecAction};
use crate::differences;
use crate::exit::{Exit, Stop};
use crate::terminal::Terminal;

pub(crate) fn exec(arguments: &Exec, terminal: Terminal) -> Result<Exit, Stop> {
    match &arguments.action {
        ExecAction::Show(arguments) => show::show(arguments, terminal),
        ExecAction::Validate(arguments) => validate::validate(arguments, terminal),
        ExecAction::Verify(arguments) => verify::verify(arguments, terminal),
        ExecAction::Graph(arguments) => graph::graph(arguments, terminal),
        ExecAction::Diff(arguments) => differences::exec::diff(arguments, terminal),
    }
}
