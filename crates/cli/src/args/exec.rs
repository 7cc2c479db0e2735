//! The arguments of `stave exec`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave exec show out/dsl/flows/support.ir.json
  stave exec validate out/dsl/flows/*.ir.json
  stave exec verify out/dsl
  stave exec graph out/dsl/flows/support.ir.json --format mermaid
  stave exec diff before.ir.json after.ir.json")]
pub(crate) struct Exec {
    #[command(subcommand)]
    pub(crate) action: ExecAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExecAction {
    /// What a document runs, in what order, under which policy
    Show(Show),
    /// Every violation of the specification's eight rules, at its line and column
    Validate(Validate),
    /// Every difference between a manifest and the documents that it lists
    Verify(Verify),
    /// The graph of a document
    Graph(Graph),
    /// What differs between two documents, by node and edge
    Diff(Diff),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// An exec document, or a manifest
    pub(crate) file: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Validate {
    /// Exec documents
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Accept every version 1.y.z and ignore what it adds, as a runtime does
    #[arg(long)]
    pub(crate) additive: bool,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// A manifest, or the folder with its `manifest.json`
    pub(crate) manifest: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Graph {
    /// An exec document
    pub(crate) file: PathBuf,
    /// How to draw it
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub(crate) format: GraphFormat,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// The document before
    pub(crate) before: PathBuf,
    /// The document after
    pub(crate) after: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// For Markdown pages
    Mermaid,
    /// For Graphviz
    Dot,
    /// For browsers
    Svg,
}

impl Exec {
    pub(crate) fn is_json(&self) -> bool {
        match &self.action {
            ExecAction::Show(show) => show.json,
            ExecAction::Validate(validate) => validate.json,
            ExecAction::Verify(verify) => verify.json,
            ExecAction::Graph(graph) => graph.json,
            ExecAction::Diff(diff) => diff.json,
        }
    }
}
