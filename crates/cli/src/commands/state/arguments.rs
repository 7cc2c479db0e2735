//! The grammar of `stave state`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::archive;
use crate::args::EngineChoice;

/// Shows what flows remember between runs, and deletes it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave state list --flow support
  stave state show 3f9c0e7b              the beginning of an id is enough
  stave state delete --session ann-42 --dry-run
  stave state delete 3f9c0e7b6d5a

Only the project's own file is looked at. State that Redis, Hopsworks or Restate keeps is theirs.")]
pub(crate) struct State {
    #[command(subcommand)]
    pub(super) command: StateCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum StateCommand {
    /// List records: the flow, the session or run, and the key of each
    List(List),
    /// Show the fields of a record
    Show(Show),
    /// Delete records, except those that a run in progress may work on
    Delete(Delete),
}

#[derive(Debug, Args)]
pub(super) struct Place {
    /// Where state is kept; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR")]
    pub(super) state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) engine: EngineChoice,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(super) json: bool,
}

impl Place {
    /// The place as the project's library takes it.
    pub(super) fn runs(&self) -> archive::ArchiveLocation {
        archive::ArchiveLocation { state_dir: self.state_dir.clone(), engine: self.engine.choice() }
    }
}

#[derive(Debug, Args, Default)]
pub(super) struct Which {
    /// Only records of this flow
    #[arg(long)]
    pub(super) flow: Option<String>,
    /// Only records of this session, the `session_id` of requests
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    pub(super) which: Which,
    /// How many to list
    #[arg(long, default_value_t = 50)]
    pub(super) limit: usize,
    /// List all of them
    #[arg(long, conflicts_with = "limit")]
    pub(super) all: bool,
    /// Show the keys and sessions of restricted records too, instead of hiding them
    #[arg(long)]
    pub(super) show_restricted: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The record's id, or the beginning of it
    pub(super) id: String,
    /// Show restricted values too, instead of hiding them
    #[arg(long)]
    pub(super) show_restricted: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct Delete {
    /// The ids of the records, or the beginnings of them
    pub(super) ids: Vec<String>,
    #[command(flatten)]
    pub(super) which: Which,
    /// Print what would be deleted, and delete nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

impl State {
    pub(crate) fn is_json(&self) -> bool {
        match &self.command {
            StateCommand::List(list) => list.place.json,
            StateCommand::Show(show) => show.place.json,
            StateCommand::Delete(delete) => delete.place.json,
        }
    }
}
