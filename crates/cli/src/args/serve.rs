//! The grammar of `stave serve`.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use super::EngineChoice;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  stave serve                                        the flows of this project, on 127.0.0.1:8080
  stave serve flows/support.yaml --port 9000
  stave serve build/flows/support.ir.json --host 0.0.0.0 --api-keys keys.txt
  stave serve a/build/flows b/build/flows --project a --project b --api-keys keys.txt
  stave serve --engine restate --restate-url http://127.0.0.1:9070

  curl -s localhost:8080/v1/models/support:predict -H 'content-type: application/json' -d '{\"query\": \"hello\"}'

A file of keys has a tenant and a key on each line, and after them what the key may do: name=NAME, \
roles=run,decide,observe,edit,admin, flows=FLOW,… A key opens the flows and runs of its tenant and no others, and without \
roles it can run and observe.
The server reads changed flows and keys again, also on SIGHUP; runs in progress keep what they \
began with. On SIGTERM it accepts nothing new and drains its runs.")]
pub(crate) struct Serve {
    /// Flows, workflows, exec documents, or folders of them; `flows` when absent
    pub(crate) paths: Vec<PathBuf>,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// The port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8080)]
    pub(crate) port: u16,
    /// Where runs and session state live; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) engine: EngineChoice,
    /// With Restate: where this worker listens for it; port 0 takes a free one. `engine.worker_listen` of stave.toml
    /// when absent, else 127.0.0.1:9080. Workers of one machine may share a port
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) worker_listen: Option<String>,
    /// With Restate: the address under which it finds this worker, or all of them. `engine.worker_url` of stave.toml
    /// when absent, else the address this worker listens on
    #[arg(long, value_name = "URL", env = "STAVE_WORKER_URL")]
    pub(crate) worker_url: Option<String>,
    /// A file with `TENANT KEY [name=NAME] [roles=ROLE,…] [flows=FLOW,…]` on each line
    #[arg(long, value_name = "FILE", env = "STAVE_API_KEYS_FILE", conflicts_with = "without_keys")]
    pub(crate) api_keys: Option<PathBuf>,
    /// Accept every request that reaches the port; something in front of it has to authenticate
    #[arg(long)]
    pub(crate) without_keys: bool,
    /// The tenant of flows that lie in no project
    #[arg(long, value_name = "TENANT", env = "STAVE_TENANT")]
    pub(crate) tenant: Option<String>,
    /// Do not reload flows when their files change; keys are read again on SIGHUP only
    #[arg(long)]
    pub(crate) no_reload: bool,
    /// Serve no page: only the protocols and the run API
    #[arg(long)]
    pub(crate) no_studio: bool,
    /// Make the studio read-only: it changes no file and runs no other text
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Do not resume runs that an earlier process left unfinished
    #[arg(long)]
    pub(crate) no_resume: bool,
    /// The most that the bodies of all requests in progress may take together, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 256 * 1024 * 1024)]
    pub(crate) max_held_bodies: usize,
    /// Answer model calls from this recording instead of asking a model
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Ask the models even when stave.toml names a recording to replay
    #[arg(long, conflicts_with = "replay")]
    pub(crate) live: bool,
    /// The largest body of a request, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 8 * 1024 * 1024)]
    pub(crate) max_body: usize,
    /// How many runs execute at the same time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_runs: u32,
    /// How many more runs of each tenant may wait for their turn
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub(crate) max_waiting: u32,
    /// How many connections are open at the same time
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_connections: u32,
    /// The longest that a request waits for its run, which is cancelled then
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) request_seconds: u64,
    /// How long to wait for runs at shutdown
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) drain_seconds: u64,
    /// A folder with a stave.toml: what lies below it belongs to this project. Compiled flows of other projects than the
    /// current folder's need it; can be given several times
    #[arg(long = "project", value_name = "DIR")]
    pub(crate) projects: Vec<PathBuf>,
    /// Hold every run to this runtime bundle or system document, beside the one that stave.toml names
    #[arg(long, value_name = "FILE", visible_alias = "contracts")]
    pub(crate) bundle: Option<PathBuf>,
    /// How each event is written on stderr
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// The lowest level of events to log
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    pub(crate) log_level: LogLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// The time, the level and a sentence
    #[default]
    Text,
    /// One JSON object on each line
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, clap::ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
}

impl LogLevel {
    pub(crate) fn word(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
        }
    }
}

/// What a server does when nothing is said, for commands that serve in other ways.
impl Default for Serve {
    fn default() -> Self {
        Serve {
            paths: Vec::new(),
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 8080,
            state_dir: None,
            engine: EngineChoice::default(),
            worker_listen: None,
            worker_url: None,
            api_keys: None,
            without_keys: false,
            tenant: None,
            no_reload: false,
            no_studio: false,
            read_only: false,
            no_resume: false,
            max_held_bodies: 256 * 1024 * 1024,
            replay: None,
            live: false,
            max_body: 8 * 1024 * 1024,
            max_runs: 64,
            max_waiting: 1024,
            max_connections: 4096,
            request_seconds: 300,
            drain_seconds: 30,
            projects: Vec::new(),
            bundle: None,
            log_format: LogFormat::Text,
            log_level: LogLevel::Info,
        }
    }
}
