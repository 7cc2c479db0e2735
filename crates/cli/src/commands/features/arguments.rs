//! The grammar of `stave features`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Imports rows of features, and reads them as of a time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave features import customers.csv --group customers --key customer_id --event-time seen_at
  stave features import scores.parquet --group scores --version 2
  stave features read customers c1 --as-of 2026-03-01T00:00:00Z

Rows go to the project's own store, or to the online store when HOPSWORKS_URL is set.")]
pub(crate) struct Features {
    #[command(subcommand)]
    pub(super) command: FeaturesCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum FeaturesCommand {
    /// Import the rows of a CSV, Parquet or JSON lines file into a group
    Import(Import),
    /// Read the newest row of a key that was known at a time
    Read(Read),
}

#[derive(Debug, Args)]
pub(super) struct Place {
    /// Where the project's store is; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR")]
    pub(super) state_dir: Option<PathBuf>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The table: .csv with a header, .parquet, or .jsonl
    pub(super) file: PathBuf,
    /// The feature group
    #[arg(long)]
    pub(super) group: String,
    /// The version of the group
    #[arg(long)]
    pub(super) version: Option<i64>,
    /// A column of the key; may be repeated. As stave.toml says when absent, else the column `key`
    #[arg(long, value_name = "COLUMN")]
    pub(super) key: Vec<String>,
    /// The column with the time of a row. As stave.toml says when absent, else `event_time`
    #[arg(long, value_name = "COLUMN")]
    pub(super) event_time: Option<String>,
    /// The time of rows that have none of their own
    #[arg(long, value_name = "TIME")]
    pub(super) at: Option<String>,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct Read {
    /// The feature group or view
    pub(super) group: String,
    /// The key: a value, or a JSON object of the key's columns
    pub(super) key: String,
    /// The version of the group; the latest when absent
    #[arg(long)]
    pub(super) version: Option<i64>,
    /// Rows that became known later are not seen; now when absent
    #[arg(long, value_name = "TIME")]
    pub(super) as_of: Option<String>,
    #[command(flatten)]
    pub(super) place: Place,
}

impl Features {
    pub(crate) fn is_json(&self) -> bool {
        match &self.command {
            FeaturesCommand::Import(import) => import.place.json,
            FeaturesCommand::Read(read) => read.place.json,
        }
    }
}
