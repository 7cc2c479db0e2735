//! `stave serve`: flows served over HTTP.

mod context;
mod engines;
mod file_reader;
mod flows;
mod log;
mod lowered;
mod mcp;
mod named_projects;
mod not_served;
mod projects;
mod readiness;
mod reload;
mod retention;
mod rooms;
mod tenants;
#[cfg_attr(not(feature = "restate"), path = "../without/worker.rs")]
mod worker;
mod workspace;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stave_canon::Value;
use stave_diag::Sources;
use stave_diag::render::Colour;
use stave_runtime::database::Database;
use stave_server::{Keys, Server, ServerLimits, ServerOptions, Studio};

use self::flows::Flows;
use self::log::Log;
use self::reload::{KeysFile, Reloading};
use self::worker::Working;
use self::workspace::ProjectWorkspace;
use crate::args::{LogFormat, LogLevel, Serve};
use crate::exit::{Exit, Stop};
use crate::ports::SystemClock;
use crate::project::{self, Project};
use crate::restate;
use crate::signals::{asked_to_end, asked_to_end_twice};
use crate::terminal::{self, Terminal};
use crate::tracing::Tracing;

/// The folder of flows in a project.
const FLOWS: &str = "flows";

/// How long the end of the process waits for runs that are given back to be written.
const GIVING_BACK: Duration = Duration::from_secs(5);

pub(crate) use self::mcp::{Mcp, mcp};

pub(crate) fn serve(arguments: &Serve, terminal: Terminal) -> Result<Exit, Stop> {
    // Also what is reported before there is a log, and why the server does not start.
    let terminal = match arguments.log_format {
        LogFormat::Text => terminal,
        LogFormat::Json => {
            terminal::tell_json_lines();
            Terminal { stderr: Colour::Never, ..terminal }
        }
    };
    let (file, keys) = keys(arguments)?;
    inside_runtime(|databases| listen(arguments, file, keys, terminal, databases))
}

/// Offers the flows as tools on standard input and output.
pub(crate) fn tools(arguments: &Serve, terminal: Terminal) -> Result<Exit, Stop> {
    inside_runtime(|databases| async move {
        let log = Log::start(arguments.log_format, arguments.log_level, terminal)?;
        let prepared = Prepared::new(arguments, Keys::default(), &log)?;
        let tracing = prepared.tracing.clone();
        prepared.name_databases(&databases);
        let server = prepared.begin(arguments, None, &log)?;
        let left = server.serve_tools(asked_to_end()).await;
        let left = left.map_err(|error| Stop::internal(format!("the other side broke off: {error}")))?;
        report_left(left, &log);
        tracing.finish().await;
        log.flush();
        Ok(Exit::Fine)
    })
}

fn report_left(left: usize, log: &Log) {
    if left > 0 {
        log.warn("runs-left", &format!("{left} runs are left; `stave runs resume` continues them"));
    }
}

/// The databases that are written until the process ends.
type Databases = Arc<Mutex<Vec<Arc<Database>>>>;

fn inside_runtime<F: Future<Output = Result<Exit, Stop>>>(
    work: impl FnOnce(Databases) -> F,
) -> Result<Exit, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    let databases = Databases::default();
    let exit = runtime.block_on(async { work(Arc::clone(&databases)).await });
    // The thread that waits for files to change ends with the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    // Runs whose tasks have just been dropped are given back. The process does not end before that is written.
    let databases = databases.lock().unwrap_or_else(PoisonError::into_inner);
    let since = Instant::now();
    while databases.iter().any(|database| database.has_deferred()) && since.elapsed() < GIVING_BACK {
        std::thread::sleep(Duration::from_millis(5));
    }
    exit
}

/// Beyond this machine, somebody has to decide who may ask.
fn keys(arguments: &Serve) -> Result<(Option<KeysFile>, Keys), Stop> {
    if let Some(path) = &arguments.api_keys {
        return KeysFile::load(path).map(|(file, keys)| (Some(file), keys));
    }
    if !arguments.host.is_loopback() && !arguments.without_keys {
        let stop =
            Stop::refused(format!("{} can be reached from elsewhere, and there are no keys", arguments.host));
        return Err(stop.help(
            "give --api-keys FILE, or --without-keys when something in front of the server decides who may ask",
        ));
    }
    Ok((None, Keys::default()))
}

