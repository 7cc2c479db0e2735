//! The grammar of `stave block`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::body_interface::ProviderWord;

/// Looks at model requests as blocks: what exactly is sent, where it comes from, who may see it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave block show --body request.json --provider anthropic
  stave block show --body request.json --json > blocks.json
  stave block show blocks.json
  stave block diff --body monday.json tuesday.json
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
    pub(crate) provider: Option<ProviderWord>,
    /// Count tokens for this model instead of the one that the body names
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A block document; `-` reads stdin
    #[arg(required_unless_present = "body", conflicts_with = "body")]
    pub(crate) document: Option<PathBuf>,
    /// The body of a model request; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) body: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct BlockDiff {
    /// The earlier request
    pub(crate) before: PathBuf,
    /// The later request
    pub(crate) after: PathBuf,
    /// The two files are bodies of model requests; without it they are block documents
    #[arg(long)]
    pub(crate) body: bool,
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
