//! The grammar of `stave runs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::Place;

/// Shows recorded runs and resumes them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave runs list --status interrupted
  stave runs show run_4f2a                the beginning of an id is enough
  stave runs report run_4f2a -o run.html  a page to look at and to send
  stave runs resume run_4f2a              after a crash, a kill or a restart
  stave runs replay run_4f2a answer       again, from the node `answer` on
  stave runs approve run_4f2a ask_boss --comment \"within budget\"
  stave runs delete run_4f2a --dry-run
  stave runs gc --older-than 7 --dry-run  days
  stave runs export --all -o runs.jsonl
  stave runs handover --all --restate-url http://127.0.0.1:9070")]
pub(crate) struct Runs {
    #[command(subcommand)]
    pub(super) command: RunsCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum RunsCommand {
    /// List runs, the newest first
    List(List),
    /// Show the nodes of a run, its output and its failure
    Show(Show),
    /// Write a page about a run: its graph, times, tokens, money and results
    Report(Report),
    /// Resume a run that was interrupted or waits; finished steps are not repeated
    Resume(GoOn),
    /// Run the document of a run again under a new id, taking recorded results over
    Replay(Replay),
    /// Approve or deny a step that waits for a person
    Approve(Approve),
    /// End a run
    Cancel(Cancel),
    /// Delete runs that have ended
    Delete(Delete),
    /// Remove runs that ended long ago
    Gc(Gc),
    /// Write runs as JSON, one on each line, with everything that is kept of them but restricted values
    Export(Export),
    /// Transfer runs that have not ended to Restate, with the state of their sessions
    Handover(HandOver),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only runs of this flow
    #[arg(long)]
    pub(super) flow: Option<String>,
    /// Only runs with this status
    #[arg(long, value_enum)]
    pub(super) status: Option<Status>,
    /// How many to list
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) limit: u64,
    /// List all of them
    #[arg(long, conflicts_with_all = ["limit", "cursor"])]
    pub(super) all: bool,
    /// Continue after an earlier page: the `next` of its JSON
    #[arg(long)]
    pub(super) cursor: Option<String>,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Status {
    Running,
    Interrupted,
    Queued,
    Quarantined,
    Waiting,
    Ok,
    Error,
    Cancelled,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The run's id, or the beginning of it
    pub(super) run: String,
    /// Show restricted values too, instead of hiding them
    #[arg(long)]
    pub(super) show_restricted: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct Report {
    /// The run's id, or the beginning of it
    pub(super) run: String,
    /// The file to write; stdout when absent
    #[arg(long, short, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Show restricted values too, instead of hiding them
    #[arg(long)]
    pub(super) show_restricted: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct GoOn {
    /// The run's id, or the beginning of it
    pub(super) run: String,
    /// Resume the run even if it is quarantined, because the processes that drove it died
    #[arg(long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) with: With,
}

/// What a run needs besides what is kept of it.
#[derive(Debug, Args)]
pub(super) struct With {
    /// A file with the `auth` of the original request, which is never kept
    #[arg(long, value_name = "FILE")]
    pub(super) auth: Option<PathBuf>,
    /// Answer model calls from this recording instead of asking a model
    #[arg(long, value_name = "FILE")]
    pub(super) replay: Option<PathBuf>,
    /// Ask the models even when stave.toml names a recording to replay
    #[arg(long, conflicts_with = "replay")]
    pub(super) live: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct Replay {
    /// The run's id, or the beginning of it
    pub(super) run: String,
    /// The node to begin at: it and what depends on it is done again. The failed nodes when absent
    pub(super) node: Option<String>,
    #[command(flatten)]
    pub(super) with: With,
}

#[derive(Debug, Args)]
pub(super) struct Approve {
    /// The run's id, or the beginning of it
    pub(super) run: String,
    /// The node that asks; `each[3].ask` is a node that asks for an item of a list or as a tool
    pub(super) node: String,
    /// The digest of the question that is decided, as `stave runs show` has it. Needed when the question has changed
    #[arg(long)]
    pub(super) digest: Option<String>,
    /// Deny the step
    #[arg(long)]
    pub(super) deny: bool,
    /// Why
    #[arg(long)]
    pub(super) comment: Option<String>,
    /// Who decides, recorded as `user:NAME`; the user of this machine when absent
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,
    /// Record the decision and leave the run to `stave runs resume`
    #[arg(long)]
    pub(super) no_resume: bool,
    #[command(flatten)]
    pub(super) with: With,
}

#[derive(Debug, Args)]
pub(super) struct Cancel {
    /// The run's id, or the beginning of it
    pub(super) run: String,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct Delete {
    /// The ids of the runs, or the beginnings of them
    #[arg(required = true)]
    pub(super) runs: Vec<String>,
    /// Also runs that wait, were interrupted or are quarantined; they cannot be resumed afterwards. A run that a process
    /// drives is never deleted
    #[arg(long)]
    pub(super) force: bool,
    /// Print what would be deleted, and delete nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct Gc {
    /// Remove runs that ended this many days ago or earlier; `journal.keep_days` of stave.toml, else 30
    #[arg(long, value_name = "DAYS")]
    pub(super) older_than: Option<u32>,
    /// Keep this many of the newest runs whatever their age; `journal.keep_runs` of stave.toml, else none
    #[arg(long, value_name = "COUNT")]
    pub(super) keep: Option<usize>,
    /// Stop reporting that commits are missing because the database's log was deleted or cut off
    #[arg(long)]
    pub(super) accept_loss: bool,
    /// List the runs that would be removed because of their age, and remove nothing
    #[arg(long, conflicts_with = "accept_loss")]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct Export {
    /// The ids of the runs, or the beginnings of them
    #[arg(required_unless_present = "all")]
    pub(super) runs: Vec<String>,
    /// Every run that is kept
    #[arg(long, conflicts_with = "runs")]
    pub(super) all: bool,
    /// The file to write; stdout when absent
    #[arg(long, short, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Write restricted values too, instead of hiding them
    #[arg(long)]
    pub(super) show_restricted: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct HandOver {
    /// The ids of the runs, or the beginnings of them
    #[arg(required_unless_present = "all")]
    pub(super) runs: Vec<String>,
    /// Every run that has not ended
    #[arg(long, conflicts_with = "runs")]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

impl Runs {
    pub(crate) fn is_json(&self) -> bool {
        let place = match &self.command {
            RunsCommand::List(list) => &list.place,
            RunsCommand::Show(show) => &show.place,
            RunsCommand::Report(report) => &report.place,
            RunsCommand::Resume(resume) => &resume.with.place,
            RunsCommand::Replay(replay) => &replay.with.place,
            RunsCommand::Approve(approve) => &approve.with.place,
            RunsCommand::Cancel(cancel) => &cancel.place,
            RunsCommand::Delete(delete) => &delete.place,
            RunsCommand::Gc(gc) => &gc.place,
            RunsCommand::Export(export) => &export.place,
            RunsCommand::Handover(hand_over) => &hand_over.place,
        };
        place.json
    }
}