/// A key that is limited to a flow that is not served opens nothing. The flow may still come, so it is a warning.
fn warn_about_keys(keys: &Keys, names: &[String]) {
    let served: Vec<&str> = names.iter().map(|name| name.trim_matches('`')).collect();
    for flow in keys.named_flows().into_iter().filter(|flow| !served.contains(flow)) {
        let near = stave_diag::did_you_mean(flow, served.iter().copied());
        let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        terminal::error(&format!(
            "warning: a key has `flows={flow}`, and no flow of this name is served{help}"
        ));
    }
}

/// A server whose flows are read, before anybody can ask for them.
struct Prepared {
    server: Server,
    names: String,
    paths: Vec<PathBuf>,
    flows: Arc<Mutex<Flows>>,
    workspace: Arc<ProjectWorkspace>,
    tracing: Tracing,
}

impl Prepared {
    fn new(arguments: &Serve, keys: Keys, log: &Log) -> Result<Prepared, Stop> {
        let paths = paths(arguments)?;
        let tracing = tracing(&paths)?;
        // Somebody at this machine may open the studio to fix what is wrong, so it starts without any flow too.
        let is_tolerant = !arguments.no_studio && arguments.host.is_loopback() && keys.is_empty();
        let mut flows = Flows::new(arguments, paths.clone(), is_tolerant, tracing.clone(), log.clone())?;
        // The log says what is wrong with a flow before the reason why the server does not start.
        let loaded = flows.load(None).inspect_err(|_| log.flush())?;
        if loaded.names.is_empty() && !loaded.is_whole && !is_tolerant {
            log.flush();
            return Err(Stop::invalid("no flow can be served").help("`stave check` shows every mistake"));
        }
        warn_about_keys(&keys, &loaded.names);
        let files = flows.files()?;
        let flows = Arc::new(Mutex::new(flows));
        let workspace = Arc::new(ProjectWorkspace::new(&files, Arc::clone(&flows), arguments, log.clone()));
        let studio = (!arguments.no_studio).then(|| {
            Studio::new(Arc::clone(&workspace) as Arc<dyn stave_server::Workspace>, arguments.read_only)
        });
        let options = ServerOptions {
            keys: keys.into(),
            studio,
            limits: ServerLimits {
                body_bytes: arguments.max_body,
                held_body_bytes: arguments.max_held_bodies,
                request: Duration::from_secs(arguments.request_seconds),
                runs: arguments.max_runs as usize,
                waiting_runs: arguments.max_waiting as usize,
                connections: arguments.max_connections as usize,
                drain: Duration::from_secs(arguments.drain_seconds),
                ..ServerLimits::default()
            },
            clock: Arc::new(SystemClock),
            log: Arc::new(log.clone()),
            version: env!("CARGO_PKG_VERSION"),
        };
        let names = match loaded.names.as_slice() {
            [] => "no flow".to_owned(),
            names => names.join(", "),
        };
        let server = Server::new(loaded.catalog, options);
        Ok(Prepared { server, names, paths, flows, workspace, tracing })
    }

    /// Names the databases of the projects that are served at the start.
    fn name_databases(&self, databases: &Databases) {
        let flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        let found = flows.engines.values().map(|engines| Arc::clone(&engines.database));
        databases.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }

    /// Begins to watch the files and to resume runs that were left.
    fn begin(self, arguments: &Serve, keys: Option<KeysFile>, log: &Log) -> Result<Server, Stop> {
        let server = self.server;
        retention::start(Arc::clone(&self.flows), log.clone());
        let keys = keys.map(Arc::new);
        let mut reloading = None;
        if !arguments.no_reload {
            let _ = self.workspace.server.set((server.clone(), tokio::runtime::Handle::current()));
            let mut paths = self.paths;
            let (files, secrets) = self.flows.lock().unwrap_or_else(PoisonError::into_inner).project_files();
            paths.extend(files);
            let flows =
                reloading.insert(Reloading { server: server.clone(), flows: self.flows, log: log.clone() });
            reload::watch_flows(&paths, &secrets, flows.clone())?;
            if let Some(keys) = &keys {
                reload::watch_keys(Arc::clone(keys), server.clone(), log.clone())?;
            }
        }
        reload::on_hangup(keys, reloading, server.clone(), log.clone())?;
        if !arguments.no_resume {
            server.resume_interrupted();
        }
        Ok(server)
    }
}

