//! The grammar of the commands about flow files.

use std::path::PathBuf;

use clap::ValueEnum;

use super::GraphFormat;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave check                         every flow under flows/
  stave check flows/support.yaml      one flow
  stave check --watch                 again whenever a file changes
  stave check --strict --format sarif flows > flows.sarif
  stave check --fix                   apply the cures that are certain
  stave check - --stdin-name flows/support.yaml < draft.yaml")]
pub(crate) struct Check {
    /// Flow files, exec documents (.json) or folders; `-` reads stdin; `flows` when none is given
    pub(crate) paths: Vec<PathBuf>,
    /// Treat leniencies as errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Apply the machine-applicable fixes to the files, then report what is left. What came on stdin is
    /// printed on stdout with its fixes
    #[arg(long)]
    pub(crate) fix: bool,
    /// Check again whenever a file changes, until stopped
    #[arg(long, conflicts_with = "fix")]
    pub(crate) watch: bool,
    /// The file that the text on stdin belongs to: its name is shown, and its project counts
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin_name: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people: the source with the place marked
    Human,
    /// One line per finding, for editors and grep
    Short,
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave fmt                       every flow under flows/
  stave fmt --check               exit 2 when a file is not in its layout, change nothing
  stave fmt --diff flows/a.yaml   show what would change, change nothing
  stave fmt - < draft.yaml        from stdin to stdout
  stave fmt plant.wdl plant.pdl   workflows and policies too")]
pub(crate) struct Fmt {
    /// Flow, workflow or policy files, or folders; `-` reads stdin and prints to stdout; `flows` when none is given
    pub(crate) paths: Vec<PathBuf>,
    /// The file that the text from stdin belongs to; its ending says what it is
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin_name: Option<PathBuf>,
    /// Change nothing; exit 2 when a file would change
    #[arg(long)]
    pub(crate) check: bool,
    /// Change nothing; print what would change
    #[arg(long)]
    pub(crate) diff: bool,
    /// Deprecated, without effect: `id` fields always stay
    #[arg(long, hide = true)]
    pub(crate) strict: bool,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave graph flows/support.yaml > support.svg
  stave graph flows/support.yaml --format mermaid
  stave graph flows/support.yaml --format dot | dot -Tpng > support.png")]
pub(crate) struct Graph {
    /// The flow; `-` reads stdin
    pub(crate) flow: PathBuf,
    /// The language of the picture
    #[arg(long, value_enum, default_value_t = GraphFormat::Svg)]
    pub(crate) format: GraphFormat,
    /// Where to write it; stdout when absent
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave schema flow > flow.schema.json
  stave schema project                the settings of stave.toml
  stave schema openapi                the interface of stave serve
  stave schema http.post              the arguments of one operation")]
pub(crate) struct Schema {
    /// A document such as `flow`, `policy` or `recording`, or the name of an operation; docs/schemas.md lists them
    pub(crate) name: String,
}
