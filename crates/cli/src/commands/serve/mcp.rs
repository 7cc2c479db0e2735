//! `stave mcp`: flows as tools for other agents, over standard streams or HTTP.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::args::Serve;
use crate::exit::{Exit, Stop};
use crate::terminal::Terminal;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave mcp                              the flows of this project, on stdin and stdout
  stave mcp flows/support.yaml
  stave mcp --http --port 9000           the same over HTTP, at http://127.0.0.1:9000/mcp

An agent starts it by itself; docs/mcp.md shows the settings for several. The tools' arguments are the flows' \
requests. `stave serve` answers at /mcp too.")]
pub(crate) struct Mcp {
    /// Flows, workflows, exec documents, or folders of them; `flows` when absent
    paths: Vec<PathBuf>,
    /// Listen for HTTP instead of using stdin and stdout
    #[arg(long)]
    http: bool,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", requires = "http")]
    host: IpAddr,
    /// The port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8080, requires = "http")]
    port: u16,
    /// A file with `TENANT KEY [name=NAME] [roles=ROLE,…] [flows=FLOW,…]` on each line
    #[arg(long, value_name = "FILE", env = "STAVE_API_KEYS_FILE", requires = "http")]
    api_keys: Option<PathBuf>,
    /// Where runs and session state live; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Answer model calls from this recording instead of asking a model
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Ask the models even when stave.toml names a recording to replay
    #[arg(long, conflicts_with = "replay")]
    live: bool,
    /// Hold every run to this runtime bundle or system document, beside the one that stave.toml names
    #[arg(long, value_name = "FILE", visible_alias = "contracts")]
    bundle: Option<PathBuf>,
}

pub(crate) fn mcp(arguments: &Mcp, terminal: Terminal) -> Result<Exit, Stop> {
    let server = Serve {
        paths: arguments.paths.clone(),
        host: arguments.host,
        port: arguments.port,
        api_keys: arguments.api_keys.clone().filter(|_| arguments.http),
        state_dir: arguments.state_dir.clone(),
        replay: arguments.replay.clone(),
        live: arguments.live,
        bundle: arguments.bundle.clone(),
        no_studio: true,
        ..Serve::default()
    };
    if arguments.http { super::serve(&server, terminal) } else { super::tools(&server, terminal) }
}
