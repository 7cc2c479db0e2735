//! `stave runs`: what the journal knows of runs, and what can be done with them.

mod arguments;
mod delete;
mod end;
mod export;
mod gc;
mod go_on;
#[cfg_attr(not(feature = "restate"), path = "../without/hand_over.rs")]
mod hand_over;
mod list;
mod report;
mod show;

pub(crate) use arguments::Runs;

use self::arguments::RunsCommand;
use crate::archive::{Archive, Keeper, stop};
use crate::exit::{Exit, Stop};
use crate::terminal::Terminal;

pub(crate) fn runs(arguments: &Runs, terminal: Terminal) -> Result<Exit, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    runtime.block_on(async {
        match &arguments.command {
            RunsCommand::List(list) => list::list(list, terminal).await,
            RunsCommand::Show(show) => show::show(show, terminal).await,
            RunsCommand::Report(report) => report::report(report).await,
            RunsCommand::Resume(resume) => go_on::resume(resume, terminal).await,
            RunsCommand::Replay(replay) => go_on::replay(replay, terminal).await,
            RunsCommand::Approve(approve) => go_on::approve(approve, terminal).await,
            RunsCommand::Cancel(cancel) => end::cancel(cancel).await,
            RunsCommand::Delete(arguments) => delete::delete(arguments).await,
            RunsCommand::Gc(gc) => gc::gc(gc).await,
            RunsCommand::Export(export) => export::export(export).await,
            RunsCommand::Handover(arguments) => hand_over::hand_over(arguments).await,
        }
    })
}
