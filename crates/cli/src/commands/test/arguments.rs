//! The grammar of `stave test`.

use std::path::PathBuf;

use clap::Args;

/// Runs the tests that flows hold, without a network.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave test                                 every flow under `flows`
  stave test flows/support.yaml --filter refund
  stave test --record flows/support.yaml     ask the models and hosts, and keep what they answer
  stave test --update flows/support.yaml     write the outputs that came into the tests
  stave test --junit report.xml --coverage

Models answer from the test's `recording` and `models`, hosts from its `http`. A call that nothing answers fails the
test. Exit codes: 0 all passed, 1 some failed, 2 a flow is invalid.")]
pub(crate) struct Test {
    /// Flows, or folders of them; `flows` when absent
    pub(super) paths: Vec<PathBuf>,
    /// Only tests whose name holds this text
    #[arg(long, value_name = "TEXT")]
    pub(super) filter: Option<String>,
    /// Ask the models and hosts, and write the files that `recording` names
    #[arg(long, conflicts_with = "update")]
    pub(super) record: bool,
    /// Write the actual outputs into the tests
    #[arg(long)]
    pub(super) update: bool,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// Show which nodes and edges no test reaches
    #[arg(long)]
    pub(super) coverage: bool,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(super) json: bool,
}

impl Test {
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }
}
