//! The command line's grammar.

mod compile;
mod engine;
pub(crate) mod exec;
mod flow;
mod gateway;
mod place;
mod serve;
mod system;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::run_session::RunFlags;

pub(crate) use compile::{Compile, SourcePaths};
pub(crate) use engine::EngineChoice;
#[cfg(feature = "restate")]
pub(crate) use engine::EngineKind;
pub(crate) use exec::Exec;
pub(crate) use flow::{Check, Fmt, Format, Graph, Schema};
pub(crate) use gateway::{Gateway, GatewayAction};
pub(crate) use place::{GatewayPlace, Place};
pub(crate) use serve::{LogFormat, LogLevel, Serve};
pub(crate) use system::{
    Bundle, BundleAction, BundleCheck, BundleSign, BundleVerify, GraphFormat, Level, PolicyFlags, System,
    SystemAction, SystemBundle, SystemDiff, SystemGraph, SystemMigrate, SystemShow, SystemValidate,
};

/// Checks, compiles and runs agent flows.
#[derive(Debug, Parser)]
#[command(name = "stave", version, about, long_about = LONG_ABOUT, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to colour what people read.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

const LONG_ABOUT: &str = "\
Checks, compiles and runs agent flows.

A flow is a YAML file: nodes with typed ports, edges between them, prompts, code and state. `stave check` \
finds its mistakes at a line and column; `stave run` runs it.

Exit codes: 0 fine, 1 the run failed, 2 the input is invalid, 3 refused, 4 internal.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Report everything that is wrong with flows, without running them
    Check(Check),
    /// Format flow files, keeping every comment
    Fmt(Fmt),
    /// Draw a flow as SVG, Mermaid or DOT
    Graph(Graph),
    /// Print a JSON Schema: of flows, or of an operation's arguments
    Schema(Schema),
    /// Change a flow by commands or by a sentence, keeping comments and layout
    Edit(crate::commands::Edit),
    /// Compare two documents by meaning
    Diff(crate::commands::Diff),
    /// Merge what two sides made of one flow
    Merge(crate::commands::Merge),
    /// Serve an editor: diagnostics, hover, completion, rename and more
    Lsp(crate::commands::Lsp),
    /// Run a flow on a request, durably
    Run(Run),
    /// List, show, resume, cancel, replay and remove runs
    Runs(crate::commands::Runs),
    /// List, show and delete what flows remember between runs
    State(crate::commands::State),
    /// Trace a run back to the lines of its flow
    Why(crate::commands::Why),
    /// Run the tests that flows hold
    Test(crate::commands::Test),
    /// Serve flows over HTTP: KServe protocols, runs, events, and the studio
    Serve(Serve),
    /// Offer flows as tools to other agents, by the Model Context Protocol
    Mcp(crate::commands::Mcp),
    /// Proxy model requests of OpenAI and Anthropic clients, with policies and cache planning
    Gateway(Gateway),
    /// Compile flows to exec documents and a manifest
    Compile(Compile),
    /// Inspect exec documents: show, validate, graph, diff
    Exec(Exec),
    /// Inspect and compare system documents, and make bundles of them
    System(System),
    /// Check, sign and verify runtime bundles
    Bundle(Bundle),
    /// Issue, list, revoke and rotate keys of the gateway; make signing keys
    Keys(crate::commands::Keys),
    /// Show, compare and check model requests as blocks
    Block(crate::commands::Block),
    /// Simulate, analyse, rewrite and explain traces of model requests
    Cache(crate::commands::Cache),
    /// Check, process, compile, ask and hash Prompt IR documents
    Prompt(crate::commands::Prompt),
    /// Import rows of features, and read them as of a time
    Features(crate::commands::Features),
    /// Serve an orchestrator that speaks REP, on stdin and stdout
    Rep(crate::commands::Rep),
    /// Make a project that runs
    New(New),
    /// Explain a diagnostic code, with an example and its fix
    Explain(Explain),
    /// Describe the operations: arguments, result, effects, who receives what
    Ops(crate::commands::Ops),
    /// Run Python for another stave process, on stdin and stdout
    #[command(hide = true)]
    PyWorker,
}

impl Command {
    /// Whether the command's answer is one JSON object, also when it cannot do its work.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Command::Check(check) => check.json || check.format == Format::Json,
            Command::Fmt(fmt) => fmt.json,
            Command::Graph(graph) => graph.json,
            Command::Schema(_) => false,
            Command::Edit(edit) => edit.is_json(),
            Command::Diff(diff) => diff.is_json(),
            Command::Merge(merge) => merge.is_json(),
            Command::Lsp(_) => false,
            Command::Run(run) => run.json,
            Command::Runs(runs) => runs.is_json(),
            Command::State(state) => state.is_json(),
            Command::Why(why) => why.is_json(),
            Command::Test(test) => test.is_json(),
            Command::Compile(compile) => compile.json,
            Command::Exec(exec) => exec.is_json(),
            Command::Block(block) => block.is_json(),
            Command::Cache(cache) => cache.is_json(),
            Command::Prompt(prompt) => prompt.is_json(),
            Command::System(system) => system.is_json(),
            Command::Bundle(bundle) => bundle.is_json(),
            Command::Keys(keys) => keys.is_json(),
            Command::Features(features) => features.is_json(),
            Command::Rep(_) => false,
            Command::New(new) => new.json,
            Command::Explain(explain) => explain.json,
            Command::Ops(ops) => ops.json,
            Command::Gateway(gateway) => gateway.is_json(),
            Command::Serve(_) | Command::Mcp(_) => false,
            Command::PyWorker => false,
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave run flows/support.yaml --input request.json
  stave run flows/support.yaml --input turns.jsonl      one run per line, in order
  echo '{\"query\": \"hello\"}' | stave run flows/support.yaml --input -
  stave run flows/support.yaml --input request.json --record recordings/support.yaml

A run whose process dies can be resumed: `stave runs resume RUN`.
A command that may be repeated takes --idempotency-key, so that it runs once.
Secrets such as OPENAI_API_KEY come from the environment.")]
pub(crate) struct Run {
    /// The flow (.yaml), the workflow (.wdl), or an exec document (.json)
    pub(crate) flow: PathBuf,
    /// A file with the request: .json holds one, .jsonl one per line; `-` reads stdin. May be repeated
    #[arg(long, short, value_name = "FILE")]
    pub(crate) input: Vec<PathBuf>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Print what happens as lines of JSON on stdout, the last one with the whole report
    #[arg(long, conflicts_with = "json")]
    pub(crate) events: bool,
    #[command(flatten)]
    pub(crate) flags: RunFlags,
    /// The id of the run: the same request again shows that run, another request is refused
    #[arg(long, value_name = "ID", conflicts_with = "ephemeral")]
    pub(crate) run_id: Option<String>,
    /// A name for this request and its flow: the same request again shows its runs, another one is refused
    #[arg(long, value_name = "KEY", conflicts_with_all = ["run_id", "ephemeral"])]
    pub(crate) idempotency_key: Option<String>,
    /// Hold the run to the contracts, declared effects and policy envelope of this runtime bundle or system document too
    #[arg(long, value_name = "FILE", visible_alias = "contracts")]
    pub(crate) bundle: Option<PathBuf>,
    /// Treat leniencies of the check as errors
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// The folder to make; its name becomes the project's
    pub(crate) name: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The code, such as `dangling-edge`; all codes are listed when none is given
    pub(crate) code: Option<String>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}
