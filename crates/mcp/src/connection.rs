//! One connection to one server.

use std::path::PathBuf;
use std::process::Stdio;

use reqwest::redirect::Policy;
use rmcp::service::{RoleClient, RunningService, ServiceExt};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use stave_llm::{Secret, SecretSearch};
use tokio::process::Command;

/// Where a server is.
#[derive(Debug, Clone)]
pub enum McpEndpoint {
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

impl McpEndpoint {
    /// What finds this server's secrets in its answers: a server may repeat what it was given.
    pub(crate) fn secrets(&self) -> SecretSearch {
        match self {
            McpEndpoint::Command { environment, .. } => {
                let secrets = environment.iter().filter(|(name, value)| is_secret(name, value));
                SecretSearch::new(secrets.map(|(_, value)| Secret::new(value.as_str())))
            }
            McpEndpoint::Http { bearer, .. } => SecretSearch::new(bearer.clone()),
        }
    }
}

/// Variables are listed by name alone. A path, a name of a region or a switch is no secret and is part of many answers.
fn is_secret(name: &str, value: &str) -> bool {
    const SHORTEST: usize = 8;
    !matches!(name, "PATH" | "HOME") && value.len() >= SHORTEST && !value.starts_with('/')
}

/// A redirect leads to another path of the same server at most: the bearer and the session are for nobody else.
fn same_origin() -> Policy {
    const MOST: usize = 5;
    Policy::custom(|attempt| {
        let stays = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
        if !stays {
            attempt.stop()
        } else if attempt.previous().len() > MOST {
            attempt.error("too many redirects")
        } else {
            attempt.follow()
        }
    })
}

pub(crate) type Connection = RunningService<RoleClient, ()>;

/// Reaches a server and agrees with it on a version of the protocol.
pub(crate) async fn connect(server: &McpEndpoint) -> Result<Connection, String> {
    match server {
        McpEndpoint::Command { program, arguments, folder, environment } => {
            let mut command = Command::new(program);
            command.args(arguments).current_dir(folder).env_clear().kill_on_drop(true);
            command.envs(environment.iter().map(|(name, value)| (name, value)));
            // What a server writes to its stderr is its own log, and it may hold anything.
            let spawned = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn();
            let (process, _) = spawned.map_err(|error| format!("`{program}` cannot be started: {error}"))?;
            ().serve(process).await.map_err(|error| error.to_string())
        }
        McpEndpoint::Http { url, bearer } => {
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            if let Some(bearer) = bearer {
                config = config.auth_header(bearer.expose());
            }
            let made = stave_llm::http_client(|builder| builder.redirect(same_origin()))
                .map_err(|error| error.to_string())?;
            let transport = StreamableHttpClientTransport::with_client(made.client, config);
            ().serve(transport).await.map_err(|error| error.to_string())
        }
    }
}
