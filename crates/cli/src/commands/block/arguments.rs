//! The grammar of `stave block`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::EngineChoice;
use crate::body_interface::BodyProvider;

/// Shows model requests as blocks: what exactly is sent, where it comes from, who may see it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave block show --body request.json --provider anthropic
  stave block show --body request.json --json > blocks.json
  stave block show blocks.json
  stave block show --run run_4f2a --step answer    what a step of a run asked its model
  stave block show --record req_09c1               what the gateway sent, without the contents
  stave block diff --body monday.json tuesday.json
  stave block diff --run run_4f2a --run run_77b0 --step answer
  stave block diff --record req_09c1 --record req_09d4
  stave block check blocks.json")]
pub(crate) struct Block {
    #[command(subcommand)]
    pub(crate) command: BlockCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BlockCommand {
    /// Show the blocks of a request body or of a block document
    Show(Show),
    /// Compare two requests block by block
    Diff(BlockDiff),
    /// Check a block document against the format
    Check(BlockCheck),
}

#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// Whose interface the bodies are written for; found out from each body when absent
    #[arg(long, value_enum)]
    pub(crate) provider: Option<BodyProvider>,
    /// Count tokens for this model instead of the one that the body names
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where runs and records are kept, and how much of them is shown.
#[derive(Debug, Args)]
pub(crate) struct Kept {
    /// Show restricted values too, instead of hiding them
    #[arg(long)]
    pub(crate) show_restricted: bool,
    /// Where runs and the gateway's records are kept; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) engine: EngineChoice,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A block document; `-` reads stdin
    #[arg(
        required_unless_present_any = ["body", "run", "record"],
        conflicts_with_all = ["body", "run", "record"]
    )]
    pub(crate) document: Option<PathBuf>,
    /// The body of a model request; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["run", "record"])]
    pub(crate) body: Option<PathBuf>,
    /// A run, by its id or the beginning of it
    #[arg(long, value_name = "RUN", requires = "step", conflicts_with = "record")]
    pub(crate) run: Option<String>,
    /// The step of the run that asked
    #[arg(long, value_name = "NODE", requires = "run")]
    pub(crate) step: Option<String>,
    /// Which request of the step, counted from 1; the last one when absent
    #[arg(long, value_name = "N", requires = "run")]
    pub(crate) request: Option<usize>,
    /// A request to the gateway, by its id or the beginning of it
    #[arg(long, value_name = "ID")]
    pub(crate) record: Option<String>,
    #[command(flatten)]
    pub(crate) kept: Kept,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct BlockDiff {
    /// The earlier request
    #[arg(required_unless_present_any = ["run", "record"], requires = "after")]
    pub(crate) before: Option<PathBuf>,
    /// The later request
    pub(crate) after: Option<PathBuf>,
    /// The two files are bodies of model requests; without it they are block documents
    #[arg(long)]
    pub(crate) body: bool,
    /// A run; given twice, the earlier one first
    #[arg(long, value_name = "RUN", requires = "step", conflicts_with_all = ["before", "record", "body"])]
    pub(crate) run: Vec<String>,
    /// The step that asked; given twice, the one of the earlier request first
    #[arg(long, value_name = "NODE", requires = "run")]
    pub(crate) step: Vec<String>,
    /// Which request of the step, counted from 1; the last one when absent. Given twice, the earlier one first
    #[arg(long, value_name = "N", requires = "run")]
    pub(crate) request: Vec<usize>,
    /// A request to the gateway; given twice, the earlier one first
    #[arg(long, value_name = "ID", conflicts_with_all = ["before", "body"])]
    pub(crate) record: Vec<String>,
    #[command(flatten)]
    pub(crate) kept: Kept,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct BlockCheck {
    /// The block document; `-` reads stdin
    pub(crate) document: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

impl Block {
    /// Whether the command's answer is one JSON object.
    pub(crate) fn is_json(&self) -> bool {
        match &self.command {
            BlockCommand::Show(show) => show.reading.json,
            BlockCommand::Diff(diff) => diff.reading.json,
            BlockCommand::Check(check) => check.json,
        }
    }
}
