//! The grammar of `stave prompt`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use stave_prompt::governance::MatchMode;

use crate::args::EngineChoice;
use crate::run_session::RunFlags;

/// Work on Prompt IR documents: one in a .json file, one a line in a .jsonl file or on stdin.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave prompt check prompt.json                   types, ranges, versions and policies
  stave prompt process prompts.jsonl               governance and plugins, one result a line
  stave prompt compile prompt.json --text          the text that a model would be asked
  stave prompt ask prompt.json                     a model's answer to it
  generate | stave prompt hash                     one hash a line
  stave prompt report prompts.jsonl                figures over all of them
  stave prompt report --since 7d                   what policies did to the requests of runs and gateway
  stave prompt validate reply.txt --against prompt.json   a model's reply against what the prompt requires

Exit codes: 0 fine, 1 a prompt does not fit its budget or an answer its requirements, 2 a document is invalid, 3 a policy denied a prompt.")]
pub(crate) struct Prompt {
    #[command(subcommand)]
    pub(crate) command: PromptCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// Report everything that is wrong with prompts, and what the policies say about them
    Check(Selected),
    /// Apply governance and plugins to prompts
    Process(Selected),
    /// Resolve references and make the text that a model is asked
    Compile(Compile),
    /// Ask a model, as model steps of flows do
    Ask(Ask),
    /// Print the hash that records carry
    Hash(Selected),
    /// Figures of what policies, gate and budgets did: to the requests that the project kept, or to given prompts
    Report(PromptReport),
    /// Check a model's reply against the output requirements of its prompt
    Validate(Validate),
}

/// Which prompts, under which rules.
#[derive(Debug, Args)]
pub(crate) struct Selected {
    /// Files; `-`, or none, reads stdin
    pub(crate) files: Vec<PathBuf>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// How texts are compared, whatever the project says
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeWord>,
    /// The project's folder; the current folder's project when absent
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without files, the report covers the runs that the project kept and the records of its gateway: a run counts by the time \
it started, a request to the gateway by its arrival. With files, it processes their prompts; `-` reads stdin.

Examples:
  stave prompt report --since 24h
  stave prompt report --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z --json
  stave prompt report prompts.jsonl")]
pub(crate) struct PromptReport {
    #[command(flatten)]
    pub(crate) selected: Selected,
    /// From when on: a period before now such as 24h or 7d, or a time such as 2026-11-01T00:00:00Z
    #[arg(long, value_name = "WHEN", conflicts_with = "files")]
    pub(crate) since: Option<String>,
    /// Until when, in the same form; until now when absent
    #[arg(long, value_name = "WHEN", conflicts_with = "files")]
    pub(crate) until: Option<String>,
    /// Where runs and the gateway's records are kept; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    pub(crate) state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) engine: EngineChoice,
}

#[derive(Debug, Args)]
pub(crate) struct Compile {
    #[command(flatten)]
    pub(crate) selected: Selected,
    /// Print the text alone
    #[arg(long, conflicts_with = "json")]
    pub(crate) text: bool,
    /// The model whose tokens are counted; the project's default model, or the provider's own, when absent
    #[arg(long)]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave prompt ask prompt.json                          the answer on stdout
  stave prompt ask prompt.json --model anthropic/claude-sonnet-4 --json
  stave prompt ask prompts.jsonl --record recordings/prompts.yaml
  stave prompt ask prompts.jsonl --replay recordings/prompts.yaml

Files of `file:` references must be listed in `[prompt] context_files` of stave.toml, as for flows.

Exit codes: 0 fine, 1 the model gave no usable answer or the prompt does not fit its budget, 2 a document is invalid,
3 governance, the gate or the project refused the prompt, and nothing was sent.")]
pub(crate) struct Ask {
    /// Files; `-`, or none, reads stdin
    pub(crate) files: Vec<PathBuf>,
    /// The model that answers, as NAME or PROVIDER/NAME; the one that the prompt records, else the project's default
    /// model, when absent
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// The project's folder; here when absent
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: RunFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave prompt validate reply.txt --against prompt.json
  ask-a-model | stave prompt validate - --against prompt.json --json

Exit codes: 0 the reply is valid, 1 it does not satisfy the requirements, 2 a document is invalid.")]
pub(crate) struct Validate {
    /// The reply; `-` reads stdin
    pub(crate) reply: PathBuf,
    /// The Prompt IR document that was asked; `-` reads stdin
    #[arg(long, value_name = "IR")]
    pub(crate) against: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// The model whose tokens are counted; the project's default model, or the provider's own, when absent
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The project's folder; here when absent
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeWord {
    /// As a reader sees them
    Strict,
    /// Byte by byte, as the specification says
    Specified,
}

impl From<ModeWord> for MatchMode {
    fn from(word: ModeWord) -> MatchMode {
        match word {
            ModeWord::Strict => MatchMode::Strict,
            ModeWord::Specified => MatchMode::Specified,
        }
    }
}

impl Prompt {
    pub(crate) fn is_json(&self) -> bool {
        match &self.command {
            PromptCommand::Compile(compile) => compile.selected.json,
            PromptCommand::Validate(validate) => validate.json,
            PromptCommand::Ask(ask) => ask.json,
            PromptCommand::Check(selected)
            | PromptCommand::Process(selected)
            | PromptCommand::Hash(selected) => selected.json,
            PromptCommand::Report(report) => report.selected.json,
        }
    }
}
