//! The grammar of `stave gateway`.

use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave gateway                                   what stave.toml sets up, on 127.0.0.1:8090
  stave gateway --listen 0.0.0.0:8090             needs keys: `stave keys`
  stave gateway stats --since 24h                 cost, tokens and cache hits

  OPENAI_BASE_URL=http://127.0.0.1:8090/v1        for OpenAI's libraries
  ANTHROPIC_BASE_URL=http://127.0.0.1:8090        for Anthropic's libraries and Claude Code

Without [gateway.upstreams] in stave.toml, requests go to the providers' own addresses with the client's own
key. SIGHUP reads stave.toml again; SIGTERM takes nothing new and waits for requests that have begun.")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Gateway {
    #[command(subcommand)]
    pub(crate) action: Option<GatewayAction>,
    /// The address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// The project's folder
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) project: PathBuf,
    /// Where keys and records live; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Accept every request that reaches the port; something in front of it has to authenticate
    #[arg(long)]
    pub(crate) without_keys: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum GatewayAction {
    /// Report the money, tokens, cache hits and misses of the recorded requests
    Stats(crate::commands::GatewayStats),
}

impl Gateway {
    pub(crate) fn is_json(&self) -> bool {
        match &self.action {
            Some(GatewayAction::Stats(stats)) => stats.is_json(),
            None => false,
        }
    }
}
