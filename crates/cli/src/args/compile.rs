//! The arguments of `stave compile`.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave compile                                    every flow under flows/, into out/dsl
  stave compile flows/support.yaml --out build
  stave compile plant.wdl plant.pdl --out build --emit exec
  stave compile --watch                            again whenever a source changes
  SOURCE_DATE_EPOCH=0 stave compile flows --json

Everything is checked first and published at once: an error leaves the output folder as it was.")]
pub(crate) struct Compile {
    /// Flows (.yaml), workflows (.wdl), policies (.pdl) or folders; `flows` when none is given
    pub(crate) paths: Vec<PathBuf>,
    /// The output folder
    #[arg(long, short, value_name = "DIR", default_value = "out/dsl")]
    pub(crate) out: PathBuf,
    /// What to make, separated by commas; everything when absent
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) emit: Vec<String>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Remove the exec documents and the manifest; with sources, compile them afresh
    #[arg(long, conflicts_with = "clean_all")]
    pub(crate) clean: bool,
    /// Remove the whole output folder; with sources, compile them afresh
    #[arg(long)]
    pub(crate) clean_all: bool,
    /// Compile again whenever a source changes, until stopped
    #[arg(long, conflicts_with_all = ["clean", "clean_all"])]
    pub(crate) watch: bool,
    /// Neither use nor store cached results of compiles
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Treat leniencies of the check as errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// How outputs name their sources
    #[arg(long, value_enum, default_value_t = SourcePaths::Relative)]
    pub(crate) source_paths: SourcePaths,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourcePaths {
    /// From the project's root, the same wherever it lies
    Relative,
    Absolute,
}
