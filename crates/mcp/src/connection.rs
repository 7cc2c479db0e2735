//! One connection to one server.

use std::path::PathBuf;
use std::process::Stdio;

use rmcp::service::{RoleClient, RunningService, ServiceExt};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use stave_llm::Secret;
use tokio::process::Command;

/// Where a server is.
#[derive(Debug, Clone)]
pub enum Server {
    /// A program that is started, and ends with us.
    Command {
        program: String,
        arguments: Vec<String>,
        /// The folder in which it runs.
        folder: PathBuf,
        /// All that it sees of the environment.
        environment: Vec<(String, String)>,
    },
    Http {
        url: String,
        bearer: Option<Secret>,
    },
}

pub(crate) type Connection = RunningService<RoleClient, ()>;

/// Reaches a server and agrees with it on a version of the protocol.
pub(crate) async fn connect(server: &Server) -> Result<Connection, String> {
    match server {
        Server::Command { program, arguments, folder, environment } => {
            let mut command = Command::new(program);
            command.args(arguments).current_dir(folder).env_clear().kill_on_drop(true);
            command.envs(environment.iter().map(|(name, value)| (name, value)));
            // What a server writes to its stderr is its own log, and it may hold anything.
            let spawned = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn();
            let (process, _) = spawned.map_err(|error| format!("`{program}` can not be started: {error}"))?;
            ().serve(process).await.map_err(|error| error.to_string())
        }
        Server::Http { url, bearer } => {
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            if let Some(bearer) = bearer {
                config = config.auth_header(bearer.expose());
            }
            let made = stave_llm::http_client(|builder| builder).map_err(|error| error.to_string())?;
            let transport = StreamableHttpClientTransport::with_client(made.client, config);
            ().serve(transport).await.map_err(|error| error.to_string())
        }
    }
}