async fn listen(
    arguments: &Serve,
    file: Option<KeysFile>,
    keys: Keys,
    terminal: Terminal,
    databases: Databases,
) -> Result<Exit, Stop> {
    let log = Log::start(arguments.log_format, arguments.log_level, terminal)?;
    let version = env!("CARGO_PKG_VERSION");
    let members = [("version", Value::from(version)), ("process", std::process::id().into())];
    log.write(LogLevel::Info, "started", &format!("stave {version} serves"), &members);
    let prepared = Prepared::new(arguments, keys, &log)?;
    let address = SocketAddr::new(arguments.host, arguments.port);
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .map_err(|error| Stop::internal(format!("{address} cannot be listened on: {error}")))?;
    let address = listener.local_addr().unwrap_or(address);
    let names = prepared.names.clone();
    let tracing = prepared.tracing.clone();
    let working = work(arguments, &prepared.paths, &prepared.flows).await?;
    prepared.name_databases(&databases);
    let server = prepared.begin(arguments, file, &log)?;
    let url = format!("http://{address}");
    log.write(
        LogLevel::Info,
        "listening",
        &format!("serving {names} on {url}"),
        &[("url", url.as_str().into())],
    );
    let (requests, mut asked) = tokio::sync::watch::channel(0);
    let serving = server.serve(listener, async {
        // The sender lives as long as the server, so this waits for a request.
        let _ = asked.wait_for(|count| *count > 0).await;
        let left = server.in_progress();
        log.info("shutting-down", &format!("shutting down: no new requests, waiting for {left} runs"));
    });
    let left = tokio::select! {
        left = serving => left,
        // Runs are given back as interrupted when the runtime ends.
        () = asked_to_end_twice(&requests) => {
            let left = server.in_progress();
            let message = format!("asked to end again: {left} runs are interrupted; `stave runs resume` continues them");
            log.warn("runs-left", &message);
            log.flush();
            return Ok(Exit::Failed);
        }
    };
    if let Some(working) = working {
        working.end().await;
    }
    report_left(left, &log);
    tracing.finish().await;
    log.info("stopped", "the server has ended");
    log.flush();
    Ok(Exit::Fine)
}

/// Begins to work for Restate, when it drives the runs.
async fn work(arguments: &Serve, paths: &[PathBuf], flows: &Mutex<Flows>) -> Result<Option<Working>, Stop> {
    let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
    let first = paths.first().map_or_else(PathBuf::new, |path| path.join(project::FILE));
    let project = Project::of(&first, &mut sources, &mut diagnostics)?;
    match restate::client(&arguments.engine.choice(), &project)? {
        Some(client) => {
            let projects = flows.lock().unwrap_or_else(PoisonError::into_inner).projects();
            Working::start(arguments, &project, client, projects).await.map(Some)
        }
        None => Ok(None),
    }
}

/// One for the whole server, as the project of the first path wants it.
fn tracing(paths: &[PathBuf]) -> Result<Tracing, Stop> {
    let Some(first) = paths.first() else { return Ok(Tracing::default()) };
    // What is wrong with the project file is reported when its flows are read.
    let project = Project::of(&first.join(project::FILE), &mut Sources::new(), &mut Vec::new())?;
    Ok(Tracing::of(&project))
}

fn paths(arguments: &Serve) -> Result<Vec<PathBuf>, Stop> {
    if !arguments.paths.is_empty() {
        return Ok(arguments.paths.clone());
    }
    if Path::new(FLOWS).is_dir() {
        return Ok(vec![PathBuf::from(FLOWS)]);
    }
    Err(Stop::invalid("there is no folder `flows` here").help("name the flows: stave serve FLOW…"))
}
