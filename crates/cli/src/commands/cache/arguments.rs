//! The grammar of `stave cache`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::body_interface::BodyProvider;

/// Work on traces of model requests: lines of `{"t": seconds, "session": text, "body": {…}}`, by time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave cache simulate trace.jsonl                 as sent, planned, and the least possible
  stave cache analyze trace.jsonl --html out.html  where tokens and money go
  stave cache rewrite --provider anthropic < trace.jsonl > planned.jsonl
  stave cache explain trace.jsonl --request 7      where request 7 parts from an earlier one
  stave cache explain --record req_09c1            the block that changed before a miss at the gateway

No provider is asked: the providers' documented rules are replayed.")]
pub(crate) struct Cache {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Replay a trace under the providers' cache rules
    Simulate(Simulate),
    /// Show where a trace's tokens and money go
    Analyze(Analyze),
    /// Print the trace with each body as the gateway would send it, learning as it goes
    Rewrite(Rewrite),
    /// Name the first block in which a request differs from an earlier one, and what that cost
    Explain(ExplainRequest),
}

#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// The trace; `-`, or none, reads stdin
    pub(crate) trace: Option<PathBuf>,
    /// Whose interface the bodies are written for; found out from each body when absent
    #[arg(long, value_enum)]
    pub(crate) provider: Option<BodyProvider>,
    /// How tokens are counted
    #[arg(long, value_enum, default_value_t = TokensBy::Vocabulary)]
    pub(crate) tokens: TokensBy,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) trace: Trace,
    /// Show every session too
    #[arg(long)]
    pub(crate) sessions: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Analyze {
    #[command(flatten)]
    pub(crate) trace: Trace,
    /// Write the picture to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write the picture and the tables as a page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Rewrite {
    /// The trace; `-`, or none, reads stdin
    pub(crate) trace: Option<PathBuf>,
    /// Whose interface the bodies are written for
    #[arg(long, value_enum)]
    pub(crate) provider: BodyProvider,
    /// Move clocks and ids from the instructions to the end. The model sees this
    #[arg(long)]
    pub(crate) move_volatile: bool,
    /// Sort the tools by name, built-in ones first. The model sees this
    #[arg(long)]
    pub(crate) order_tools: bool,
    /// Continue from what was learned before, and keep what is learned: a file, or `redis://host:port/database`
    #[arg(long, value_name = "STORE")]
    pub(crate) state: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainRequest {
    #[command(flatten)]
    pub(crate) trace: Trace,
    /// Which request, counted from 1; the last one when absent
    #[arg(long, value_name = "N")]
    pub(crate) request: Option<usize>,
    /// Which earlier request to compare with; the one that shares most when absent
    #[arg(long, value_name = "N")]
    pub(crate) against: Option<usize>,
    /// Explain the miss of a request to the gateway instead, by its id or the beginning of it
    #[arg(long, value_name = "ID", conflicts_with_all = ["trace", "request", "against"])]
    pub(crate) record: Option<String>,
    /// Where the gateway's records are kept; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR", requires = "record")]
    pub(crate) state_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TokensBy {
    /// With the model's vocabulary where it is known, with an estimate from another one elsewhere
    Vocabulary,
    /// Four bytes a token
    Bytes,
}

impl Cache {
    /// Whether the command's answer is one JSON object.
    pub(crate) fn is_json(&self) -> bool {
        match &self.command {
            CacheCommand::Simulate(simulate) => simulate.trace.json,
            CacheCommand::Analyze(analyze) => analyze.trace.json,
            CacheCommand::Explain(explain) => explain.trace.json,
            CacheCommand::Rewrite(_) => false,
        }
    }
}
